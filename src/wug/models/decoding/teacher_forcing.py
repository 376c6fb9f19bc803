"""Log-probabilities of given tokens, written by a decoder after its encoder has read a source.

Requests are batched by sources of equal length, so that no source is padded; rows of written tokens are padded on the
right, where a decoder does not look.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np
import torch

from wug.models.causal.logprobs import LogitSource, LogprobQuery, compute_logprobs
from wug.models.decoding.conditional_scoring import Floats, ForcedTarget
from wug.models.huggingface.devices import halving, nan_error
from wug.models.tokenization.ragged import Ints

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

    def write(self, memory: Any, rows: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
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
        found: list[Floats] = [np.empty((3 if distribution else 1, 0))] * len(targets)
        for places in self._batches(targets):
            batch = self._halved([targets[place] for place in places], distribution)
            for place, columns in zip(places, batch, strict=True):
                if np.isnan(columns).any():
                    raise nan_error("the model")
                found[place] = columns
        return found

    def _batches(self, targets: Sequence[ForcedTarget]) -> Iterator[list[int]]:
        """Targets that share a batch: sources of one length, answers of similar length."""
        order = [place for place, target in enumerate(targets) if target.first < len(target.written)]
        order.sort(key=lambda n: (len(targets[n].source), len(targets[n].written), targets[n].source))
        batch: list[int] = []
        for place in order:
            target, size = targets[place], len(batch) + 1
            if batch:
                last = targets[batch[-1]]
                fits = len(last.source) == len(target.source) and (
                    self._padded or len(last.written) == len(target.written)
                )
                width = size * len(target.written)
                if not fits or width + size * len(target.source) > self._tokens or width > self._rows:
                    yield batch
                    batch = []
            batch.append(place)
        if batch:
            yield batch

    def _halved(self, targets: Sequence[ForcedTarget], distribution: bool) -> list[Floats]:
        def compute(low: int, high: int) -> list[Floats]:
            return self._compute(targets[low:high], distribution)

        longest = max(len(target.written) for target in targets)
        parts = halving(compute, 0, len(targets), lambda low, high: f"{(high - low) * longest:,} tokens")
        if len(parts) > 1:
            self._tokens = max(1, self._tokens // len(parts))
        return [*chain.from_iterable(parts)]

    def _compute(self, targets: Sequence[ForcedTarget], distribution: bool) -> list[Floats]:
        network = self._network
        sources = {source: row for row, source in enumerate(dict.fromkeys(t.source for t in targets))}
        width = max(len(target.written) for target in targets) - 1
        # Padding changes nothing before it; the last token of a row is certainly one that the model knows.
        given = [[*t.written[:-1], *[t.written[-1]] * (width + 1 - len(t.written))] for t in targets]
        places = [np.arange(t.first - 1, len(t.written) - 1) + n * width for n, t in enumerate(targets)]
        tokens = np.concatenate([np.asarray(t.written[t.first :], dtype=np.int64) for t in targets])
        flat = np.concatenate(places)
        with torch.inference_mode():
            memory = network.read(torch.tensor(list(sources), device=network.device))
            rows = torch.tensor([sources[t.source] for t in targets], device=network.device)
            states = network.write(memory, rows, torch.tensor(given, device=network.device))
            states = states.reshape(-1, states.shape[-1])
            parts = []
            for low in range(0, len(flat), self._rows):
                here = slice(low, low + self._rows)
                parts.append(self._logprobs(network.logits(states[self._send(flat[here])]), tokens[here], distribution))
        return np.split(np.concatenate(parts, axis=1), np.cumsum([len(some) for some in places])[:-1], axis=1)

    def _logprobs(self, logits: torch.Tensor, tokens: Ints, distribution: bool) -> Floats:
        every = np.arange(len(tokens))
        source = LogitSource(self._network.device, self._network.vocabulary)
        found = compute_logprobs(source, logits, LogprobQuery(every, every, tokens, (), distribution), self._send)
        more = (found.entropies, found.ranks) if distribution else ()
        return np.stack([column.double().cpu().numpy() for column in (found.values, *more)])

    def _send(self, numbers: Ints) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._network.device)

    def _accepts_padding(self, max_length: int) -> bool:
        """Whether padded rows get the same numbers as alone; if not, with a warning."""
        draw = np.random.default_rng(0)
        vocabulary = min(self._network.vocabulary, 1000)
        targets = []
        for source, written in PROBE_LENGTHS:
            tokens = tuple(draw.integers(vocabulary, size=min(source, max_length)).tolist())
            targets.append(ForcedTarget(tokens, draw.integers(vocabulary, size=min(written, max_length)).tolist(), 1))
        together = self._compute(targets, False)
        alone = [self._compute([target], False)[0] for target in targets]
        gap = max(float(np.abs(one - other).max()) for one, other in zip(together, alone, strict=True))
        if gap <= MAX_GAP_NATS.get(str(self._network.dtype), 0.1):
            return True
        log.warning("the model is scored in batches of equal length, which is slower: padding changes it by %.2g", gap)
        return False
