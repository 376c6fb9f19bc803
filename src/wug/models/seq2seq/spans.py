"""Words as T5 was trained to fill them in: each is taken out of the text, and written behind its sentinel.

`The keys <extra_id_0> here.` is read, and `<extra_id_0> are` is written, each token of it after those before; what
stands on both sides counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wug.errors import ModelError
from wug.models._forced import Asker, Forced
from wug.models._given_source import Description, Line, assembled, by_reading, lines
from wug.models._passages import room
from wug.models._spec import ModelSpec
from wug.models._tokens import Tokeniser, word_spans
from wug.models.seq2seq.frame import Frame
from wug.types import Reading, Request, Scored

NAMES = ("<extra_id_{}>", "▁<extra_id_{}>")
"""How tokenizers call sentinels: T5's, and mT5's."""


class Sentinels(NamedTuple):
    """The token that stands for the first span of a text, and the next, with which that span ends."""

    opens: int
    closes: int


class _Span(NamedTuple):
    """Tokens of a text that are taken out together."""

    text: int
    first: int
    last: int
    """One behind the last of them."""


class SpanScorer:
    """An encoder–decoder that scores the words of texts, each in a span of its own."""

    ordered = False
    __slots__ = (
        "_asker",
        "_frame",
        "_limit",
        "_prefix",
        "_sentinels",
        "_tokenise",
        "_window",
        "chunk",
        "id",
        "options",
    )

    def __init__(
        self, known: Description, tokenise: Tokeniser, asker: Asker, frame: Frame, marks: Sentinels, prefix: str
    ) -> None:
        self.id, self.options, self.chunk = known.id, known.options, known.chunk
        self._tokenise, self._asker, self._frame, self._sentinels = tokenise, asker, frame, marks
        self._limit, self._window = known.limits.source, known.limits.window
        self._prefix: list[int] = tokenise.hf.backend_tokenizer.encode(prefix, add_special_tokens=False).ids

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms; with a span, only the tokens in it."""
        return by_reading(requests, self._score)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end, by the tokenizer's own rule."""
        return word_spans(self._tokenise.hf.backend_tokenizer, texts)

    def _score(self, requests: Sequence[Request], reading: Reading | None) -> list[Scored]:
        whole = lines(self._tokenise, requests, cut=False)
        spans = [
            span for number, pair in enumerate(zip(requests, whole, strict=True)) for span in _spans(number, *pair)
        ]
        size = self._size(requests, whole, reading)
        boundary = reading is not None and reading.boundary
        distribution = reading is not None and reading.distribution
        asked = [self._question(whole[span.text], span, size, boundary=boundary) for span in spans]
        found = self._asker.columns(asked, distribution=distribution)
        columns, closed = [], []
        for values in found:
            inside = values[:, :-1] if boundary else values
            columns.append(inside)
            if boundary:  # the sentinel behind a word says that it is over
                inside = inside[0].copy()
                inside[-1] += values[0, -1]
                closed += inside.tolist()
        kept = [_kept(request, line) for request, line in zip(requests, whole, strict=True)]
        nothing = np.empty((3 if distribution else 1, 0))
        return list(
            assembled(requests, kept, np.concatenate([nothing, *columns], axis=1), closed if boundary else None)
        )

    def _size(self, requests: Sequence[Request], whole: Sequence[Line], reading: Reading | None) -> int | None:
        """Tokens of a text that are read at a time; None: all of it."""
        marks = len(self._frame.before) + len(self._frame.after) + len(self._prefix) + 1
        if reading is not None:
            return room(reading, self._limit or self._window, marks, self.id)[0]
        for request, line in zip(requests, whole, strict=True):
            if self._limit is not None and len(line.ids) + marks > self._limit:
                raise ModelError(
                    f"{self.id}: a text of {len(line.ids) + marks:,} tokens is longer than the {self._limit:,} that "
                    f"the model takes: {request.text[:60]!r}…"
                )
        return None

    def _question(self, line: Line, span: _Span, size: int | None, *, boundary: bool) -> Forced:
        begin, end = 0, len(line.ids)
        if size is not None and end > size:  # as much before the word as behind it
            begin = min(max(0, (span.first + span.last - size) // 2), end - size)
            end = begin + size
        before, after = line.ids[begin : span.first], line.ids[span.last : end]
        source = (*self._frame.before, *self._prefix, *before, self._sentinels.opens, *after, *self._frame.after)
        lead = [*self._frame.lead, self._sentinels.opens]
        close = [self._sentinels.closes] if boundary else []
        return Forced(source, [*lead, *line.ids[span.first : span.last], *close], len(lead))


def sentinels(tokenizer: Any, spec: ModelSpec) -> Sentinels:
    """The first two sentinels of a tokenizer; refused where it has none."""
    known = tokenizer.get_vocab()
    for name in NAMES:
        if name.format(0) in known and name.format(1) in known:
            return Sentinels(known[name.format(0)], known[name.format(1)])
    raise ModelError(
        f"{spec}: score=spans needs the sentinels that T5 and its kin have in their vocabulary (<extra_id_0>), and it "
        "has none. Use score=source"
    )


def _kept(request: Request, line: Line) -> Line:
    """The tokens that an answer reports: those in the span of the request, or all."""
    if request.span is None:
        return line
    low, high = request.span
    here = [place for place, start in enumerate(line.starts) if low <= start < high]
    names = None if line.names is None else tuple(line.names[place] for place in here)
    ids, starts, ends = ([column[place] for place in here] for column in (line.ids, line.starts, line.ends))
    return Line(ids, starts, ends, names, line.notices)


def _spans(number: int, request: Request, line: Line) -> Iterator[_Span]:
    """What is taken out at a time: the span that is asked about, or each word between white space."""
    if request.span is not None:
        low, high = request.span
        here = [place for place, start in enumerate(line.starts) if low <= start < high]
        if here:
            yield _Span(number, here[0], here[-1] + 1)
        return
    first = 0
    for place in range(1, len(line.ids) + 1):
        # A token opens a word where white space stands between it and the one before.
        if place == len(line.ids) or any(map(str.isspace, request.text[line.starts[place - 1] : line.starts[place]])):
            yield _Span(number, first, place)
            first = place
