"""What `wug train` for models of text shares: the corpus, its tokenizer, its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wug.cli import _common as common
from wug.cli.train._options import device_of, lowered, unfinished
from wug.cli.train._training import train

if TYPE_CHECKING:
    from wug.train.corpus import Rows
    from wug.train.lesson import Lesson

Function = TypeVar("Function", bound=Callable[..., Any])


def corpus_options(*, vocab: int, length: int) -> Callable[[Function], Function]:
    """The text to learn from."""
    options = [
        click.argument("texts", nargs=-1, required=True, type=click.Path(path_type=Path)),
        click.option(
            "--unit",
            type=click.Choice(["sentence", "paragraph"]),
            default="sentence",
            show_default=True,
            help="What a text is that the model sees on its own; a paragraph is a line.",
        ),
        click.option(
            "--vocab",
            type=click.IntRange(min=300, max=65535),
            default=vocab,
            show_default=True,
            help="Tokens or words that the model knows.",
        ),
        click.option(
            "--length", type=click.IntRange(min=8), default=length, show_default=True, help="Tokens in a row."
        ),
    ]

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


class Corpus:
    """The text, read only when it is needed."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    @cached_property
    def units(self) -> list[str]:
        """Sentences or paragraphs."""
        from wug.train.corpus import read_units

        common.say(f"reading {', '.join(str(path) for path in self._given['texts'])}")
        return read_units(self._given["texts"], self._given["unit"], self._given["seed"])

    @property
    def mark(self) -> str:
        """A checksum of the files."""
        from wug.train.corpus import corpus_checksum

        return corpus_checksum(self._given["texts"])

    @property
    def about(self) -> str:
        """For the card."""
        names = ", ".join(path.name for path in self._given["texts"])
        return f"{names} ({self.mark}), {self._given['unit']}s in rows of {self._given['length']} tokens"

    def rows(self, make: Callable[[], Any], bos: int) -> Rows:
        """The rows of the text, whose numbers `make` gives where they are not kept already."""
        from wug.errors import InputError
        from wug.train.corpus import Rows, Stream
        from wug.train.prepared import kept_ids

        given = self._given
        stream = Stream.of(kept_ids(given["output"], make), bos)
        if len(stream.ids) <= given["length"] + 1:
            raise InputError(
                f"{len(stream.ids):,} tokens of text are not enough for a row of {given['length']}: "
                "give more text, or a smaller --length"
            )
        return Rows(stream, given["length"], given["batch"], given["seed"])

    def material(self, kind: str) -> dict[str, Any]:
        """What the loss depends on, besides the recipe."""
        names = ("unit", "vocab", "length", "layers", "width", "inner", "dropout")
        return {"kind": kind, "text": self.mark, **{name: self._given[name] for name in names}}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of model that reads tokens needs to be trained."""

    name: str
    tokenizer: Callable[[Sequence[str], int], Any]
    """Makes one from texts, of a size."""
    opening: str
    """What a tokenizer calls the mark before a text."""
    closing: str | None
    """And the one behind it, if any."""
    lesson: Callable[..., Lesson]


def train_tokens(kind: Kind, given: Mapping[str, Any]) -> None:
    """Train a model that reads tokens, as the options want it."""
    from wug.train.corpus import encode
    from wug.train.prepared import kept_tokenizer
    from wug.train.shape import Shape
    from wug.train.tokens import encode_all

    corpus = Corpus(given)
    material = {**corpus.material(kind.name), "heads": given["heads"]}
    shape = Shape(given["layers"], given["width"], given["heads"], given["inner"], given["dropout"])
    shape.require_pairs()
    if not unfinished(given, material):
        return

    def make() -> Any:
        common.say(f"making a tokenizer of {given['vocab']:,} tokens")
        return kind.tokenizer(corpus.units, given["vocab"])

    tokenizer = kept_tokenizer(given["output"], make)
    bos = getattr(tokenizer, f"{kind.opening}_token_id")
    end = getattr(tokenizer, f"{kind.closing}_token_id") if kind.closing else None
    rows = corpus.rows(lambda: encode(corpus.units, lambda texts: encode_all(tokenizer, texts), bos, end), bos)
    device = device_of(given)
    lesson = kind.lesson(tokenizer, shape, rows=rows, device=device, bfloat16=lowered(given, device))
    train(lesson, given, device, material, corpus.about)
