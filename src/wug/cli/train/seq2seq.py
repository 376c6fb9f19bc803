"""`wug train seq2seq`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wug.cli.train import _options as options


@click.command("seq2seq")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option("--heads", type=click.IntRange(min=1), default=4, show_default=True, help="Attention heads.")
@options.training_options(
    batch=128, rate=6e-4, optimiser="adamw", weight_decay=0.01, layers=4, width=256, inner=768, dropout=0.1,
    inner_help="The width inside the feed-forward layers.",
)  # fmt: skip
def command(source: Path, **given: Any) -> None:
    """Train a model that turns SOURCE's sources into its targets: a PCFG SET or COGS folder, or a file of one.

    The model has T5's shape, with as many layers in the encoder as in the decoder and relative positions, and
    knows the words of the training set.

    \b
    wug make pcfgset --samples 400000 --seed 1 -o data
    wug train seq2seq data -o my-pcfg --epochs 6
    wug train seq2seq cogs/train.tsv -o my-cogs --steps 20000 --layers 2
    wug train seq2seq exceptions/ -o profile --epochs 25 --suite exceptions/     a run after each epoch
    """
    if options.finished(given):
        return
    from wug.train.examples import read_examples
    from wug.train.seq2seq import Seq2SeqLesson
    from wug.train.shape import Shape

    given["compiled"] = bool(given["compiled"])  # a recorded step is as fast, without minutes of compiling every shape
    examples = read_examples(source)
    device = options.device_of(given)
    shape = Shape(given["layers"], given["width"], given["heads"], given["inner"], given["dropout"])
    lesson = Seq2SeqLesson(examples, shape, batch=given["batch"], seed=given["seed"], device=device)
    names = ("layers", "width", "inner", "dropout", "heads")
    material = {"kind": "seq2seq", "examples": examples.mark, **{name: given[name] for name in names}}
    about = f"{source.name} ({examples.mark}), {len(examples.sources):,} examples"
    options.train(lesson, given, device, material, about)
