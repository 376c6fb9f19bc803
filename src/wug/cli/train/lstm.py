"""`wug train lstm`."""

from __future__ import annotations

from typing import Any

import click

from wug.cli import _common as common
from wug.cli.train import _options as options
from wug.cli.train import _text as text
from wug.cli.train._training import train

END, UNKNOWN = "<eos>", "<unk>"


@click.command("lstm")
@text.corpus_options(vocab=20000, length=96)
@click.option("--lowercase", is_flag=True, help="Take all words in lower case.")
@click.option(
    "--words",
    "mode",
    type=click.Choice(["punctuation", "spaces"]),
    default="punctuation",
    show_default=True,
    help="What parts words: punctuation marks are words of their own, or only spaces count.",
)
@options.training_options(
    batch=256, rate=2e-3, optimiser="adamw", weight_decay=0.0, layers=2, width=256, inner=896, dropout=0.1,
    inner_help="Cells; where they differ from the width, the state is projected to it.",
)  # fmt: skip
def command(**given: Any) -> None:
    """Train a word-level LSTM on TEXTS: files with a paragraph a line, also .gz or .xz.

    The model knows the most frequent words; the rest are <unk>. A sentence begins after <eos>.

    \b
    wug train lstm corpus.txt -o my-lstm --steps 6000 --vocab 20000
    wug run wug_agreement_pp --model my-lstm
    """
    from wug.models._words import read_words, write_words
    from wug.train.checkpoint import Checkpoint
    from wug.train.corpus import encode
    from wug.train.lstm import LSTMLesson, Words
    from wug.train.shape import Shape
    from wug.train.words import frequent_words, numbers

    corpus = text.Corpus(given)
    mode, lowercase = given["mode"], given["lowercase"]
    material = {**corpus.material("lstm"), "words": mode, "lowercase": lowercase}
    shape = Shape(given["layers"], given["width"], 1, given["inner"], given["dropout"])
    if not options.unfinished(given, material):
        return
    kept = given["output"] / "training" / "vocab.txt"
    if Checkpoint(given["output"]).begun and kept.exists():
        names, _ = read_words(kept)
    else:
        common.say(f"choosing {given['vocab']:,} words")
        special = (END, UNKNOWN)
        names = frequent_words(corpus.units, mode, size=given["vocab"], lowercase=lowercase, special=special)
        write_words(kept, names)
    bos = names.index(END)

    def make() -> Any:
        return encode(corpus.units, lambda texts: numbers(texts, mode, names, UNKNOWN, lowercase=lowercase), bos)

    rows = corpus.rows(make, bos)
    device = options.device_of(given)
    words = Words(names, mode, lowercase)
    lesson = LSTMLesson(words, shape, bos=bos, rows=rows, device=device, bfloat16=options.lowered(given, device))
    train(lesson, given, device, material, corpus.about)
