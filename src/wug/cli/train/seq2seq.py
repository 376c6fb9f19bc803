"""`wug train seq2seq`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from wug.cli.train import _options as options
from wug.cli.train._training import train

LSTM = {"rate": 1e-3, "layers": 2, "inner": 512}
"""Defaults of an LSTM, where they are not those of a T5."""


@click.command("seq2seq")
@click.argument("source", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--network",
    type=click.Choice(["t5", "lstm"]),
    default="t5",
    show_default=True,
    help="t5: a transformer of T5's shape. lstm: an LSTM that attends to the source.",
)
@click.option("--heads", type=click.IntRange(min=1), default=4, show_default=True, help="Attention heads of a T5.")
@options.training_options(
    batch=128, rate=6e-4, optimiser="adamw", weight_decay=0.01, layers=4, width=256, inner=768, dropout=0.1,
    inner_help="The width inside the feed-forward layers; of an LSTM, the cells of a layer.", otherwise=LSTM,
    compiled="off",
)  # fmt: skip
def command(source: Path, network: str, **given: Any) -> None:
    """Train a model that turns SOURCE's sources into its targets: a PCFG SET or COGS folder, or a file of one.

    The model knows the words of the training set. One of T5's shape has relative positions; an LSTM reads the
    source from both sides. Both have as many layers in the encoder as in the decoder.

    \b
    wug make pcfgset --samples 400000 --seed 1 -o data
    wug train seq2seq data -o my-pcfg --epochs 6
    wug train seq2seq data -o my-lstm --epochs 6 --network lstm
    wug train seq2seq cogs/train.tsv -o my-cogs --steps 20000 --layers 2
    wug train seq2seq exceptions/ -o profile --epochs 25 --suite exceptions/     a run after each epoch
    """
    from wug.train.examples import read_examples
    from wug.train.shape import Shape

    names = ["layers", "width", "inner", "dropout"]
    if network == "lstm":
        given |= _of_lstm(click.get_current_context())
    else:
        names.append("heads")
    shape = Shape(given["layers"], given["width"], given["heads"], given["inner"], given["dropout"])
    examples = read_examples(source)
    kind = "attention_lstm" if network == "lstm" else "seq2seq"
    material = {"kind": kind, "examples": examples.checksum, **{name: given[name] for name in names}}
    if not options.unfinished(given, material):
        return
    given["compiled"] = bool(given["compiled"])  # a recorded step is as fast, without minutes of compiling every shape
    device = options.device_of(given)
    lesson = _lesson(kind)(examples, shape, batch=given["batch"], seed=given["seed"], device=device)
    about = f"{source.name} ({examples.checksum}), {len(examples.sources):,} examples"
    train(lesson, given, device, material, about)


def _of_lstm(context: click.Context) -> dict[str, Any]:
    """What an LSTM has in place of options that the user did not give; an error for one that it does not have."""

    def given(name: str) -> bool:
        return context.get_parameter_source(name) is not ParameterSource.DEFAULT

    if given("heads"):
        raise click.UsageError("--heads is for --network t5: an LSTM attends with one head")
    return {"heads": 1, **{name: value for name, value in LSTM.items() if not given(name)}}


def _lesson(kind: str) -> Any:
    if kind == "attention_lstm":
        from wug.train.attention_lstm import AttentionLSTMLesson

        return AttentionLSTMLesson
    from wug.train.seq2seq import Seq2SeqLesson

    return Seq2SeqLesson
