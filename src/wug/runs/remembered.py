"""A model behind the answer cache: what is missing is asked in sorted chunks, each kept before the next.

The key of an answer is a digest of the model's identity, the version of the scoring code, every option that the user
gave, and the request.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from wug.runs.block_index import Found, Ints, Places
from wug.runs.cache import KEY, Block, Cache, Keys
from wug.runs.deferred import Deferred
from wug.runs.held import Held, Replies
from wug.runs.packing import Answers, pack_answers, pack_scores, unpack_answers, unpack_scores
from wug.scores import Scores, Texts, texts_of
from wug.types import Answer, Generator, Request, Scored, Scorer, Source, text_of

SCORING = 3
"""The version of the code that makes answers: raise it whenever an answer of any backend could change."""
CHUNK = 16_384
"""Questions that a suite asks at a time."""
CHUNKS = 8
"""Chunks of the model's, each a few seconds' work, that are asked before suites are judged."""
BLOCK = 1024
"""Answers that are kept together."""

Question = TypeVar("Question", Request, str | Source)
Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""


class Remembered(ABC, Generic[Question, Replies]):
    """A model whose replies go through the cache.

    The chunks depend only on what is missing, and those that were kept before a kill are the first ones: so a
    resumed run asks in the very chunks of an unbroken one, and ends with the same numbers to the last digit.
    """

    def __init__(
        self,
        model: Scorer | Generator,
        verb: str,
        cache: Cache | None,
        progress: Progress,
        given: Mapping[str, str] | None,
    ) -> None:
        self.id, self.options = model.id, model.options
        self.ordered: bool = getattr(model, "ordered", False)
        self._model = model
        self._cache, self._progress = cache or Cache(), progress
        of = identity(verb, model.id, model.options, given or {})
        self._start = hashlib.blake2b(of.encode(), digest_size=KEY)
        self._whose = self._start.digest()
        self._known = Places()
        self._held: Held[Replies] = Held()
        self._prepared: _Run[Question] = _Run()
        self._obtained: _Run[Question] = _Run()
        self.asked = 0
        """Questions put to the model, rather than found in the cache."""
        self.questions = 0
        """Different questions that are known to be asked."""
        self.done = 0
        """Those of them that are answered."""

    @property
    def chunk(self) -> int:
        """How many questions it likes at a time; the model gets them in chunks of its own."""
        return self._model.chunk if self.ordered else CHUNK

    @property
    def failed(self) -> bool:
        """Whether the model could not be loaded when it was needed."""
        return isinstance(self._model, Deferred) and self._model.failed

    @property
    def group(self) -> int:
        """How many questions are worth asking together: half a minute's work, as the model guesses it."""
        if isinstance(self._model, Deferred) and not self._model.is_loaded:
            return CHUNK  # the cache has the answers
        return CHUNKS * self._model.chunk

    def missing(self, questions: Sequence[Question]) -> int:
        """How many of these questions the cache cannot answer, each counted once."""
        return len(self._unanswered(self._read(questions).keys)[0])

    def prepare(self, questions: Sequence[Question]) -> None:
        """Count questions that will be asked, and load a model that is not loaded yet if it has to answer any."""
        if self.ordered:
            self.questions += len(questions)
            return
        read = self._read(questions)
        missing, total = self._unanswered(read.keys)
        self.questions, self.done = self.questions + total, self.done + total - len(missing)
        self._prepared = _Run(questions, read)
        if len(missing) and isinstance(self._model, Deferred):
            self._model.loaded()

    def obtain(self, questions: Sequence[Question], *, counted: bool = False) -> Keys:
        """Have a reply to each question, from the cache or from the model; the keys of the questions come back.

        Progress is told of all questions so far, and of those that were counted before.
        """
        read = self._prepared.next(questions) or self._read(questions)
        self._obtained = _Run(questions, read)
        if self._prepared.ended:
            self._prepared = _Run()
        self._answer(questions, read, counted=counted)
        return read.keys

    def _answer(self, questions: Sequence[Question], read: _Read, *, counted: bool = False) -> None:
        """Ask the model what the cache does not have."""
        keys, ranks = read
        unanswered, total = self._unanswered(keys)
        missing = _sorted(unanswered, ranks)
        del unanswered
        if not counted:
            self.questions, self.done = self.questions + total, self.done + total - len(missing)
        self._progress(self.done, self.questions)
        size = self._model.chunk if len(missing) else 1
        for first in range(0, len(missing), size):
            some = missing[first : first + size]
            self._keep(keys[some], self._replied(_taken(questions, some.tolist())))
            self.asked += len(some)
            self._count(len(some))

    def _count(self, answered: int) -> None:
        """So many more are answered; where the cache lost some, they are asked beyond what was counted."""
        self.done += answered
        self.questions = max(self.questions, self.done)
        self._progress(self.done, self.questions)

    def replies(self, questions: Sequence[Question]) -> Replies:
        """One reply for each question, in order."""
        read = self._obtained.next(questions) or self._read(questions)
        if self._obtained.ended:
            self._obtained = _Run()
        keys = read.keys
        while True:
            found = self._known.find(keys)
            if found.blocks.all():
                self._progress(self.done, self.questions)
            else:
                self._answer(questions, read)
                found = self._known.find(keys)
            order = np.argsort(found.blocks, kind="stable")
            groups = np.split(order, np.flatnonzero(np.diff(found.blocks[order])) + 1) if len(order) else []
            parts = [self._taken(keys, found, some) for some in groups]
            sound = [part for part in parts if part is not None]
            if len(sound) == len(parts):
                back = np.empty(len(order), np.int64)
                back[order] = np.arange(len(order))
                return self._joined(questions, sound, back)
            self._answer(questions, read)  # what was damaged is asked again

    @abstractmethod
    def _key(self, question: Question) -> bytes:
        """What tells a question from others."""

    @abstractmethod
    def _rank(self, question: Question) -> str:
        """What questions are sorted by."""

    @abstractmethod
    def _replied(self, questions: Sequence[Question]) -> Replies:
        """What the model replies."""

    @abstractmethod
    def _pack(self, replies: Replies) -> bytes:
        """Replies as the cache keeps them."""

    @abstractmethod
    def _unpack(self, data: bytes) -> Replies:
        """Replies that the cache had."""

    @abstractmethod
    def _joined(self, questions: Sequence[Question], parts: Sequence[Replies], order: Ints) -> Replies:
        """The replies of several parts in an order, each to its question."""

    def _read(self, questions: Sequence[Question]) -> _Read:
        start, key_of, rank_of = self._start.copy, self._key, self._rank
        keys = bytearray()
        ranks: list[str] = []
        for question in questions:
            digest = start()
            digest.update(key_of(question))
            keys += digest.digest()
            ranks.append(rank_of(question))
        return _Read(np.frombuffer(keys, f"S{KEY}"), ranks)

    def _unanswered(self, keys: Keys) -> tuple[Ints, int]:
        """The places of the questions without a reply as yet, and how many the cache was looked through for."""
        unique, first = np.unique(keys, return_index=True)
        unknown = self._known.find(unique).blocks == 0
        new = int(unknown.sum())
        if new:
            self._learn()
            unknown = self._known.find(unique).blocks == 0
        return first[unknown], new

    def _learn(self) -> None:
        """Find out which answers were written since this was asked last, here or by another process."""
        for number, keys in self._cache.keys(self._whose, self._known.newest):
            self._known.add(number, keys)

    def _keep(self, keys: Keys, replies: Replies) -> None:
        cuts = [range(at, min(at + BLOCK, len(keys))) for at in range(0, len(keys), BLOCK)]
        blocks = [Block(keys[cut.start : cut.stop], self._pack(replies.take(cut))) for cut in cuts]
        self._cache.write(self._whose, blocks)
        self._learn()

    def _taken(self, keys: Keys, found: Found, some: Ints) -> Replies | None:
        """The replies to some questions, all of one block; None where that is not as it was written."""
        number, places = int(found.blocks[some[0]]), found.places[some]
        block = self._held.get(number)
        if block is None and (read := self._cache.block(self._whose, number)) is not None:
            block = self._held.add(number, read.keys, self._unpack(read.answers), len(read.answers))
        if block is None or places.max() >= len(block.keys) or (block.keys[places] != keys[some]).any():
            self._held.drop(number)
            self._known.forget(number)
            return None
        return block.replies.take(places)


class RememberedScorer(Remembered[Request, Scores]):
    """A scorer whose answers go through the cache."""

    def __init__(
        self, model: Scorer, cache: Cache | None, progress: Progress, given: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(model, "score", cache, progress, given)
        self._score = model.score

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One answer for each request, in order."""
        if not self.ordered:
            return self.replies(requests)
        # Where an answer depends on those before it, none can be kept for another occasion.
        answers = self._score(requests)
        self._count(len(requests))
        return answers

    def _read(self, questions: Sequence[Request]) -> _Read:
        """As for any questions; most are a text and nothing else, and there may be millions."""
        start = self._start.copy
        keys = bytearray()
        if isinstance(questions, Texts):
            for text in questions.texts:
                digest = start()
                digest.update(f"{text}\0".encode("utf-8", "surrogatepass"))
                keys += digest.digest()
            return _Read(np.frombuffer(keys, f"S{KEY}"), questions.texts)
        ranks: list[str] = []
        for question in questions:
            digest = start()
            if question.span is None and question.reading is None and question.source is None:
                text = question.text
                digest.update(f"{text}\0".encode("utf-8", "surrogatepass"))
                ranks.append(text)
            else:
                digest.update(self._key(question))
                ranks.append(self._rank(question))
            keys += digest.digest()
        return _Read(np.frombuffer(keys, f"S{KEY}"), ranks)

    def _key(self, question: Request) -> bytes:
        span = "" if question.span is None else f"{question.span[0]}:{question.span[1]}"
        more = "" if question.reading is None else "\0" + ":".join(map(str, astuple(question.reading)))
        source = "" if question.source is None else f"\0\0{question.source}"
        return f"{question.text}\0{span}{more}{source}".encode("utf-8", "surrogatepass")

    def _rank(self, question: Request) -> str:
        return question.text if question.span is None else f"{question.text}\0{question.span[0]}:{question.span[1]}"

    def _replied(self, questions: Sequence[Request]) -> Scores:
        return Scores.of(self._score(questions))

    def _pack(self, replies: Scores) -> bytes:
        return pack_scores(replies)

    def _unpack(self, data: bytes) -> Scores:
        return unpack_scores(data)

    def _joined(self, questions: Sequence[Request], parts: Sequence[Scores], order: Ints) -> Scores:
        return replace(Scores.join(parts).take(order), texts=texts_of(questions))


class RememberedGenerator(Remembered[str | Source, Answers]):
    """A generator whose answers go through the cache.

    Of one that takes no notice of how long a right answer can be, the answer to a source is the same whatever the
    suite knows, and is kept as such.
    """

    bounded = True

    def __init__(
        self, model: Generator, cache: Cache | None, progress: Progress, given: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(model, "generate", cache, progress, given)
        self._generate = model.generate
        self._heeds_bounds: bool = getattr(model, "bounded", False)

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One answer for each source, in order."""
        return self.replies(sources)

    def _key(self, question: str | Source) -> bytes:
        most = f"\0{question.most}" if self._heeds_bounds and isinstance(question, Source) else ""
        return f"{text_of(question)}{most}".encode("utf-8", "surrogatepass")

    def _rank(self, question: str | Source) -> str:
        return text_of(question)

    def _replied(self, questions: Sequence[str | Source]) -> Answers:
        asked: Any = questions if self._heeds_bounds else list(map(text_of, questions))
        return Answers(Answer(found) if isinstance(found, str) else found for found in self._generate(asked))

    def _pack(self, replies: Answers) -> bytes:
        return pack_answers(replies)

    def _unpack(self, data: bytes) -> Answers:
        return unpack_answers(data)

    def _joined(self, questions: Sequence[str | Source], parts: Sequence[Answers], order: Ints) -> Answers:
        return Answers(chain.from_iterable(parts)).take(order.tolist())


def whose(can: str, model: str, options: Mapping[str, str], given: Mapping[str, str]) -> bytes:
    """What the cache keeps the answers of a model under; `can` is scorer or generator."""
    text = identity("score" if can == "scorer" else "generate", model, options, given)
    return hashlib.blake2b(text.encode(), digest_size=KEY).digest()


def identity(verb: str, model: str, options: Mapping[str, str], given: Mapping[str, str]) -> str:
    """What an answer depends on beside the question."""
    return json.dumps([SCORING, verb, model, sorted(options.items()), sorted(given.items())])


class _Read(NamedTuple):
    """Questions as they are looked up, and as they are sorted."""

    keys: Keys
    ranks: list[str]


class _Run(Generic[Question]):
    """Questions that will be asked once more in this order, some at a time: to compare them is quicker than to read."""

    def __init__(self, questions: Sequence[Question] = (), read: _Read | None = None) -> None:
        self._questions: Sequence[Question] = questions
        self._read, self._at = read, 0

    @property
    def ended(self) -> bool:
        """Whether all of them were asked."""
        return self._at >= len(self._questions)

    def next(self, questions: Sequence[Question]) -> _Read | None:
        """These questions as they were read, if they are the next ones; else None."""
        if self._read is None:
            return None
        if questions is self._questions:
            self._at = len(questions)
            return self._read
        here = slice(self._at, self._at + len(questions))
        if not isinstance(questions, Texts) or not isinstance(self._questions, Texts):
            return None
        if self._questions.texts[here] != questions.texts:
            return None
        self._at = here.stop
        return _Read(self._read.keys[here], questions.texts)


def _sorted(places: Ints, ranks: Sequence[str]) -> Ints:
    """The places of questions in the order in which these are asked."""
    order: list[int] = places.tolist()
    order.sort(key=ranks.__getitem__)
    return np.array(order, np.int64)


def _taken(questions: Sequence[Question], places: Sequence[int]) -> Sequence[Question]:
    """The questions at some places, in that order."""
    if isinstance(questions, Texts):
        return questions.take(places)
    return [questions[place] for place in places]
