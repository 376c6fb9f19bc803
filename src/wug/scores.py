"""Questions and answers by the block: texts in a list, and what a model says of them as arrays, as the cache has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from wug.types import Request, Scored

Integers: TypeAlias = npt.NDArray[np.integer[Any]]
Names: TypeAlias = Mapping[int, tuple[str, ...]]
"""What some answers of a block have, by their number in it."""


class Texts(Sequence[Request]):
    """Requests that are a text and nothing else; a `Request` is made when someone looks."""

    __slots__ = ("texts",)

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def take(self, places: Iterable[int]) -> Texts:
        """The requests at some places, in that order."""
        return Texts(list(map(self.texts.__getitem__, places)))

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, place: int) -> Request: ...
    @overload
    def __getitem__(self, place: slice) -> Texts: ...

    def __getitem__(self, place: int | slice) -> Request | Texts:
        return Texts(self.texts[place]) if isinstance(place, slice) else Request(self.texts[place])

    def __iter__(self) -> Iterator[Request]:
        return map(Request, self.texts)


def texts_of(requests: Sequence[Request]) -> list[str]:
    """The texts that are asked about."""
    return requests.texts if isinstance(requests, Texts) else [request.text for request in requests]


class Beside(NamedTuple):
    """What an answer has for each token beside its log-probability, where it was asked for: as in `Scored`."""

    entropies: tuple[float | None, ...] | None = None
    ranks: tuple[int | None, ...] | None = None
    closed: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Sequence[Scored]):
    """Scored texts, the tokens of all of them in one array a column; a `Scored` is made when someone looks."""

    texts: Sequence[str]
    offsets: npt.NDArray[np.int64]
    """Where the tokens of each text begin, and where those of the last one end: one more than there are texts."""
    starts: npt.NDArray[np.int32]
    """Of all tokens; ascending in each text."""
    ends: npt.NDArray[np.int32]
    logprobs: npt.NDArray[np.float64]
    """Of all tokens; not a number where the model cannot give one."""
    pieces: Names = field(default_factory=dict)
    """The tokens' own names, of those texts where they differ from the characters that they stand for."""
    notices: Names = field(default_factory=dict)
    """What the model has to say about an answer, of those about which it has."""
    beside: Mapping[int, Beside] = field(default_factory=dict)
    """What stands beside the log-probabilities of those answers of which more was asked."""

    @classmethod
    def of(cls, answers: Sequence[Scored]) -> Scores:
        """The same answers as arrays; those that are arrays already as they are."""
        if isinstance(answers, Scores):
            return answers
        sizes = np.fromiter((len(answer.starts) for answer in answers), np.int64, len(answers))
        tokens = int(sizes.sum())
        return cls(
            [answer.text for answer in answers],
            _running(sizes),
            np.fromiter((start for answer in answers for start in answer.starts), np.int32, tokens),
            np.fromiter((end for answer in answers for end in answer.ends), np.int32, tokens),
            # A list with None in it becomes numbers in one step, None as not a number.
            np.array([value for answer in answers for value in answer.logprobs], np.float64),
            {at: answer.pieces for at, answer in enumerate(answers) if answer.pieces is not None},
            {at: answer.notices for at, answer in enumerate(answers) if answer.notices},
            {at: found for at, answer in enumerate(answers) if (found := _beside(answer)) != NOTHING},
        )

    @classmethod
    def join(cls, blocks: Iterable[Scores]) -> Scores:
        """The answers of several blocks as one."""
        found = list(blocks)
        if len(found) == 1:
            return found[0]
        sizes = [np.diff(block.offsets) for block in found]
        before = [0, *np.cumsum([len(block) for block in found]).tolist()]
        return cls(
            [text for block in found for text in block.texts],
            _running(np.concatenate([*sizes, np.zeros(0, np.int64)])),
            np.concatenate([*(block.starts for block in found), np.zeros(0, np.int32)]),
            np.concatenate([*(block.ends for block in found), np.zeros(0, np.int32)]),
            np.concatenate([*(block.logprobs for block in found), np.zeros(0)]),
            {first + at: names for first, b in zip(before, found, strict=False) for at, names in b.pieces.items()},
            {first + at: texts for first, b in zip(before, found, strict=False) for at, texts in b.notices.items()},
            {first + at: more for first, b in zip(before, found, strict=False) for at, more in b.beside.items()},
        )

    def take(self, places: Sequence[int] | Integers) -> Scores:
        """The answers at some places, in that order; an answer may be taken twice."""
        if isinstance(places, range) and places.step == 1:
            return self[places.start : places.stop]
        order = np.asarray(places, dtype=np.int64)
        sizes = np.diff(self.offsets)[order]
        offsets = _running(sizes)
        tokens = np.arange(offsets[-1]) + np.repeat(self.offsets[order] - offsets[:-1], sizes)
        chosen: list[int] = order.tolist()
        return Scores(
            [self.texts[place] for place in chosen],
            offsets,
            self.starts[tokens],
            self.ends[tokens],
            self.logprobs[tokens],
            _taken(self.pieces, chosen),
            _taken(self.notices, chosen),
            _taken(self.beside, chosen),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, place: int) -> Scored: ...
    @overload
    def __getitem__(self, place: slice) -> Scores: ...

    def __getitem__(self, place: int | slice) -> Scored | Scores:
        """One answer, or a block of some; the arrays of neighbours are not copied."""
        if isinstance(place, slice):
            first, last, step = place.indices(len(self))
            return self._between(first, max(first, last)) if step == 1 else self.take(range(first, last, step))
        at = range(len(self))[place]
        here = slice(self.offsets[at], self.offsets[at + 1])
        return Scored(
            self.texts[at],
            tuple(self.starts[here].tolist()),
            tuple(self.ends[here].tolist()),
            _or_none(self.logprobs[here]),
            self.pieces.get(at),
            self.notices.get(at, ()),
            *self.beside.get(at, NOTHING),
        )

    def __iter__(self) -> Iterator[Scored]:
        # A slice of a tuple is a tuple: the columns of each text are cut out in one step.
        starts, ends, values = tuple(self.starts.tolist()), tuple(self.ends.tolist()), _or_none(self.logprobs)
        bounds: list[int] = self.offsets.tolist()
        for at, text in enumerate(self.texts):
            here = slice(bounds[at], bounds[at + 1])
            pieces, notices = self.pieces.get(at), self.notices.get(at, ())
            yield Scored(text, starts[here], ends[here], values[here], pieces, notices, *self.beside.get(at, NOTHING))

    def __eq__(self, other: object) -> bool:
        """Whether it has the same answers as another sequence of answers."""
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def before(self, characters: Sequence[int] | Integers) -> npt.NDArray[np.int64]:
        """For each text the first of its tokens, as a place in the columns, that does not begin before a character."""
        bounds = np.asarray(characters, dtype=np.int64)
        earlier = self.starts < np.repeat(bounds, np.diff(self.offsets))
        counts = _running(earlier)
        return self.offsets[:-1] + counts[self.offsets[1:]] - counts[self.offsets[:-1]]

    def sums(self, first: Integers | None = None, last: Integers | None = None) -> list[float]:
        """The natural log-probability of the tokens from `first` to before `last` of each text; of all without them.

        Rounded once, as `Scored.logprob` is: sentences of the same tokens in another order tie, and a sum that is
        rounded at every step would part them. A token without one counts as 0.
        """
        values = np.where(np.isnan(self.logprobs), 0.0, self.logprobs).tolist()
        begins, stops = self._bounds(first, last)
        return [math.fsum(values[a:b]) for a, b in zip(begins.tolist(), stops.tolist(), strict=True)]

    def missing(self, first: Integers | None = None, last: Integers | None = None) -> npt.NDArray[np.int64]:
        """How many of the tokens from `first` to before `last` of each text have no log-probability."""
        counts = _running(np.isnan(self.logprobs))
        begins, stops = self._bounds(first, last)
        missing: npt.NDArray[np.int64] = counts[stops] - counts[begins]
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
            {at - first: names for at, names in self.pieces.items() if first <= at < last},
            {at - first: texts for at, texts in self.notices.items() if first <= at < last},
            {at - first: more for at, more in self.beside.items() if first <= at < last},
        )


NOTHING = Beside()
Named = TypeVar("Named")


def _beside(answer: Scored) -> Beside:
    return Beside(answer.entropies, answer.ranks, answer.closed)


def _taken(some: Mapping[int, Named], chosen: Sequence[int]) -> dict[int, Named]:
    """What answers at some places have, by their places afterwards."""
    return {at: some[place] for at, place in enumerate(chosen) if place in some} if some else {}


def _running(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """How much came before each, and before the end."""
    sums = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=sums[1:])
    return sums


def _or_none(logprobs: npt.NDArray[np.float64]) -> tuple[float | None, ...]:
    values: list[float | None] = logprobs.tolist()
    for place in np.flatnonzero(np.isnan(logprobs)).tolist():
        values[place] = None
    return tuple(values)
