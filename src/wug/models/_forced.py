"""How probable given tokens are that a decoder would have to write, after its encoder has read a source.

Encoder–decoders of all kinds are asked here. Questions are batched by sources of equal length, so that no source is
filled up; rows of tokens are filled up on the right, where a decoder does not look.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models._hardware import halving
from wug.models.causal.output import Questions, Whole, answer

Floats = npt.NDArray[np.float64]

ROOM = {"cpu": 1 << 13, "cuda": 1 << 16}
"""Tokens, of sources and of what is written, that are computed at a time."""
LOGITS = {"cpu": 1 << 25, "cuda": 1 << 29}
"""Logits that a model computes at a time."""
GAP = {"torch.float64": 1e-9, "torch.float32": 1e-4}
"""Nats by which company in a batch may change a log-probability; half precision is coarser."""
PROBES = ((3, 4), (3, 19), (3, 7))
"""Lengths of the sources and answers with which a model is tried."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Forced:
    """Tokens that follow a source, and which of them are asked."""

    source: tuple[int, ...]
    """What the encoder reads."""
    written: Sequence[int]
    """What the decoder writes, from its start mark on."""
    first: int
    """The first of these that is asked, and all behind it are: each after the source and all before it."""


class Network(Protocol):
    """An encoder–decoder."""

    @property
    def device(self) -> Any:
        """Where it computes."""

    @property
    def dtype(self) -> Any:
        """In what numbers."""

    @property
    def vocabulary(self) -> int:
        """Tokens that can be written."""

    def read(self, sources: Any) -> Any:
        """The memory of sources of equal length, a row each."""

    def write(self, memory: Any, rows: Any, written: Any) -> Any:
        """The states after each token of `written`: (batch, length, any size); `rows` says whose memory each has."""

    def logits(self, states: Any) -> Any:
        """The logits of all tokens in some states, one state a row."""


class Asker:
    """A network, and how much it is asked at a time."""

    def __init__(self, network: Network, tokens: int | None = None, *, longest: int = 1 << 30) -> None:
        """`tokens` are computed at a time; what the network writes has at most `longest`."""
        kind = network.device.type
        self._network = network
        self._tokens = tokens or ROOM.get(kind, ROOM["cpu"])
        self._rows = max(1, LOGITS.get(kind, LOGITS["cpu"]) // network.vocabulary)
        self._filled = self._ignores_company(longest)
        """Whether rows of several lengths stand in one batch."""

    def columns(self, questions: Sequence[Forced], *, distribution: bool = False) -> list[Floats]:
        """For each question the log-probabilities of the tokens asked, in nats: a row of numbers.

        With `distribution` there are three rows, entropies in nats and ranks below.
        """
        found: list[Floats] = [np.empty((3 if distribution else 1, 0))] * len(questions)
        for places in self._batches(questions):
            some = [questions[place] for place in places]
            found_here = self._halved(some, distribution)
            for place, columns in zip(places, found_here, strict=True):
                if np.isnan(columns).any():
                    raise ModelError(
                        "the model answers with values that are no numbers. In half precision that is an overflow: "
                        "use -M dtype=float32. Otherwise its weights are damaged"
                    )
                found[place] = columns
        return found

    def _batches(self, questions: Sequence[Forced]) -> Iterator[list[int]]:
        """Places of questions that are asked together: sources of one length, answers of like lengths."""
        order = [place for place, question in enumerate(questions) if question.first < len(question.written)]
        order.sort(key=lambda n: (len(questions[n].source), len(questions[n].written), questions[n].source))
        batch: list[int] = []
        for place in order:
            question, size = questions[place], len(batch) + 1
            if batch:
                last = questions[batch[-1]]
                alike = len(last.source) == len(question.source) and (
                    self._filled or len(last.written) == len(question.written)
                )
                wide = size * len(question.written)
                if not alike or wide + size * len(question.source) > self._tokens or wide > self._rows:
                    yield batch
                    batch = []
            batch.append(place)
        if batch:
            yield batch

    def _halved(self, questions: Sequence[Forced], distribution: bool) -> list[Floats]:
        def ask(low: int, high: int) -> list[Floats]:
            return self._ask(questions[low:high], distribution)

        def shrink(low: int, high: int) -> str:
            self._tokens = max(1, self._tokens // 2)
            return f"{high - low:,} texts"

        def single(row: int) -> str:
            return f"a text of {len(questions[row].written):,} tokens: use -M dtype=bfloat16, or another --device"

        parts = halving(ask, 0, len(questions), shrink=shrink, single=single)
        return [*chain.from_iterable(parts)]

    def _ask(self, questions: Sequence[Forced], distribution: bool) -> list[Floats]:
        import torch

        network = self._network
        sources = {source: row for row, source in enumerate(dict.fromkeys(q.source for q in questions))}
        width = max(len(question.written) for question in questions) - 1
        # What fills up a row changes nothing before it; its own last token is certainly one that the model knows.
        given = [[*q.written[:-1], *[q.written[-1]] * (width + 1 - len(q.written))] for q in questions]
        places = [np.arange(q.first - 1, len(q.written) - 1) + n * width for n, q in enumerate(questions)]
        targets = np.concatenate([np.asarray(q.written[q.first :], dtype=np.int64) for q in questions])
        flat = np.concatenate(places)
        with torch.inference_mode():
            memory = network.read(torch.tensor(list(sources), device=network.device))
            rows = torch.tensor([sources[q.source] for q in questions], device=network.device)
            states = network.write(memory, rows, torch.tensor(given, device=network.device))
            states = states.reshape(-1, states.shape[-1])
            parts = [
                self._answers(network.logits(states[self._send(flat[low : low + self._rows])]), asked, distribution)
                for low in range(0, len(flat), self._rows)
                for asked in [targets[low : low + self._rows]]
            ]
        columns = np.concatenate(parts, axis=1)
        return np.split(columns, np.cumsum([len(some) for some in places])[:-1], axis=1)

    def _answers(self, logits: Any, targets: npt.NDArray[np.int64], distribution: bool) -> Floats:
        every = np.arange(len(targets))
        output = Whole(self._network.device, self._network.vocabulary)
        found = answer(output, logits, Questions(every, every, targets, (), distribution), self._send)
        more = (found.entropies, found.ranks) if distribution else ()
        return np.stack([column.double().cpu().numpy() for column in (found.values, *more)])

    def _send(self, numbers: npt.NDArray[np.int64]) -> Any:
        import torch

        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._network.device)

    def _ignores_company(self, longest: int) -> bool:
        """Whether rows that are filled up get the same numbers as alone; tried with a few."""
        draw = np.random.default_rng(0)
        most = min(self._network.vocabulary, 1000)
        asked = [
            Forced(
                tuple(draw.integers(most, size=min(source, longest)).tolist()),
                draw.integers(most, size=min(written, longest)).tolist(),
                1,
            )
            for source, written in PROBES
        ]
        together = self._ask(asked, False)
        alone = [self._ask([question], False)[0] for question in asked]
        gap = max(float(np.abs(one - other).max()) for one, other in zip(together, alone, strict=True))
        if gap <= GAP.get(str(self._network.dtype), 0.1):
            return True
        log.warning(
            "the model is asked in batches of equal length, which is slower: filled-up rows change its numbers by %.2g",
            gap,
        )
        return False
