"""Texts and notices of outputs, and comparisons of log-probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from wug.requests import Answer, Scored, text_of


def noticed(answers: Sequence[Answer], words: str) -> int:
    """How many answers have a notice with these words."""
    return sum(any(words in notice for notice in answer.notices) for answer in answers)


def texts(answers: Sequence[Answer | str]) -> list[str]:
    """The texts of answers."""
    return [text_of(answer) for answer in answers]


def assert_same(found: Sequence[float | None], expected: Sequence[float | None]) -> None:
    """Log-probabilities are equal within 1e-4 nats, or both absent."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or other is None or abs(one - other) < 1e-4


def assert_same_scores(found: Sequence[Scored], expected: Sequence[Scored]) -> None:
    """All log-probabilities of two models are the same."""
    for one, other in zip(found, expected, strict=True):
        assert_same(one.logprobs, other.logprobs)
