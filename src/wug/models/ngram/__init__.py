"""Back-off n-gram models from ARPA files, gzipped or not: `ngram:file.arpa`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from wug.errors import ModelError
from wug.files import checksum, read_bytes, read_lines, user_path
from wug.models._fingerprint import unchanged
from wug.models._options import EOS
from wug.models._ragged import Ints, Ragged
from wug.models._spec import ModelSpec
from wug.models._words import Spaced, SpacedWords, Vocabulary, answers, worded
from wug.models.ngram.arpa import Arpa, Floats, read_arpa
from wug.models.ngram.spread import Spread
from wug.options import Option
from wug.scores import Beside, Scores, Texts, texts_of
from wug.types import Request, Traits

TRAITS = Traits()
OPTIONS = (EOS, Option("lowercase", bool, False, "look words up in lower case"))

START, END = "<s>", "</s>"
UNKNOWN = ("<unk>", "<UNK>")
"""How ARPA files write the word that stands for all others."""


class NgramModel:
    """A back-off n-gram model that scores texts."""

    __slots__ = ("_arpa", "_eos", "_spaced", "_start", "_vocabulary", "chunk", "id", "options", "ordered")

    def __init__(self, name: str, arpa: Arpa, *, eos: bool, lowercase: bool) -> None:
        self._arpa, self._eos = arpa, eos
        self._start = arpa.index.get(START)
        # A model without a word for unknown ones gives them no probability: the row behind the last word says so.
        unknown = next((arpa.index[name] for name in UNKNOWN if name in arpa.index), len(arpa.words))
        self._vocabulary = Vocabulary(arpa.words, arpa.index, unknown, arpa.index.get(END), lowercase)
        self._spaced = SpacedWords(self._vocabulary)
        self.id = name
        self.options: Mapping[str, str] = {
            "bos": "no" if self._start is None else "yes",
            "eos": "yes" if eos else "no",
            **({"lowercase": "yes"} if lowercase else {}),
        }
        self.chunk = 16_384
        self.ordered = False

    def score(self, requests: Sequence[Request]) -> Scores:
        """One answer for each request, in order, in natural logarithms."""
        texts = texts_of(requests)
        whole = self._whole(requests)
        fit, spaced = self._spaced.read(texts if len(whole) == len(texts) else [texts[place] for place in whole])
        if len(fit) == len(texts):
            return self._scored(texts, spaced)
        places = [whole[number] for number in fit]
        known = self._scored([texts[place] for place in places], spaced)
        quick = frozenset(places)
        others = [place for place in range(len(requests)) if place not in quick]
        order = np.argsort([*places, *others])
        return Scores.join([known, self._worded([requests[place] for place in others])]).take(order)

    def _whole(self, requests: Sequence[Request]) -> Sequence[int]:
        """The places of the requests that are a text and nothing else."""
        if self._eos or isinstance(requests, Texts):
            return range(0 if self._eos else len(requests))
        return [n for n, asked in enumerate(requests) if asked.span is None and asked.reading is None]

    def _scored(self, texts: Sequence[str], words: Spaced) -> Scores:
        """The answers to texts of known words."""
        values, _ = self._values(Ragged(words.ids, words.lengths))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(words.lengths)])
        return Scores(texts, offsets, words.starts, words.ends, values * math.log(10))

    def _worded(self, requests: Sequence[Request]) -> Scores:
        """The answers to any requests."""
        words = [worded(request, self._vocabulary, end=self._eos) for request in requests]
        values, histories = self._values(Ragged.of([text.ids[: text.asked] for text in words]))
        found = answers(requests, words, values * math.log(10), self._vocabulary)
        return replace(found, beside=self._distributions(requests, found.offsets, values, histories))

    def _values(self, texts: Ragged) -> tuple[Floats, Ints]:
        """The log-probability to base 10 of each word, and the histories that it was found after."""
        sequences = texts if self._start is None else texts.led_by(self._start)
        values, histories = backed_off(self._arpa, sequences)
        if self._start is None:
            return values, histories
        return np.delete(values, sequences.starts), np.delete(histories, sequences.starts, axis=0)

    def _distributions(
        self, requests: Sequence[Request], offsets: Ints, values: Floats, histories: Ints
    ) -> dict[int, Beside]:
        """Entropies and ranks, of the requests that want them."""
        asking = [n for n, request in enumerate(requests) if request.reading and request.reading.distribution]
        if not asking:
            return {}
        spread = Spread(self._arpa)
        beside: dict[int, Beside] = {}
        for number in asking:
            here = slice(offsets[number], offsets[number + 1])
            entropies, ranks = spread.columns(histories[here], values[here])
            beside[number] = Beside(_or_none(entropies), tuple(None if r is None else int(r) for r in _or_none(ranks)))
        return beside


def load(spec: ModelSpec) -> NgramModel:
    """The model in the file that `spec` names."""
    options = spec.read(OPTIONS)
    path = user_path(spec.name)
    eos, lowercase = options["eos"], options["lowercase"]
    with unchanged(path):
        data = read_bytes(path)
        if data.startswith(b"mmap lm "):
            raise ModelError(f"{path}: a binary file of KenLM's. Give the ARPA file that it was made from")
        arpa = read_arpa(path, read_lines(path))
    if eos and END not in arpa.index:
        raise ModelError(f"{path}: eos=yes, but the model has no {END}")
    return NgramModel(f"ngram/{path.name}@{checksum(data)}", arpa, eos=eos, lowercase=lowercase)


def backed_off(arpa: Arpa, sequences: Ragged) -> tuple[Floats, Ints]:
    """The log-probability to base 10 of each word after those before it in its sequence, and its history.

    A row of the histories has for each order but the highest the n-gram that ends before the word, by its place in its
    table, -1 where there is none.

    p(w | h) is what the table says of h w, and where it says nothing, the back-off weight of h, which is 1 if h is not
    listed, times p(w | h without its first word).
    """
    flat, size = sequences.flat, len(arpa.words) + 1
    depth = np.arange(len(flat)) - np.repeat(sequences.starts, sequences.lengths)
    values = arpa.tables[0].logprobs[flat]
    ending: Ints = flat  # the place in its table of the n-gram that ends at each word, -1 if it is not there
    histories = np.full((len(flat), len(arpa.tables) - 1), -1)
    for order, table in enumerate(arpa.tables[1:], 2):
        inside = np.flatnonzero(depth >= order - 1)
        history = ending[inside - 1]
        histories[inside, order - 2] = history
        found = table.find(history * size + flat[inside])
        listed = table.logprobs[found]
        shorter = values[inside] + arpa.tables[order - 2].backoffs[history]
        values[inside] = np.where(np.isnan(listed), shorter, listed)
        ending = np.full(len(flat), -1)
        ending[inside] = found
    return values, histories


def _or_none(numbers: Floats) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(number) else number for number in numbers.tolist())
