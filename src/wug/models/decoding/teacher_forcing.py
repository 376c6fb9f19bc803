"""Texts scored as the answers of an encoder–decoder: each token given a source and the tokens before it.

Requests are batched by sources of equal length, so that no source is padded; rows of written tokens are padded on the
right, where a decoder does not look.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wug.arrays import Floats, Ints
from wug.errors import InputError, ModelError
from wug.models.hardware import compute_in_halves, nan_error
from wug.models.spec import EOS
from wug.models.tokenization.sliding_windows import passages, refuse_long, to_the_left, window_size
from wug.models.tokenization.tokens import TokenizedTexts, score_by
from wug.options import Option
from wug.requests import Request, TextScoring
from wug.scores import Scores, texts_of

if TYPE_CHECKING:
    import torch

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
class ScorerInfo:
    """What a scorer needs besides its network."""

    id: str
    options: Mapping[str, str]
    chunk: int
    lead: Sequence[int]
    """The tokens before every text: the start token, and perhaps a language."""
    source_limit: int | None = None
    """Maximum number of tokens of a source; None if there is none."""
    target_limit: int | None = None
    window: int | None = None
    """Default number of tokens per window of a running text; None: the whole text."""


class SourceScorer:
    """An encoder–decoder that scores texts as answers to a source."""

    ordered = False

    def __init__(self, info: ScorerInfo, tokenizer: ScoringTokenizer, forcing: TeacherForcing, source: str) -> None:
        self.id, self.options, self.chunk = info.id, info.options, info.chunk
        self._info, self._source = info, source
        self._tokenizer, self._forcing = tokenizer, forcing

    def score(self, requests: Sequence[Request]) -> Scores:
        """One output per request, in order, in nats."""
        return score_by(lambda request: request.scoring, requests, self._score)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return self._tokenizer.words(texts)

    def _score(self, requests: Sequence[Request], scoring: TextScoring | None) -> Scores:
        texts = self._tokenizer.answers(requests)
        sources, special = self._sources(requests), len(self._info.lead)
        windows = None
        if scoring is None:
            refuse_long(texts.ids, self._info.target_limit, texts_of(requests), self.id, special)
        else:
            size = window_size(scoring, self._info.target_limit or self._info.window, special, self.id)
            windows = passages(texts.ids, *size, to_the_left)
        tokens = texts.ids if windows is None else windows.tokens
        where = np.arange(len(tokens.flat)) if windows is None else windows.where
        # For each window, the index of each of its tokens in the texts; -1 if it is read but not scored.
        window_tokens = np.split(where, np.cumsum(tokens.lengths)[:-1]) if len(tokens) else []
        text_indices = range(len(requests)) if windows is None else windows.texts.tolist()
        targets = [
            ForcedTarget(sources[text], [*self._info.lead, *ids], special + int((indices < 0).sum()))
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
        limit = self._info.source_limit
        for text, tokens in tokens_by_text.items():
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {text!r}")
            if limit is not None and len(tokens) > limit:
                raise ModelError(
                    f"{self.id}: a source of {len(tokens):,} tokens is longer than the {limit:,} that "
                    f"the model takes: {text[:60]!r}…"
                )
        return [tokens_by_text[text] for text in texts]


def refuse_unused(options: Mapping[str, Any], unused: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse options that have no effect with the given value of the option score."""
    for name, default in unused[options["score"]].items():
        if options[name] != default:
            raise InputError(f"option {name} is of no use with score={options['score']}")


BATCH_TOKENS = {"cpu": 1 << 13, "cuda": 1 << 16}
MAX_LOGITS = {"cpu": 1 << 25, "cuda": 1 << 29}
"""Logits that a model computes at a time."""
MAX_GAP_NATS = {"torch.float64": 1e-9, "torch.float32": 1e-4}
"""By dtype, how far padding may change a log-probability; 0.1 in half precision."""
PROBE_LENGTHS = ((3, 4), (3, 19), (3, 7))
"""Tokens of the sources and answers of the self-test."""

log = logging.getLogger("wug")


class EncoderDecoder(Protocol):
    """A network that scores answers."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""

    @property
    def dtype(self) -> torch.dtype:
        """In which numbers."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""

    def read(self, sources: torch.Tensor) -> Any:
        """Encode sources of equal length, one per row."""

    def write(self, memory: Any, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """The states after each written token: (batch, length, any size); `rows` says which source each row has."""

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """The logits of some states, one per row."""


class TeacherForcing:
    """Scores given answers in batches."""

    def __init__(self, network: EncoderDecoder, tokens: int | None = None, *, max_length: int = 1 << 30) -> None:
        """`tokens` are computed at a time; the network writes at most `max_length`."""
        kind = network.device.type
        self._network = network
        self._tokens = tokens or BATCH_TOKENS.get(kind, BATCH_TOKENS["cpu"])
        self._rows = max(1, MAX_LOGITS.get(kind, MAX_LOGITS["cpu"]) // network.vocabulary)
        self._padded = self._accepts_padding(max_length)

    def columns(self, targets: Sequence[ForcedTarget], *, distribution: bool = False) -> list[Floats]:
        """For each target the log-probabilities in nats of its scored tokens, as one row.

        With `distribution` there are three rows: entropies in nats and ranks follow.
        """
        results: list[Floats] = [np.empty((3 if distribution else 1, 0))] * len(targets)
        for indices in self._batches(targets):
            batch = self._halved([targets[index] for index in indices], distribution)
            for index, columns in zip(indices, batch, strict=True):
                if np.isnan(columns).any():
                    raise nan_error("the model")
                results[index] = columns
        return results

    def _batches(self, targets: Sequence[ForcedTarget]) -> Iterator[list[int]]:
        """Targets that share a batch: sources of one length, answers of similar length."""
        order = [index for index, target in enumerate(targets) if target.first_scored < len(target.tokens)]
        order.sort(key=lambda n: (len(targets[n].source), len(targets[n].tokens), targets[n].source))
        batch: list[int] = []
        for index in order:
            target, size = targets[index], len(batch) + 1
            if batch:
                previous = targets[batch[-1]]
                fits = len(previous.source) == len(target.source) and (
                    self._padded or len(previous.tokens) == len(target.tokens)
                )
                width = size * len(target.tokens)
                if not fits or width + size * len(target.source) > self._tokens or width > self._rows:
                    yield batch
                    batch = []
            batch.append(index)
        if batch:
            yield batch

    def _halved(self, targets: Sequence[ForcedTarget], distribution: bool) -> list[Floats]:
        def compute(low: int, high: int) -> list[Floats]:
            return self._compute(targets[low:high], distribution)

        longest = max(len(target.tokens) for target in targets)
        results = compute_in_halves(compute, range(len(targets)), longest, "tokens")
        if len(results) > 1:
            self._tokens = max(1, self._tokens // len(results))
        return [*chain.from_iterable(results)]

    def _compute(self, targets: Sequence[ForcedTarget], distribution: bool) -> list[Floats]:
        import torch

        network = self._network
        sources = {source: row for row, source in enumerate(dict.fromkeys(target.source for target in targets))}
        width = max(len(target.tokens) for target in targets) - 1
        # Padding changes nothing before it; the last token of a row is certainly one that the model knows.
        decoder_inputs = []
        positions, scored_tokens = [], []
        for row, target in enumerate(targets):
            padding = [target.tokens[-1]] * (width + 1 - len(target.tokens))
            decoder_inputs.append([*target.tokens[:-1], *padding])
            positions.append(np.arange(target.first_scored - 1, len(target.tokens) - 1) + row * width)
            scored_tokens.append(np.asarray(target.tokens[target.first_scored :], dtype=np.int64))
        tokens, flat = np.concatenate(scored_tokens), np.concatenate(positions)
        with torch.inference_mode():
            memory = network.read(torch.tensor(list(sources), device=network.device))
            rows = torch.tensor([sources[target.source] for target in targets], device=network.device)
            states = network.write(memory, rows, torch.tensor(decoder_inputs, device=network.device))
            states = states.reshape(-1, states.shape[-1])
            blocks = []
            for low in range(0, len(flat), self._rows):
                block = slice(low, low + self._rows)
                logits = network.logits(states[self._send(flat[block])])
                blocks.append(self._logprobs(logits, tokens[block], distribution))
        return np.split(np.concatenate(blocks, axis=1), np.cumsum([*map(len, positions)])[:-1], axis=1)

    def _logprobs(self, logits: torch.Tensor, tokens: Ints, distribution: bool) -> Floats:
        from wug.models.decoding.logprobs import LogitSource, LogprobQuery, compute_logprobs

        rows = np.arange(len(tokens))
        source = LogitSource(self._network.device, self._network.vocabulary)
        result = compute_logprobs(source, logits, LogprobQuery(rows, rows, tokens, (), distribution), self._send)
        extra = (result.entropies, result.ranks) if distribution else ()
        return np.stack([column.double().cpu().numpy() for column in (result.values, *extra)])

    def _send(self, numbers: Ints) -> torch.Tensor:
        import torch

        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._network.device)

    def _accepts_padding(self, max_length: int) -> bool:
        """Whether padded rows get the same numbers as alone; if not, with a warning."""
        generator = np.random.default_rng(0)
        vocabulary = min(self._network.vocabulary, 1000)
        targets = []
        for source_length, answer_length in PROBE_LENGTHS:
            source = tuple(generator.integers(vocabulary, size=min(source_length, max_length)).tolist())
            answer = generator.integers(vocabulary, size=min(answer_length, max_length)).tolist()
            targets.append(ForcedTarget(source, answer, 1))
        batched = self._compute(targets, False)
        alone = [self._compute([target], False)[0] for target in targets]
        gap = max(float(np.abs(row - single).max()) for row, single in zip(batched, alone, strict=True))
        if gap <= MAX_GAP_NATS.get(str(self._network.dtype), 0.1):
            return True
        log.warning("the model is scored in batches of equal length, which is slower: padding changes it by %.2g", gap)
        return False
