"""The model that a suite gets: cached, computed in chunks, with warnings and progress."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wug.arrays import Indices
from wug.evaluation.cache import KEY_BYTES, Cache
from wug.evaluation.codecs import ScoreCodec, TextCodec
from wug.evaluation.handle import ModelHandle
from wug.outcomes import Notice
from wug.requests import Answer, ChatFormat, Request, Scored, Source, text_of
from wug.scores import PlainRequests, Scores

SCORING_VERSION = 5
"""The version of the code that computes outputs: raise it whenever an output of any backend could change."""
CHUNK_REQUESTS = 16_384
"""Requests that a suite should send at a time."""
CHUNKS_PER_GROUP = 8
"""Chunks of the model, each a few seconds of work, computed before suites are judged."""
EXAMPLE_CHARACTERS = 80
"""Characters of a request that a warning quotes."""

Requests = Sequence[Request] | Sequence[str | Source]
Progress = Callable[[int, int], None]
"""Called with the number of requests done and the number known so far."""


@dataclass(slots=True)
class _PreparedRequests:
    """Requests that were counted before a run, with their keys; suites mostly send them in this order."""

    requests: Requests | None = None
    keys: bytes = b""
    missing: Indices | None = None
    """The positions of those without an output, until they are computed."""
    all_cached: bool = False
    """Whether all had an output when they were counted."""
    sent: int = 0
    """The number of requests that suites have sent since."""

    @property
    def all_sent(self) -> bool:
        """Whether suites have sent all of them; False if there are none."""
        return self.requests is not None and self.sent >= len(self.requests)

    def clear(self) -> None:
        """Free the memory of the requests and keys."""
        self.requests, self.keys = None, b""

    def next_keys(self, requests: Requests) -> bytes:
        """The keys of requests that are the next of these; empty if they are others."""
        next_texts = slice(self.sent, self.sent + len(requests))
        if not isinstance(self.requests, PlainRequests) or not isinstance(requests, PlainRequests):
            return b""
        if self.requests.texts[next_texts] != requests.texts:
            return b""
        return self.keys[KEY_BYTES * next_texts.start : KEY_BYTES * next_texts.stop]

    def pop_missing(self, requests: Requests) -> Indices | None:
        """The positions without an output, the first time that they are needed; None if they are not known."""
        missing, self.missing = self.missing, None
        return missing if requests is self.requests else None


class CachedModel:
    """A model whose outputs go through the cache; missing outputs are computed in sorted chunks.

    Chunks depend only on what is missing, and a killed run has stored the first ones. So a resumed run computes the
    same chunks as an uninterrupted one, and its numbers are identical. Each output of a server is stored when it
    arrives.
    """

    def __init__(self, handle: ModelHandle, cache: Cache | None = None, progress: Progress | None = None) -> None:
        self.handle = handle
        self.id = handle.id
        self.options = handle.options
        self.returns = handle.returns
        self.bounded = handle.returns == "text"
        """Sources with a length bound are accepted; the backend gets the bound if it can use it."""
        self.ordered = handle.ordered
        self.training_context = handle.training_context
        self.computed = 0
        """Requests sent to the model rather than found in the cache."""
        self.total = 0
        """Distinct requests known so far."""
        self.done = 0
        """Distinct requests with an output."""
        self._cache = cache if cache is not None and handle.cacheable else Cache()
        self._progress = progress or (lambda done, total: None)
        self._key = cache_key(handle.returns, handle.id, handle.options, handle.given)
        self._codec: Any = ScoreCodec() if handle.returns == "scores" else TextCodec(bounded=handle.bounded)
        self._prepared = _PreparedRequests()
        self._outputs = 0
        self._warnings: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    @property
    def chunk(self) -> int:
        """Requests that a suite should send at a time; the backend gets them in its own chunks."""
        return self.handle.chunk if self.ordered else CHUNK_REQUESTS

    @property
    def noise(self) -> float | None:
        """How far rounding moves the log-probability of a sentence, in nats, as last measured; None if negligible."""
        if self.handle.is_loaded and self.handle.noise is not None:
            self._cache.set_noise(self._key, self.id, self.handle.noise)
        return self._cache.noise(self._key)

    @property
    def group(self) -> int:
        """Requests to compute together: about half a minute of work."""
        return CHUNKS_PER_GROUP * self.handle.chunk if self.handle.is_loaded else CHUNK_REQUESTS

    @property
    def chat(self) -> ChatFormat | None:
        """How the model reads something before a text; None for a model that cannot."""
        return self.handle.chat

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One scored text per request, in order."""
        if self.ordered:  # outputs that depend on those before them cannot be cached
            outputs = self.handle.score(requests)
            self._count(len(requests))
        else:
            outputs = self._from_cache(requests)
        self._collect(requests, outputs)
        return outputs

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One output per source, in order."""
        outputs: list[Answer] = self._from_cache(sources)
        self._collect(sources, outputs)
        return outputs

    def missing(self, requests: Requests) -> int:
        """The number of distinct requests without an output in the cache."""
        return len(self._cache.missing(self._key, self._codec.keys(requests))[0])

    def prepare(self, requests: Requests) -> None:
        """Count the requests of a run, and load the model unless all outputs are cached."""
        if self.ordered:
            self.total += len(requests)
            return
        keys = self._codec.keys(requests)
        missing, distinct = self._cache.missing(self._key, keys)
        self.total, self.done = self.total + distinct, self.done + distinct - len(missing)
        self._prepared = _PreparedRequests(requests, keys, missing, all_cached=not len(missing))
        if len(missing):
            _ = self.handle.model

    def prefetch(self, requests: Requests) -> None:
        """Compute the outputs of requests that `prepare` counted, before a suite sends them."""
        if not self._prepared.all_cached:
            self._compute(requests, self._keys(requests), self._prepared.pop_missing(requests))
        self._progress(self.done, self.total)

    def pop_warnings(self) -> list[Notice]:
        """The model's notices about outputs since the last call, with counts and an example."""
        of = f"{self._outputs:,} outputs"
        notices = [
            Notice(f"{times:,} of {of} {text} (for example for {self._examples[text]!r})")
            for text, times in self._warnings.items()
        ]
        self._outputs = 0
        self._warnings.clear()
        self._examples.clear()
        return notices

    def _from_cache(self, requests: Any) -> Any:
        keys = self._keys(requests)
        self._prepared.sent += len(requests)
        while None in (values := self._cache.read(self._key, keys)):
            missing, _ = self._cache.missing(self._key, keys)  # not requested before, or damaged
            self.total += len(missing)
            self._compute(requests, keys, missing)
        if self._prepared.all_sent:
            self._prepared.clear()
            self._cache.release(self._key)
        self._progress(self.done, self.total)
        return self._codec.decode(requests, values)

    def _keys(self, requests: Requests) -> bytes:
        keys: bytes = self._prepared.next_keys(requests) or self._codec.keys(requests)
        return keys

    def _compute(self, requests: Any, keys: bytes, missing: Indices | None) -> None:
        """Compute missing outputs, and store each chunk before the next is computed."""
        if missing is None:
            missing, _ = self._cache.missing(self._key, keys)
        self._progress(self.done, self.total)
        plain = isinstance(requests, PlainRequests)
        sort_key = requests.texts.__getitem__ if plain else lambda at: self._codec.sort_key(requests[at])
        # In the order of a file, texts are often sorted in part; sorting them then takes a tenth of the time.
        missing = np.array(sorted((np.sort(missing) if plain else missing).tolist(), key=sort_key), np.intp)
        by_position = np.frombuffer(keys, f"V{KEY_BYTES}")
        size = self.handle.chunk if len(missing) else 1
        for first in range(0, len(missing), size):
            selected = missing[first : first + size].tolist()
            chunk = requests.take(selected) if plain else [requests[position] for position in selected]
            names = by_position[selected].tolist()
            for positions, outputs in self.handle.stream(chunk):
                values = self._codec.encode(outputs)
                rows = list(zip(map(names.__getitem__, positions), values, strict=True))
                self._cache.write(self._key, self.id, rows)
                self.computed += len(rows)
                self._count(len(rows))

    def _count(self, outputs: int) -> None:
        self.done += outputs
        self.total = max(self.total, self.done)
        self._progress(self.done, self.total)

    def _collect(self, requests: Any, outputs: Sequence[Any]) -> None:
        """Count the notices of outputs."""
        self._outputs += len(outputs)
        each = enumerate(output.notices for output in outputs)
        by_position = sorted(outputs.notices.items()) if isinstance(outputs, Scores) else each
        for position, warnings in by_position:
            for text in warnings:
                self._warnings[text] += 1
                if text not in self._examples:
                    self._examples[text] = text_of(requests[position])[:EXAMPLE_CHARACTERS]


def cache_key(returns: str, model: str, options: Mapping[str, str], given: Mapping[str, str]) -> bytes:
    """The key of a model in the cache: its identity and every option that was given."""
    verb = "score" if returns == "scores" else "generate"
    content = json.dumps([SCORING_VERSION, verb, model, sorted(options.items()), sorted(given.items())])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()
