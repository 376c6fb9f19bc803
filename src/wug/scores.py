"""Blocks of requests and outputs: texts in a list, and the scores of all their tokens as arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from wug.arrays import Floats, Integers, Ints
from wug.errors import InputError
from wug.requests import WHOLE_TEXT, Request, Scored

Names: TypeAlias = Mapping[int, tuple[str, ...]]
"""Strings of some outputs of a block, by index."""


class PlainRequests(Sequence[Request]):
    """Requests without span and scoring; a `Request` is made on access."""

    __slots__ = ("texts",)

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        """A tuple, since the garbage collector visits each text of a list again and again."""

    def take(self, positions: Iterable[int]) -> PlainRequests:
        """Some of the requests, in the given order."""
        return PlainRequests(map(self.texts.__getitem__, positions))

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, key: int) -> Request: ...
    @overload
    def __getitem__(self, key: slice) -> PlainRequests: ...

    def __getitem__(self, key: int | slice) -> Request | PlainRequests:
        return PlainRequests(self.texts[key]) if isinstance(key, slice) else Request(self.texts[key])

    def __iter__(self) -> Iterator[Request]:
        return map(Request, self.texts)


def logprob_of(value: object, tolerance: float = 1e-6, lowest: float = -1e300) -> float | None:
    """A value of another program as a log-probability; None stays None.

    Args:
        value: In nats; InputError if it is not a number that can be a log-probability.
        tolerance: How far above 0 rounding may put it; it counts as 0.
        lowest: The lowest valid number.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value <= tolerance:
        raise InputError(f"{value!r:.60} is not a log-probability: a number of nats, 0 at most")
    return min(float(value), 0.0)


def texts_of(requests: Sequence[Request]) -> Sequence[str]:
    """The texts of requests."""
    return requests.texts if isinstance(requests, PlainRequests) else [request.text for request in requests]


class TokenExtras(NamedTuple):
    """Optional columns of an output, as in `Scored`."""

    entropies: tuple[float | None, ...] | None = None
    ranks: tuple[int | None, ...] | None = None
    logprobs_with_word_end: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Sequence[Scored]):
    """Scored texts, with one array per column for the tokens of all; a `Scored` is made on access."""

    texts: Sequence[str]
    offsets: Ints
    """The first token of each text, and the number of tokens."""
    starts: npt.NDArray[np.int32]
    """Ascending in each text."""
    ends: npt.NDArray[np.int32]
    logprobs: Floats
    """NaN if the model has none."""
    token_names: Names = field(default_factory=dict)
    """The tokens' names, for texts in which they differ from the characters."""
    notices: Names = field(default_factory=dict)
    extras: Mapping[int, TokenExtras] = field(default_factory=dict)
    """Optional columns, for outputs that have any."""

    @classmethod
    def of(cls, answers: Sequence[Scored]) -> Scores:
        """Outputs as arrays."""
        if isinstance(answers, Scores):
            return answers
        sizes = np.fromiter((len(answer.starts) for answer in answers), np.int64, len(answers))
        tokens = int(sizes.sum())
        return cls(
            [answer.text for answer in answers],
            _running(sizes),
            np.fromiter((start for answer in answers for start in answer.starts), np.int32, tokens),
            np.fromiter((end for answer in answers for end in answer.ends), np.int32, tokens),
            # numpy turns None into NaN.
            np.array([value for answer in answers for value in answer.logprobs], np.float64),
            {at: answer.token_names for at, answer in enumerate(answers) if answer.token_names is not None},
            {at: answer.notices for at, answer in enumerate(answers) if answer.notices},
            {at: extras for at, answer in enumerate(answers) if (extras := _extras(answer)) != NO_EXTRAS},
        )

    @classmethod
    def join(cls, blocks: Iterable[Scores]) -> Scores:
        """Concatenate blocks."""
        parts = list(blocks)
        if len(parts) == 1:
            return parts[0]
        sizes = [np.diff(block.offsets) for block in parts]
        before = [0, *np.cumsum([len(block) for block in parts]).tolist()]
        return cls(
            [text for block in parts for text in block.texts],
            _running(np.concatenate([*sizes, np.zeros(0, np.int64)])),
            np.concatenate([*(block.starts for block in parts), np.zeros(0, np.int32)]),
            np.concatenate([*(block.ends for block in parts), np.zeros(0, np.int32)]),
            np.concatenate([*(block.logprobs for block in parts), np.zeros(0)]),
            {first + at: names for first, b in zip(before, parts, strict=False) for at, names in b.token_names.items()},
            {first + at: texts for first, b in zip(before, parts, strict=False) for at, texts in b.notices.items()},
            {first + at: more for first, b in zip(before, parts, strict=False) for at, more in b.extras.items()},
        )

    def take(self, positions: Sequence[int] | Integers) -> Scores:
        """Some of the outputs, in the given order; an output may be taken twice."""
        if isinstance(positions, range) and positions.step == 1:
            return self[positions.start : positions.stop]
        order = np.asarray(positions, dtype=np.int64)
        sizes = np.diff(self.offsets)[order]
        offsets = _running(sizes)
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[order] - offsets[:-1], sizes)
        chosen: list[int] = order.tolist()
        return Scores(
            [self.texts[position] for position in chosen],
            offsets,
            self.starts[tokens],
            self.ends[tokens],
            self.logprobs[tokens],
            _taken(self.token_names, chosen),
            _taken(self.notices, chosen),
            _taken(self.extras, chosen),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, key: int) -> Scored: ...
    @overload
    def __getitem__(self, key: slice) -> Scores: ...

    def __getitem__(self, key: int | slice) -> Scored | Scores:
        """One output, or a block; a slice does not copy arrays."""
        if isinstance(key, slice):
            first, last, step = key.indices(len(self))
            return self._between(first, max(first, last)) if step == 1 else self.take(range(first, last, step))
        at = range(len(self))[key]
        here = slice(self.offsets[at], self.offsets[at + 1])
        return Scored(
            self.texts[at],
            tuple(self.starts[here].tolist()),
            tuple(self.ends[here].tolist()),
            _or_none(self.logprobs[here]),
            self.token_names.get(at),
            self.notices.get(at, ()),
            *self.extras.get(at, NO_EXTRAS),
        )

    def __iter__(self) -> Iterator[Scored]:
        # A slice of a tuple is a tuple: each column of a text is cut out in one step.
        starts, ends, values = tuple(self.starts.tolist()), tuple(self.ends.tolist()), _or_none(self.logprobs)
        bounds: list[int] = self.offsets.tolist()
        for at, text in enumerate(self.texts):
            here = slice(bounds[at], bounds[at + 1])
            token_names, notices = self.token_names.get(at), self.notices.get(at, ())
            yield Scored(
                text, starts[here], ends[here], values[here], token_names, notices, *self.extras.get(at, NO_EXTRAS)
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def before(self, characters: Sequence[int] | Integers) -> Ints:
        """For each text, the index of its first token that does not begin before a character."""
        bounds = np.asarray(characters, dtype=np.int64)
        for at, names in self.token_names.items():
            if names == WHOLE_TEXT:
                self[at].slice(int(bounds[at]) if bounds[at] < len(self.texts[at]) else 0)
        earlier = self.starts < np.repeat(bounds, np.diff(self.offsets))
        counts = _running(earlier)
        return self.offsets[:-1] + counts[self.offsets[1:]] - counts[self.offsets[:-1]]

    def sums(self, first: Integers | None = None, last: Integers | None = None) -> list[float]:
        """The sum of log-probabilities of each text's tokens from `first` to before `last` (default: all).

        Rounded once, like `Scored.logprob`, so that sentences of the same tokens in another order tie. A token without
        log-probability counts as 0.
        """
        values = np.where(np.isnan(self.logprobs), 0.0, self.logprobs).tolist()
        begins, stops = self._bounds(first, last)
        return [math.fsum(values[a:b]) for a, b in zip(begins.tolist(), stops.tolist(), strict=True)]

    def missing(self, first: Integers | None = None, last: Integers | None = None) -> Ints:
        """The number of each text's tokens from `first` to before `last` without log-probability."""
        counts = _running(np.isnan(self.logprobs))
        begins, stops = self._bounds(first, last)
        missing: Ints = counts[stops] - counts[begins]
        return missing

    def _bounds(self, first: Integers | None, last: Integers | None) -> tuple[Integers, Integers]:
        return self.offsets[:-1] if first is None else first, self.offsets[1:] if last is None else last

    def _between(self, first: int, last: int) -> Scores:
        here = slice(self.offsets[first], self.offsets[last])
        return Scores(
            self.texts[first:last],
            self.offsets[first : last + 1] - self.offsets[first],
            self.starts[here],
            self.ends[here],
            self.logprobs[here],
            {at - first: names for at, names in self.token_names.items() if first <= at < last},
            {at - first: texts for at, texts in self.notices.items() if first <= at < last},
            {at - first: more for at, more in self.extras.items() if first <= at < last},
        )


NO_EXTRAS = TokenExtras()
Value = TypeVar("Value")


def _extras(answer: Scored) -> TokenExtras:
    return TokenExtras(answer.entropies, answer.ranks, answer.logprobs_with_word_end)


def _taken(by_position: Mapping[int, Value], chosen: Sequence[int]) -> dict[int, Value]:
    if not by_position:
        return {}
    return {at: by_position[position] for at, position in enumerate(chosen) if position in by_position}


def _running(sizes: npt.NDArray[Any]) -> Ints:
    sums = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=sums[1:])
    return sums


def _or_none(logprobs: Floats) -> tuple[float | None, ...]:
    values: list[float | None] = logprobs.tolist()
    for place in np.flatnonzero(np.isnan(logprobs)).tolist():
        values[place] = None
    return tuple(values)
