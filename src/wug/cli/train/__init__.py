"""`wug train`: reference baselines; one module a kind of model."""

from __future__ import annotations

import click

from wug.cli.main import Commands


class Kinds(Commands):
    """The kinds of models."""

    folder = "cli.train"


@click.group("train", cls=Kinds)
def command() -> None:
    """Train a small model from scratch, on a CPU or a GPU, and save it so that `wug run` takes it.

    A training that was stopped, even killed, goes on from its last checkpoint when the same command is given
    again, with the loss curve of an unbroken one. Whatever decides the loss is kept in FOLDER/training.

    \b
    wug train causal corpus.txt -o my-model --steps 6000
    wug train lstm corpus.txt.gz -o my-lstm --vocab 20000 --lowercase
    wug train seq2seq my_pcfgset/ -o my-pcfg --epochs 25 --suite my_pcfgset/test.src
    """
