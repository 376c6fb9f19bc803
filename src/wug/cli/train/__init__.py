"""`wug train`: reference baselines, a kind of model in each row of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from wug.cli import _common as common
from wug.cli.main import Named
from wug.cli.train import _kinds as kinds
from wug.options import Option
from wug.train.options import KINDS as OPTIONS
from wug.train.options import OF_LSTM, Training

TEXTS = click.Argument(["texts"], nargs=-1, required=True, type=click.Path(path_type=Path))
SOURCE = click.Argument(["source"], type=click.Path(path_type=Path, exists=True))
OUTPUT = click.Option(["-o", "--output"], type=common.FOLDER, required=True, help="The folder for the model.")
SUITE = click.Option(
    ["--suite", "suites"],
    multiple=True,
    help="Test the model on this after each epoch, and keep that as a run; repeatable.",
)


class Flag(click.Option):
    """A declared option as a flag; its former names are taken and not shown."""

    def __init__(self, option: Option, shown: str | None = None) -> None:
        name = option.name.replace("_", "-")
        self._former = [f"--{alias.replace('_', '-')}" for alias in option.aliases]
        either = option.type is bool and option.default is None
        super().__init__(
            [f"--{name}/--no-{name}" if either else f"--{name}", option.name],
            type=_type(option),
            is_flag=option.type is bool or None,
            default=option.default,
            show_default=shown or option.type is not bool,
            envvar="WUG_DEVICE" if option.name == "device" else None,
            help=f"{option.help[0].upper()}{option.help[1:]}.",
        )

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """With the former names."""
        shown, self.opts = self.opts, [*self.opts, *self._former]
        super().add_to_parser(parser, ctx)
        self.opts = shown


def _type(option: Option) -> Any:
    """The type of values on the command line."""
    if isinstance(option.type, tuple):
        return click.Choice(option.type)
    if option.type is int and option.least is not None:
        return click.IntRange(int(option.least), None if option.most is None else int(option.most))
    return option.type


def _kind(
    name: str, train: Callable[[Training], None], material: click.Argument, shown: Mapping[str, str] | None = None
) -> click.Command:
    """A command whose help is the docstring of `train`; `shown` are defaults in words, where another option decides."""
    flags = [Flag(option, (shown or {}).get(option.name)) for option in OPTIONS[name]]
    callback = partial(_train, train)
    return click.Command(
        name, params=[material, OUTPUT, *flags, SUITE, common.DB], callback=callback, help=train.__doc__
    )


def _train(train: Callable[[Training], None], **values: Any) -> None:
    train(Training(**values))


KINDS = (
    _kind("causal", kinds.causal, TEXTS),
    _kind("masked", kinds.masked, TEXTS),
    _kind("lstm", kinds.lstm, TEXTS),
    _kind(
        "seq2seq",
        kinds.seq2seq,
        SOURCE,
        shown={
            option.name: f"{option.default}, of an LSTM {OF_LSTM[option.name]}"
            for option in OPTIONS["seq2seq"]
            if option.name in OF_LSTM
        },
    ),
)


@click.group("train", cls=Named, commands=KINDS)
def command() -> None:
    """Train a small model from scratch, for `wug run`.

    A training that was stopped, even killed, goes on from its last checkpoint when the same command is given
    again, with the loss curve of an unbroken one. Whatever decides the loss is kept in FOLDER/training.

    \b
    wug train causal corpus.txt -o my-model --steps 6000
    wug train lstm corpus.txt.gz -o my-lstm --vocab 20000 --lowercase
    wug train seq2seq my_pcfgset/ -o my-pcfg --epochs 25 --suite my_pcfgset/test.src
    """
