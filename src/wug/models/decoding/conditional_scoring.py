"""Texts scored as the answers of an encoder–decoder: each token given a source and the tokens before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from wug.errors import InputError, ModelError
from wug.models.spec import EOS
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.sliding_windows import Passages, passages, to_the_left, window_size
from wug.models.tokenization.tokens import TokenizedTexts
from wug.options import Option
from wug.types import Reading, Request, Scored

if TYPE_CHECKING:
    from wug.models.decoding.teacher_forcing import TeacherForcing

Floats = npt.NDArray[np.float64]

DEFAULT_WINDOW_TOKENS = 512
"""Window for running texts if a model has no limit: T5's training length."""
SOURCE = Option("source", str, "", "with score=source, the source of texts that have none")
END = replace(EOS, help="with score=source, also score the end token after a text")


@dataclass(frozen=True, slots=True)
class ForcedTarget:
    """Tokens that the decoder has to write after a source."""

    source: tuple[int, ...]
    written: Sequence[int]
    """Tokens of the decoder, from its start token on."""
    first: int
    """The first of these that is scored; all later ones are, too."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """The tokens of a text, up to the last one that is scored."""

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]
    names: tuple[str, ...] | None = None
    """The tokens' names, if they differ from the text."""
    notices: tuple[str, ...] = ()
    """As `Scored.notices`."""

    def take(self, places: Sequence[int]) -> TokenizedText:
        """Some of the tokens."""
        names = None if self.names is None else tuple(self.names[place] for place in places)
        ids, starts, ends = ([column[place] for place in places] for column in (self.ids, self.starts, self.ends))
        return TokenizedText(ids, starts, ends, names, self.notices)


def split_texts(found: TokenizedTexts) -> list[TokenizedText]:
    """The tokens of each text."""
    ids, starts, ends = (column.tolist() for column in (found.ids.flat, found.starts, found.ends))
    bounds = zip(found.ids.starts.tolist(), found.ids.lengths.tolist(), strict=True)
    return [
        TokenizedText(ids[a : a + n], starts[a : a + n], ends[a : a + n], found.pieces.get(i), found.notices.get(i, ()))
        for i, (a, n) in enumerate(bounds)
    ]


class ScoringTokenizer(Protocol):
    """Tokenizes sources and answers."""

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources, with special tokens."""

    def answers(self, requests: Sequence[Request]) -> list[TokenizedText]:
        """The tokens of texts as answers, without special tokens except an end token that is scored."""

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Maximum numbers of tokens; None if there is none."""

    source: int | None = None
    written: int | None = None
    window: int | None = None
    """Default window for running texts; None: the whole text."""


@dataclass(frozen=True, slots=True)
class ScorerInfo:
    """What a scorer needs besides its network."""

    id: str
    options: Mapping[str, str]
    chunk: int
    lead: Sequence[int]
    """The tokens before every text: the start token, and perhaps a language."""
    limits: TokenLimits


class SourceScorer:
    """An encoder–decoder that scores texts as answers to a source."""

    ordered = False
    __slots__ = ("_forcing", "_lead", "_limits", "_source", "_tokenizer", "chunk", "id", "options")

    def __init__(self, info: ScorerInfo, tokenizer: ScoringTokenizer, forcing: TeacherForcing, source: str) -> None:
        self.id, self.options, self.chunk = info.id, info.options, info.chunk
        self._lead, self._limits = list(info.lead), info.limits
        self._tokenizer, self._forcing, self._source = tokenizer, forcing, source

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One output per request, in order, in nats."""
        return score_by_reading(requests, self._score)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return self._tokenizer.words(texts)

    def _score(self, requests: Sequence[Request], reading: Reading | None) -> list[Scored]:
        texts = self._tokenizer.answers(requests)
        sources = self._sources(requests)
        found = self._passages(requests, texts, reading)
        tokens = Ragged.of([text.ids for text in texts]) if found is None else found.tokens
        where = np.arange(len(tokens.flat)) if found is None else found.where
        parts = [slice(low, high) for low, high in pairwise(np.append(0, np.cumsum(tokens.lengths)))]
        owners = range(len(texts)) if found is None else found.texts.tolist()
        targets = [
            ForcedTarget(
                sources[text],
                [*self._lead, *tokens.flat[part].tolist()],
                len(self._lead) + int((where[part] < 0).sum()),
            )
            for text, part in zip(owners, parts, strict=True)
        ]
        distribution = reading is not None and reading.distribution
        columns = np.full((3 if distribution else 1, sum(len(text.ids) for text in texts)), np.nan)
        for part, values in zip(parts, self._forcing.columns(targets, distribution=distribution), strict=True):
            columns[:, where[part][where[part] >= 0]] = values
        return list(assemble(requests, texts, columns))

    def _sources(self, requests: Sequence[Request]) -> list[tuple[int, ...]]:
        texts = [self._source if request.source is None else request.source for request in requests]
        distinct = list(dict.fromkeys(texts))
        known = dict(zip(distinct, map(tuple, self._tokenizer.sources(distinct)), strict=True))
        for text, tokens in known.items():
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {text!r}")
            if self._limits.source is not None and len(tokens) > self._limits.source:
                raise ModelError(
                    f"{self.id}: a source of {len(tokens):,} tokens is longer than the {self._limits.source:,} that "
                    f"the model takes: {text[:60]!r}…"
                )
        return [known[text] for text in texts]

    def _passages(
        self, requests: Sequence[Request], texts: Sequence[TokenizedText], reading: Reading | None
    ) -> Passages | None:
        """Long texts as passages; an error if the request does not allow windows."""
        limit, special = self._limits.written, len(self._lead)
        if reading is not None:
            size, stride = window_size(reading, limit or self._limits.window, special, self.id)
            return passages(Ragged.of([text.ids for text in texts]), size, stride, to_the_left)
        for request, text in zip(requests, texts, strict=True):
            if limit is not None and len(text.ids) + special > limit:
                raise ModelError(
                    f"{self.id}: a text of {len(text.ids) + special:,} tokens is longer than the {limit:,} that the "
                    f"model writes: {request.text[:60]!r}…"
                )
        return None


def refuse_unused(options: Mapping[str, Any], unused: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse options that have no effect with the given value of the option score."""
    for name, default in unused[options["score"]].items():
        if options[name] != default:
            raise InputError(f"option {name} is of no use with score={options['score']}")


def score_by_reading(
    requests: Sequence[Request], score: Callable[[list[Request], Reading | None], Iterable[Scored]]
) -> list[Scored]:
    """The outputs of `score`, which takes requests that have the same reading."""
    found: dict[int, Scored] = {}
    for reading in dict.fromkeys(request.reading for request in requests):
        places = [place for place, request in enumerate(requests) if request.reading == reading]
        found.update(zip(places, score([requests[place] for place in places], reading), strict=True))
    return [found[place] for place in range(len(requests))]


def assemble(
    requests: Sequence[Request],
    texts: Sequence[TokenizedText],
    columns: Floats,
    with_word_end: Sequence[float | None] | None = None,
) -> Iterator[Scored]:
    """The outputs, from columns of all tokens of all texts: log-probabilities, and perhaps entropies and ranks."""
    values, *more = ([None if value != value else value for value in column] for column in columns.tolist())
    first = 0
    for request, text in zip(requests, texts, strict=True):
        here = slice(first, first := first + len(text.ids))
        entropies, ranks = (tuple(column[here]) for column in more) if more else (None, None)
        yield Scored(
            request.text,
            tuple(text.starts),
            tuple(text.ends),
            tuple(values[here]),
            text.names,
            text.notices,
            entropies=entropies,
            ranks=None if ranks is None else tuple(None if rank is None else int(rank) for rank in ranks),
            logprobs_with_word_end=None if with_word_end is None else tuple(with_word_end[here]),
        )
