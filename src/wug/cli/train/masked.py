"""`wug train masked`."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.train import _options as options
from wug.cli.train import _text as text


@click.command("masked")
@text.corpus_options(vocab=8192, length=256)
@click.option("--heads", type=click.IntRange(min=1), default=4, show_default=True, help="Attention heads.")
@options.training_options(
    batch=256, rate=4e-3, optimiser="muon", weight_decay=0.1, layers=8, width=256, inner=384, dropout=0.0,
    inner_help="The width inside the feed-forward layers.",
)  # fmt: skip
def command(**given: Any) -> None:
    """Train a masked language model of ModernBERT's shape on TEXTS: files with a paragraph a line, also .gz or .xz.

    Sentences are seen one by one: those that share a row do not see each other.

    \b
    wug train masked corpus.txt -o my-model --steps 6000
    wug train masked corpus.txt -o tiny --steps 300 --batch 16 --layers 2 --width 64 --inner 128 --length 64
    wug run wug_agreement_pp --model my-model
    """
    from wug.train.masked import MaskedLesson
    from wug.train.tokens import masked_tokenizer

    text.train_tokens(text.Kind("masked", masked_tokenizer, "cls", "sep", MaskedLesson), given)
