"""The one wrapper between a suite and a backend: cache, chunks, warnings and progress."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from wug.evaluation.cache import Cache
from wug.evaluation.codecs import ScoreCodec, TextCodec, texts_in
from wug.evaluation.handle import ModelHandle
from wug.scores import Scores, Texts
from wug.types import Answer, Notice, Request, Scored, Source

SCORING_VERSION = 4
"""The version of the code that computes outputs: raise it whenever an output of any backend could change."""
CHUNK_REQUESTS = 16_384
"""Requests that a suite sends at a time."""
CHUNKS_PER_GROUP = 8
"""Chunks of the model, each a few seconds' work, that are computed before suites are judged."""
EXAMPLE_CHARACTERS = 80
"""Characters of a request that a warning quotes."""

Requests = Sequence[Request] | Sequence[str | Source]
Progress = Callable[[int, int], None]
"""Called with the number of requests done and the number known so far."""


class CachedModel:
    """A model whose outputs go through the cache; what is missing is computed in sorted chunks.

    Chunks depend only on what is missing, and those stored before a kill are the first ones: a resumed run computes the
    same chunks as an unbroken one, and ends with the same numbers to the last digit.
    """

    def __init__(self, handle: ModelHandle, cache: Cache | None = None, progress: Progress | None = None) -> None:
        self.handle = handle
        self.id, self.options, self.returns = handle.id, handle.options, handle.returns
        self.bounded = handle.returns == "text"
        """Sources with a length bound are accepted; the backend gets the bound if it can use it."""
        self.ordered = handle.ordered
        self.training_context = handle.training_context
        self.computed = 0
        """Requests sent to the model rather than found in the cache."""
        self.total = 0
        """Distinct requests known so far."""
        self.done = 0
        """Those of them with an output."""
        self._cache = cache if cache is not None and handle.cacheable else Cache()
        self._progress = progress or (lambda done, total: None)
        self._key = cache_key(handle.returns, handle.id, handle.options, handle.given)
        self._codec: Any = ScoreCodec(handle) if handle.returns == "scores" else TextCodec(handle)
        self._complete = False
        self._prepared: tuple[object, list[bytes], list[int] | None] = (None, [], None)
        """The requests that were prepared last, their keys, and the positions of those that are missing."""
        self._outputs = 0
        self._warnings: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    @property
    def chunk(self) -> int:
        """How many requests a suite should send at a time; the backend gets them in chunks of its own."""
        return self.handle.chunk if self.ordered else CHUNK_REQUESTS

    @property
    def group(self) -> int:
        """How many requests are worth computing together: about half a minute's work."""
        return CHUNKS_PER_GROUP * self.handle.chunk if self.handle.is_loaded else CHUNK_REQUESTS

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
        """How many distinct requests the cache cannot answer."""
        return len(self._cache.missing(self._key, self._codec.keys(requests)))

    def prepare(self, requests: Requests) -> None:
        """Count the requests of a run, and load the model if the cache cannot answer all of them."""
        if self.ordered:
            self.total += len(requests)
            return
        keys = self._codec.keys(requests)
        missing = self._cache.missing(self._key, keys)
        distinct = len(set(keys))
        self.total, self.done = self.total + distinct, self.done + distinct - len(missing)
        self._complete = not missing
        if missing:
            self._prepared = (requests, keys, missing)
            _ = self.handle.backend

    def prefetch(self, requests: Requests) -> None:
        """Compute the outputs of requests that `prepare` counted, before a suite asks for them one group at a time."""
        if not self._complete:
            (known, keys, missing), self._prepared = self._prepared, (None, [], None)
            if known is not requests:
                keys, missing = self._codec.keys(requests), None
            self._compute(requests, keys, missing)
        self._progress(self.done, self.total)

    def pop_warnings(self) -> Iterator[Notice]:
        """What the model reported about the outputs since this was last called, with counts and an example."""
        outputs, warnings, self._outputs, self._warnings = self._outputs, self._warnings, 0, Counter()
        for text, times in warnings.items():
            yield Notice(f"{times:,} of {outputs:,} answers {text} (such as to {self._examples[text]!r})")
        self._examples = {}

    def _from_cache(self, requests: Any) -> Any:
        keys = self._codec.keys(requests)
        while None in (values := self._cache.read(self._key, keys)):
            missing = self._cache.missing(self._key, keys)  # not requested before, or damaged
            self.total += len(missing)
            self._compute(requests, keys, missing)
        self._progress(self.done, self.total)
        return self._codec.decode(requests, values)

    def _compute(self, requests: Any, keys: Sequence[bytes], missing: list[int] | None) -> None:
        """Have the model answer what the cache cannot, and store each chunk before the next is computed."""
        if missing is None:
            missing = self._cache.missing(self._key, keys)
        self._progress(self.done, self.total)
        missing.sort(key=lambda position: self._codec.sort_key(requests[position]))
        size = self.handle.chunk if missing else 1
        for first in range(0, len(missing), size):
            some = missing[first : first + size]
            chunk = requests.take(some) if isinstance(requests, Texts) else [requests[position] for position in some]
            rows = zip((keys[position] for position in some), self._codec.compute(chunk), strict=True)
            self._cache.write(self._key, self.id, list(rows))
            self.computed += len(some)
            self._count(len(some))

    def _count(self, outputs: int) -> None:
        self.done += outputs
        self.total = max(self.total, self.done)
        self._progress(self.done, self.total)

    def _collect(self, requests: Any, outputs: Sequence[Any]) -> None:
        """Count the warnings that came with outputs."""
        self._outputs += len(outputs)
        each = enumerate(output.notices for output in outputs)
        found = sorted(outputs.notices.items()) if isinstance(outputs, Scores) else each
        for position, warnings in found:
            for text in warnings:
                self._warnings[text] += 1
                if text not in self._examples:
                    self._examples[text] = texts_in([requests[position]])[0][:EXAMPLE_CHARACTERS]


def cache_key(returns: str, model: str, options: Mapping[str, str], given: Mapping[str, str]) -> bytes:
    """The key under which the cache holds the outputs of a model: its identity and every option that was given."""
    verb = "score" if returns == "scores" else "generate"
    content = json.dumps([SCORING_VERSION, verb, model, sorted(options.items()), sorted(given.items())])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()
