"""Blocks of answers as bytes, for the cache; the texts that were asked about are not among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from wug.scores import Beside, Scores
from wug.types import Answer


class Answers(list[Answer]):
    """What a generator wrote for some sources."""

    def take(self, places: Iterable[int]) -> Answers:
        """The answers at some places, in that order."""
        return Answers(self[place] for place in places)


def pack_scores(scores: Scores) -> bytes:
    """Two counts, then columns as they are: log-probabilities, how many tokens each has, starts, ends, the rest."""
    rest = [list(some.items()) for some in (scores.pieces, scores.notices, scores.beside)]
    sizes = np.diff(scores.offsets).astype("<i4")
    return b"".join(
        (
            np.array([len(sizes), len(scores.logprobs)], "<i8").tobytes(),
            scores.logprobs.astype("<f8").tobytes(),
            sizes.tobytes(),
            scores.starts.astype("<i4").tobytes(),
            scores.ends.astype("<i4").tobytes(),
            json.dumps(rest).encode() if any(rest) else b"",
        )
    )


def unpack_scores(data: bytes) -> Scores:
    """The scores that were packed, of texts that have to be put in."""
    answers, tokens = (int(count) for count in np.frombuffer(data, "<i8", 2))
    logprobs = np.frombuffer(data, "<f8", tokens, 16)
    columns = np.frombuffer(data, "<i4", answers + 2 * tokens, 16 + 8 * tokens)
    offsets = np.zeros(answers + 1, np.int64)
    np.cumsum(columns[:answers], out=offsets[1:])
    end = 16 + 16 * tokens + 4 * answers
    pieces, notices, beside = _rest(data[end:])
    starts, ends = columns[answers : answers + tokens], columns[answers + tokens :]
    columns_of = {place: Beside(*(None if one is None else tuple(one) for one in found)) for place, found in beside}
    return Scores([""] * answers, offsets, starts, ends, logprobs, dict(pieces), dict(notices), columns_of)


def pack_answers(answers: Sequence[Answer]) -> bytes:
    """A count, the length of each text, the texts, and the notices, if any, as JSON."""
    texts = [answer.text.encode("utf-8", "surrogatepass") for answer in answers]
    notices = [(place, answer.notices) for place, answer in enumerate(answers) if answer.notices]
    sizes = np.array([len(texts), *map(len, texts)], "<i8").tobytes()
    return b"".join((sizes, *texts, json.dumps([[], notices, []]).encode() if notices else b""))


def unpack_answers(data: bytes) -> Answers:
    """The answers that were packed."""
    count = int(np.frombuffer(data, "<i8", 1)[0])
    first = 8 * (count + 1)
    bounds = [first, *(first + np.cumsum(np.frombuffer(data, "<i8", count, 8))).tolist()]
    notices = dict(_rest(data[bounds[-1] :])[1])
    texts = [data[low:high].decode("utf-8", "surrogatepass") for low, high in pairwise(bounds)]
    return Answers(Answer(text, notices.get(place, ())) for place, text in enumerate(texts))


def _rest(data: bytes) -> list[list[tuple[int, Any]]]:
    """Names, notices and further columns of some answers, each with the place of its answer."""
    found: list[list[Any]] = json.loads(data) if data else [[], [], []]
    return [[(place, tuple(texts)) for place, texts in some] for some in found]
