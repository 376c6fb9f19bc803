"""Every answer of every model, kept so that no question is asked twice.

The key is a digest of the model's identity, the options that change an answer, and the request. A chunk of
answers is written in one transaction before any of them is used. The file may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from wug.errors import StoreError
from wug.types import Generator, Request, Scored, Scorer

Question = TypeVar("Question", Request, str)
Answer = TypeVar("Answer")

READ = 500
"""Keys looked up in one statement; SQLite allows 999 at least."""


class Cache:
    """A file of answers by key."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the answer cache {path} cannot be used: {error}. It may be deleted; or choose another with --cache"
            ) from None

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are there."""
        found: dict[bytes, bytes] = {}
        for first in range(0, len(keys), READ):
            some = keys[first : first + READ]
            marks = ",".join("?" * len(some))
            found.update(self._db.execute(f"SELECT key, value FROM answers WHERE key IN ({marks})", some))
        return found

    def write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep answers, all of them or none."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", rows)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._db.close()


@dataclass(frozen=True, slots=True)
class Codec(Generic[Question, Answer]):
    """How questions become keys and answers become bytes."""

    key: Callable[[Question], bytes]
    pack: Callable[[Answer], bytes]
    unpack: Callable[[Question, bytes], Answer]


class Remembered(Generic[Question, Answer]):
    """Answers through the cache: what is missing is asked in sorted chunks, each kept before the next.

    The chunks depend only on what is missing, and those that were kept before a kill are the first ones: so a
    resumed run asks in the very chunks of an unbroken one, and ends with the same numbers to the last digit.
    """

    def __init__(
        self,
        ask: Callable[[Sequence[Question]], list[Answer]],
        codec: Codec[Question, Answer],
        identity: str,
        chunk: int,
        cache: Cache | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self._ask: Callable[[Sequence[Question]], list[Answer]] = ask
        self._codec: Codec[Question, Answer] = codec
        self._chunk, self._cache, self._progress = chunk, cache, progress
        self._identity = identity.encode()
        self._memory: dict[Question, Answer] = {}
        self.asked = 0
        """Questions put to the model, rather than found in the cache."""

    def answers(self, questions: Sequence[Question]) -> list[Answer]:
        """One answer for each question, in order."""
        wanted = sorted({q for q in questions if q not in self._memory}, key=self._codec.key)
        missing = self._recall(wanted)
        done = len(wanted) - len(missing)
        self._progress(done, len(wanted))
        for first in range(0, len(missing), self._chunk):
            some = missing[first : first + self._chunk]
            found = self._ask(some)
            if self._cache is not None:
                packed = [(self._key(q), self._codec.pack(a)) for q, a in zip(some, found, strict=True)]
                self._cache.write(packed)
            self._memory.update(zip(some, found, strict=True))
            self.asked += len(some)
            done += len(some)
            self._progress(done, len(wanted))
        return [self._memory[question] for question in questions]

    def _recall(self, wanted: list[Question]) -> list[Question]:
        """Take what the cache has; what it has not comes back."""
        if self._cache is None:
            return wanted
        keys = {question: self._key(question) for question in wanted}
        found = self._cache.read(list(keys.values()))
        missing = []
        for question, key in keys.items():
            data = found.get(key)
            if data is None:
                missing.append(question)
            else:
                self._memory[question] = self._codec.unpack(question, data)
        return missing

    def _key(self, question: Question) -> bytes:
        digest = hashlib.blake2b(self._identity, digest_size=16)
        digest.update(self._codec.key(question))
        return digest.digest()


class RememberedScorer:
    """A scorer whose answers go through the cache."""

    def __init__(self, model: Scorer, cache: Cache | None, progress: Callable[[int, int], None]) -> None:
        self.id, self.options, self.chunk, self.ordered = model.id, model.options, model.chunk, model.ordered
        self._model = model
        self._through: Remembered[Request, Scored] = Remembered(
            model.score,
            _SCORED,
            identity("score", model.id, model.options),
            model.chunk,
            cache,
            progress,
        )

    @property
    def asked(self) -> int:
        """Requests put to the model itself."""
        return self._through.asked

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order."""
        # Where an answer depends on those before it, none can be kept for another occasion.
        return self._model.score(requests) if self.ordered else self._through.answers(requests)


class RememberedGenerator:
    """A generator whose answers go through the cache."""

    def __init__(self, model: Generator, cache: Cache | None, progress: Callable[[int, int], None]) -> None:
        self.id, self.options, self.chunk = model.id, model.options, model.chunk
        self._through: Remembered[str, str] = Remembered(
            model.generate,
            _TEXT,
            identity("generate", model.id, model.options),
            model.chunk,
            cache,
            progress,
        )

    @property
    def asked(self) -> int:
        """Sources put to the model itself."""
        return self._through.asked

    def generate(self, sources: Sequence[str]) -> list[str]:
        """One answer for each source, in order."""
        return self._through.answers(sources)


def identity(verb: str, model: str, options: Mapping[str, str]) -> str:
    """What an answer depends on beside the question."""
    return json.dumps([verb, model, sorted(options.items())])


def _text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text_from(question: str, data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _request_bytes(request: Request) -> bytes:
    span = "" if request.span is None else f"{request.span[0]}:{request.span[1]}"
    return _text_bytes(f"{request.text}\0{span}")


def _pack_scored(answer: Scored) -> bytes:
    """Columns as they are: a count, starts and ends as 32 bits, log-probabilities as 64, then names."""
    n = len(answer.starts)
    logprobs = [math.nan if p is None else p for p in answer.logprobs]
    pieces = b"" if answer.pieces is None else json.dumps(answer.pieces).encode()
    return struct.pack(f"<I{n}i{n}i{n}d", n, *answer.starts, *answer.ends, *logprobs) + pieces


def _unpack_scored(request: Request, data: bytes) -> Scored:
    (n,) = struct.unpack_from("<I", data)
    columns = struct.unpack_from(f"<{n}i{n}i{n}d", data, 4)
    logprobs = tuple(None if math.isnan(p) else p for p in columns[2 * n :])
    names = data[4 + 16 * n :]
    pieces = tuple(json.loads(names)) if names else None
    return Scored(request.text, columns[:n], columns[n : 2 * n], logprobs, pieces)


_TEXT: Codec[str, str] = Codec(_text_bytes, _text_bytes, _text_from)
_SCORED: Codec[Request, Scored] = Codec(_request_bytes, _pack_scored, _unpack_scored)
