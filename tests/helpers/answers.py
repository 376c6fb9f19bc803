"""The texts of outputs, without their notices."""

from __future__ import annotations

from collections.abc import Sequence

from wug.requests import Answer, text_of


def noticed(answers: Sequence[Answer], words: str) -> int:
    """How many answers have a notice with these words."""
    return sum(any(words in notice for notice in answer.notices) for answer in answers)


def texts(answers: Sequence[Answer | str]) -> list[str]:
    """The texts of answers."""
    return [text_of(answer) for answer in answers]
