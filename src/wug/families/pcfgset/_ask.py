"""Asking a model for answers, and what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wug.errors import ModelError
from wug.families.pcfgset._lines import squeeze
from wug.types import Generator, Notice, Row, Suite, text_of


@dataclass(frozen=True, slots=True)
class Answered:
    """A test, and the judgements on answers to it that were made elsewhere."""

    suite: Suite
    rows: Iterator[Row]


def ask(model: Generator, sources: Sequence[str]) -> list[str]:
    """One answer for each source, spaces between words evened out."""
    if not sources:
        return []
    answers = model.generate(sources)
    if len(answers) != len(sources):
        raise ModelError(f"{model.id} gave {len(answers):,} answers to {len(sources):,} sources")
    return [squeeze(text_of(answer)) for answer in answers]


def empty_answers(answers: Sequence[str]) -> Iterator[Notice]:
    """A notice where answers are empty."""
    empty = sum(not answer for answer in answers)
    if empty:
        yield Notice(f"{empty:,} of {len(answers):,} answers are empty")
