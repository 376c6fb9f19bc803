"""Texts scored as the answers of an encoder–decoder: each token given a source and the tokens before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wug.errors import InputError, ModelError
from wug.models.spec import EOS
from wug.models.tokenization.sliding_windows import passages, refuse_long, to_the_left, window_size
from wug.models.tokenization.tokens import TokenizedTexts, score_by
from wug.options import Option
from wug.requests import Request, TextScoring
from wug.scores import Scores, texts_of

if TYPE_CHECKING:
    from wug.models.decoding.teacher_forcing import TeacherForcing


DEFAULT_WINDOW_TOKENS = 512
"""Window for running texts if a model has no limit: T5's training length."""
SOURCE = Option("source", str, "", "with score=source, the source of texts that have none")
END = replace(EOS, help="with score=source, also score the end token after a text")


@dataclass(frozen=True, slots=True)
class ForcedTarget:
    """Tokens that the decoder has to write after a source."""

    source: tuple[int, ...]
    tokens: Sequence[int]
    """Tokens of the decoder, from its start token on."""
    first_scored: int
    """The first of these that is scored; all later ones are, too."""


class ScoringTokenizer(Protocol):
    """Tokenizes sources and answers."""

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources, with special tokens."""

    def answers(self, requests: Sequence[Request]) -> TokenizedTexts:
        """The tokens of texts as answers, without special tokens except an end token that is scored."""

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """Maximum numbers of tokens; None if there is none."""

    source: int | None = None
    target: int | None = None
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

    def __init__(self, info: ScorerInfo, tokenizer: ScoringTokenizer, forcing: TeacherForcing, source: str) -> None:
        self.id, self.options = info.id, info.options
        self.chunk, self._limits = info.chunk, info.limits
        self._lead, self._source = list(info.lead), source
        self._tokenizer, self._forcing = tokenizer, forcing

    def score(self, requests: Sequence[Request]) -> Scores:
        """One output per request, in order, in nats."""
        return score_by(lambda request: request.scoring, requests, self._score)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return self._tokenizer.words(texts)

    def _score(self, requests: Sequence[Request], scoring: TextScoring | None) -> Scores:
        texts = self._tokenizer.answers(requests)
        sources, special = self._sources(requests), len(self._lead)
        windows = None
        if scoring is None:
            refuse_long(texts.ids, self._limits.target, texts_of(requests), self.id, special)
        else:
            size = window_size(scoring, self._limits.target or self._limits.window, special, self.id)
            windows = passages(texts.ids, *size, to_the_left)
        tokens = texts.ids if windows is None else windows.tokens
        where = np.arange(len(tokens.flat)) if windows is None else windows.where
        # For each window, the index of each of its tokens in the texts; -1 if it is read but not scored.
        window_tokens = np.split(where, np.cumsum(tokens.lengths)[:-1]) if len(tokens) else []
        text_indices = range(len(requests)) if windows is None else windows.texts.tolist()
        targets = [
            ForcedTarget(sources[text], [*self._lead, *ids], special + int((indices < 0).sum()))
            for text, indices, ids in zip(text_indices, window_tokens, tokens.split(), strict=True)
        ]
        distribution = scoring is not None and scoring.distribution
        columns = np.full((3 if distribution else 1, len(texts.ids.flat)), np.nan)
        results = self._forcing.columns(targets, distribution=distribution)
        for indices, values in zip(window_tokens, results, strict=True):
            columns[:, indices[indices >= 0]] = values
        return texts.scores(texts_of(requests), columns)

    def _sources(self, requests: Sequence[Request]) -> list[tuple[int, ...]]:
        texts = [self._source if request.source is None else request.source for request in requests]
        distinct = list(dict.fromkeys(texts))
        tokens_by_text = dict(zip(distinct, map(tuple, self._tokenizer.sources(distinct)), strict=True))
        for text, tokens in tokens_by_text.items():
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {text!r}")
            if self._limits.source is not None and len(tokens) > self._limits.source:
                raise ModelError(
                    f"{self.id}: a source of {len(tokens):,} tokens is longer than the {self._limits.source:,} that "
                    f"the model takes: {text[:60]!r}…"
                )
        return [tokens_by_text[text] for text in texts]


def refuse_unused(options: Mapping[str, Any], unused: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse options that have no effect with the given value of the option score."""
    for name, default in unused[options["score"]].items():
        if options[name] != default:
            raise InputError(f"option {name} is of no use with score={options['score']}")
