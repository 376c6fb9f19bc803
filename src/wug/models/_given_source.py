"""Texts scored as the answers of an encoder–decoder: each token after a source and the tokens before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models._forced import Asker, Floats, Forced
from wug.models._options import EOS
from wug.models._passages import Passages, passages, room, to_the_left
from wug.models._ragged import Ragged
from wug.models._tokens import Tokenised
from wug.options import Option
from wug.types import Reading, Request, Scored

WINDOW = 512
"""Tokens of a running text that are read at a time where a model has no limit of its own, as T5 was trained."""
SOURCE = Option("source", str, "", "with score=source, the source of texts that come without one")
END = replace(EOS, help="with score=source, score the end mark after a text as well")


@dataclass(frozen=True, slots=True)
class Line:
    """A text in tokens, as far as it is asked about."""

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    names: tuple[str, ...] | None = None
    """The tokens' own names, where they differ from the text they stand for."""
    notices: tuple[str, ...] = ()
    """As `Scored.notices`."""


class Tokenising(Protocol):
    """How texts become tokens with their places."""

    def __call__(self, requests: Sequence[Request], *, cut: bool = True) -> Tokenised:
        """The tokens of each request's text, up to the end of its span if `cut`."""


def lines(tokenise: Tokenising, requests: Sequence[Request], *, cut: bool = True) -> list[Line]:
    """Texts in tokens, without marks; with `cut`, no further than to the end of what is asked about."""
    found = tokenise(requests, cut=cut)
    ids, starts, ends = (column.tolist() for column in (found.ids.flat, found.starts, found.ends))
    bounds = zip(found.ids.starts.tolist(), found.ids.lengths.tolist(), strict=True)
    parts = [slice(start, start + length) for start, length in bounds]
    return [
        Line(ids[part], starts[part], ends[part], found.pieces.get(n), found.notices.get(n, ()))
        for n, part in enumerate(parts)
    ]


class Reader(Protocol):
    """How text becomes tokens."""

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources, with their marks."""

    def lines(self, requests: Sequence[Request]) -> list[Line]:
        """The tokens of texts as they are written, without marks but an end mark that is asked for."""

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end, by the tokenizer's own rule."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens that a model takes; None where any number is possible."""

    source: int | None = None
    written: int | None = None
    window: int | None = None
    """Of a running text at a time, where nothing else is said; None: all of it."""


@dataclass(frozen=True, slots=True)
class Description:
    """What is known of a model beside its network."""

    id: str
    options: Mapping[str, str]
    chunk: int
    lead: Sequence[int]
    """The tokens before every text: the start mark, and perhaps one of a language."""
    limits: Limits


class SourceScorer:
    """An encoder–decoder that scores texts as answers to a source."""

    ordered = False
    __slots__ = ("_asker", "_lead", "_limits", "_reader", "_source", "chunk", "id", "options")

    def __init__(self, known: Description, reader: Reader, asker: Asker, source: str) -> None:
        self.id, self.options, self.chunk = known.id, known.options, known.chunk
        self._lead, self._limits = list(known.lead), known.limits
        self._reader, self._asker, self._source = reader, asker, source

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms."""
        return by_reading(requests, self._score)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end, by the tokenizer's own rule."""
        return self._reader.words(texts)

    def _score(self, requests: Sequence[Request], reading: Reading | None) -> list[Scored]:
        lines = self._reader.lines(requests)
        sources = self._sources(requests)
        found = self._passages(requests, lines, reading)
        tokens = Ragged.of([line.ids for line in lines]) if found is None else found.tokens
        where = np.arange(len(tokens.flat)) if found is None else found.where
        asked = [
            Forced(sources[text], [*self._lead, *ids], len(self._lead) + int((here < 0).sum()))
            for text, ids, here in _each(tokens, where, found)
        ]
        distribution = reading is not None and reading.distribution
        columns = np.full((3 if distribution else 1, sum(len(line.ids) for line in lines)), np.nan)
        answers = self._asker.columns(asked, distribution=distribution)
        for (_, _, here), values in zip(_each(tokens, where, found), answers, strict=True):
            columns[:, here[here >= 0]] = values
        return list(assembled(requests, lines, columns))

    def _sources(self, requests: Sequence[Request]) -> list[tuple[int, ...]]:
        texts = [self._source if request.source is None else request.source for request in requests]
        distinct = list(dict.fromkeys(texts))
        known = dict(zip(distinct, map(tuple, self._reader.sources(distinct)), strict=True))
        for text, tokens in known.items():
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {text!r}")
            if self._limits.source is not None and len(tokens) > self._limits.source:
                raise ModelError(
                    f"{self.id}: a source of {len(tokens):,} tokens is longer than the {self._limits.source:,} that "
                    f"the model takes: {text[:60]!r}…"
                )
        return [known[text] for text in texts]

    def _passages(self, requests: Sequence[Request], lines: Sequence[Line], reading: Reading | None) -> Passages | None:
        """Texts that are too long at once, in passages; refused where nobody asked for such."""
        limit, marks = self._limits.written, len(self._lead)
        if reading is not None:
            size, stride = room(reading, limit or self._limits.window, marks, self.id)
            return passages(Ragged.of([line.ids for line in lines]), size, stride, to_the_left)
        for request, line in zip(requests, lines, strict=True):
            if limit is not None and len(line.ids) + marks > limit:
                raise ModelError(
                    f"{self.id}: a text of {len(line.ids) + marks:,} tokens is longer than the {limit:,} that the "
                    f"model writes: {request.text[:60]!r}…"
                )
        return None


def by_reading(requests: Sequence[Request], score: Any) -> list[Scored]:
    """The answers of `score(requests, reading)` to requests of which some are read in one manner, some in another."""
    found: dict[int, Scored] = {}
    for reading in dict.fromkeys(request.reading for request in requests):
        places = [place for place, request in enumerate(requests) if request.reading == reading]
        found.update(zip(places, score([requests[place] for place in places], reading), strict=True))
    return [found[place] for place in range(len(requests))]


def assembled(
    requests: Sequence[Request], lines: Sequence[Line], columns: Floats, closed: Sequence[float | None] | None = None
) -> Iterator[Scored]:
    """The answers, from the columns of all tokens of all lines: log-probabilities, perhaps entropies and ranks."""
    values, *more = ([None if value != value else value for value in column] for column in columns.tolist())
    first = 0
    for request, line in zip(requests, lines, strict=True):
        here = slice(first, first := first + len(line.ids))
        entropies, ranks = (tuple(column[here]) for column in more) if more else (None, None)
        yield Scored(
            request.text,
            tuple(line.starts),
            tuple(line.ends),
            tuple(values[here]),
            line.names,
            line.notices,
            entropies=entropies,
            ranks=None if ranks is None else tuple(None if rank is None else int(rank) for rank in ranks),
            closed=None if closed is None else tuple(closed[here]),
        )


def _each(
    tokens: Ragged, where: npt.NDArray[np.int64], found: Passages | None
) -> Iterator[tuple[int, list[int], npt.NDArray[np.int64]]]:
    """For each passage, or text: the number of its text, its tokens, and where each stands, -1 if it is not asked."""
    for number, (start, length) in enumerate(zip(tokens.starts.tolist(), tokens.lengths.tolist(), strict=True)):
        here = slice(start, start + length)
        yield number if found is None else int(found.texts[number]), tokens.flat[here].tolist(), where[here]
