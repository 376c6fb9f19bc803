"""A model behind the answer cache: what is missing is asked in sorted chunks, each kept before the next.

The key is a digest of the model's identity, the version of the scoring code, every option that the user gave, and
the request.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from wug.runs.cache import Cache
from wug.runs.deferred import Deferred
from wug.types import Answer, Generator, Request, Scored, Scorer, Source, text_of

SCORING = 2
"""The version of the code that makes answers: raise it whenever an answer of any backend could change."""
CHUNK = 1024
"""Questions at a time, as long as only the cache is asked."""

Question = TypeVar("Question", Request, str | Source)
Reply = TypeVar("Reply", Scored, Answer)
Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""


@dataclass(frozen=True, slots=True)
class Codec(Generic[Question, Reply]):
    """How questions become keys and replies become bytes."""

    verb: str
    """What is asked of the model."""
    key: Callable[[Question], bytes]
    pack: Callable[[Reply], bytes]
    unpack: Callable[[Question, bytes], Reply]


class Remembered(Generic[Question, Reply]):
    """A model whose replies go through the cache.

    The chunks depend only on what is missing, and those that were kept before a kill are the first ones: so a
    resumed run asks in the very chunks of an unbroken one, and ends with the same numbers to the last digit.
    """

    def __init__(
        self,
        model: Scorer | Generator,
        ask: Callable[[Sequence[Question]], Sequence[Reply]],
        codec: Codec[Question, Reply],
        cache: Cache | None,
        progress: Progress,
        given: Mapping[str, str] | None,
    ) -> None:
        self.id, self.options = model.id, model.options
        self.ordered: bool = getattr(model, "ordered", False)
        self._model = model
        self._ask: Callable[[Sequence[Question]], Sequence[Reply]] = ask
        self._codec: Codec[Question, Reply] = codec
        self._cache, self._progress = cache, progress
        self._start = hashlib.blake2b(
            identity(codec.verb, model.id, model.options, given or {}).encode(), digest_size=16
        )
        self._memory: dict[bytes, bytes | Reply] = {}
        """Replies as the cache has them, which takes a quarter of the room; without a cache, as the model gave them."""
        self.asked = 0
        """Questions put to the model, rather than found in the cache."""

    @property
    def chunk(self) -> int:
        """How many questions it likes at a time; those that the cache answers need no model to say so."""
        known = not isinstance(self._model, Deferred) or self._model.is_loaded
        return self._model.chunk if known else CHUNK

    @property
    def failed(self) -> bool:
        """Whether the model could not be loaded when it was needed."""
        return isinstance(self._model, Deferred) and self._model.failed

    def prepare(self, questions: Sequence[Question]) -> None:
        """Load a model that is not loaded yet, if it has to answer any of these questions."""
        if isinstance(self._model, Deferred) and self._recall(self._new(map(self._codec.key, questions), questions)):
            self._model.loaded()

    def obtain(self, questions: Sequence[Question]) -> list[bytes]:
        """Have a reply to each question, from the cache or from the model; the keys of the questions come back."""
        keys = list(map(self._codec.key, questions))
        wanted = self._new(keys, questions)
        missing = self._recall(wanted)
        done = len(wanted) - len(missing)
        self._progress(done, len(wanted))
        size = self._model.chunk if missing else CHUNK
        for first in range(0, len(missing), size):
            some = missing[first : first + size]
            found = self._ask([wanted[key] for key in some])
            if self._cache is None:
                self._memory.update(zip(some, found, strict=True))
            else:
                packed = dict(zip(some, map(self._codec.pack, found), strict=True))
                self._cache.write([(self._digest(key), data) for key, data in packed.items()])
                self._memory.update(packed)
            self.asked += len(some)
            done += len(some)
            self._progress(done, len(wanted))
        return keys

    def replies(self, questions: Sequence[Question]) -> list[Reply]:
        """One reply for each question, in order."""
        unpack = self._codec.unpack
        kept = map(self._memory.__getitem__, self.obtain(questions))
        return [unpack(q, data) if isinstance(data, bytes) else data for q, data in zip(questions, kept, strict=True)]

    def _new(self, keys: Iterable[bytes], questions: Sequence[Question]) -> dict[bytes, Question]:
        """The questions without a reply as yet, each once."""
        return {key: question for key, question in zip(keys, questions, strict=True) if key not in self._memory}

    def _recall(self, wanted: Iterable[bytes]) -> list[bytes]:
        """Take what the cache has; what it has not comes back, in order."""
        keys = sorted(wanted)
        if self._cache is None:
            return keys
        digests = list(map(self._digest, keys))
        found = self._cache.read(sorted(digests))  # in the order of the file, so that each page of it is read once
        missing = []
        for key, digest in zip(keys, digests, strict=True):
            data = found.get(digest)
            if data is None:
                missing.append(key)
            else:
                self._memory[key] = data
        return missing

    def _digest(self, key: bytes) -> bytes:
        digest = self._start.copy()
        digest.update(key)
        return digest.digest()


class RememberedScorer(Remembered[Request, Scored]):
    """A scorer whose answers go through the cache."""

    def __init__(
        self, model: Scorer, cache: Cache | None, progress: Progress, given: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(model, model.score, _SCORED, cache, progress, given)

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One answer for each request, in order."""
        # Where an answer depends on those before it, none can be kept for another occasion.
        return self._ask(requests) if self.ordered else self.replies(requests)


class RememberedGenerator(Remembered[str | Source, Answer]):
    """A generator whose answers go through the cache.

    Of one that takes no notice of how long a right answer can be, the answer to a source is the same whatever the
    suite knows, and is kept as such.
    """

    bounded = True

    def __init__(
        self, model: Generator, cache: Cache | None, progress: Progress, given: Mapping[str, str] | None = None
    ) -> None:
        bounded: bool = getattr(model, "bounded", False)

        def ask(sources: Sequence[str | Source]) -> list[Answer]:
            asked: Any = sources if bounded else list(map(text_of, sources))
            return [Answer(answer) if isinstance(answer, str) else answer for answer in model.generate(asked)]

        codec = _ANSWER if bounded else replace(_ANSWER, key=lambda source: _text_bytes(text_of(source)))
        super().__init__(model, ask, codec, cache, progress, given)

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One answer for each source, in order."""
        return self.replies(sources)


def identity(verb: str, model: str, options: Mapping[str, str], given: Mapping[str, str]) -> str:
    """What an answer depends on beside the question."""
    return json.dumps([SCORING, verb, model, sorted(options.items()), sorted(given.items())])


def _text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _request_bytes(request: Request) -> bytes:
    span = "" if request.span is None else f"{request.span[0]}:{request.span[1]}"
    return _text_bytes(f"{request.text}\0{span}")


def _source_bytes(source: str | Source) -> bytes:
    return _text_bytes(source if isinstance(source, str) else f"{source.text}\0{source.most}")


def _pack_answer(answer: Answer) -> bytes:
    """The length of the text, the text, and the notices, if any, as JSON."""
    text = _text_bytes(answer.text)
    return struct.pack("<I", len(text)) + text + (json.dumps(answer.notices).encode() if answer.notices else b"")


def _unpack_answer(source: str | Source, data: bytes) -> Answer:
    (size,) = struct.unpack_from("<I", data)
    notices = data[4 + size :]
    return Answer(data[4 : 4 + size].decode("utf-8", "surrogatepass"), tuple(json.loads(notices)) if notices else ())


def _pack_scored(answer: Scored) -> bytes:
    """Columns as they are: a count, starts and ends as 32 bits, log-probabilities as 64; then names and notices."""
    n = len(answer.starts)
    logprobs = [math.nan if p is None else p for p in answer.logprobs]
    rest = b"" if answer.pieces is None and not answer.notices else json.dumps([answer.pieces, answer.notices]).encode()
    return struct.pack(f"<I{n}i{n}i{n}d", n, *answer.starts, *answer.ends, *logprobs) + rest


def _unpack_scored(request: Request, data: bytes) -> Scored:
    (n,) = struct.unpack_from("<I", data)
    columns = struct.unpack_from(f"<{n}i{n}i{n}d", data, 4)
    logprobs: tuple[float | None, ...] = columns[2 * n :]
    if math.isnan(sum(columns[2 * n :])):  # one of them is, or infinities of both signs are there
        logprobs = tuple(None if math.isnan(p) else p for p in columns[2 * n :])
    if len(data) == 4 + 16 * n:
        return Scored(request.text, columns[:n], columns[n : 2 * n], logprobs)
    pieces, notices = json.loads(data[4 + 16 * n :])
    pieces = None if pieces is None else tuple(pieces)
    return Scored(request.text, columns[:n], columns[n : 2 * n], logprobs, pieces, tuple(notices))


_ANSWER: Codec[str | Source, Answer] = Codec("generate", _source_bytes, _pack_answer, _unpack_answer)
_SCORED: Codec[Request, Scored] = Codec("score", _request_bytes, _pack_scored, _unpack_scored)
