"""`wug train causal`."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.train import _options as options
from wug.cli.train import _text as text


@click.command("causal")
@text.corpus_options(vocab=8192, length=256)
@click.option("--heads", type=click.IntRange(min=1), default=4, show_default=True, help="Attention heads.")
@options.training_options(
    batch=256, rate=4e-3, optimiser="muon", weight_decay=0.1, layers=8, width=256, inner=672, dropout=0.0,
    inner_help="The width inside the feed-forward layers.",
)  # fmt: skip
def command(**given: Any) -> None:
    """Train a causal language model of Llama's shape on TEXTS: files with a paragraph a line, also .gz or .xz.

    Sentences are seen one by one: those that share a row do not see each other.

    \b
    wug train causal corpus.txt -o my-model --steps 6000
    wug train causal corpus.txt -o tiny --steps 300 --batch 16 --layers 2 --width 64 --inner 128 --length 64
    wug run wug_agreement_pp --model my-model
    """
    from wug.train.causal import CausalLesson
    from wug.train.tokens import causal_tokenizer

    text.train_tokens(text.Kind("causal", causal_tokenizer, "bos", None, CausalLesson), given)
