"""Back-off n-gram models from ARPA files, gzipped or not: `ngram:file.arpa`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wug.errors import ModelError
from wug.files import checksum, read_bytes, read_lines, user_path
from wug.models.ngram.arpa import Arpa, Floats, read_arpa
from wug.models.spec import EOS, ModelSpec
from wug.models.tokenization.ragged import Ints, Ragged
from wug.models.tokenization.words import Spaced, SpacedWords, Vocabulary, make_scores, to_word_ids
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.scores import Scores, Texts, TokenExtras, texts_of
from wug.types import Request, Traits

TRAITS = Traits()
OPTIONS = (EOS, Option("lowercase", bool, False, "look words up in lower case"))

START, END = "<s>", "</s>"
UNKNOWN = ("<unk>", "<UNK>")
"""Names of the unknown word in ARPA files."""

LN10 = float(np.log(10))
RANK_TOLERANCE = 1e-9
"""Logarithms to base 10 by which sums in another order may differ; files have at most seven digits."""


class NgramModel:
    """A back-off n-gram model that scores texts."""

    __slots__ = ("_arpa", "_eos", "_spaced", "_start", "_vocabulary", "chunk", "id", "options", "ordered")

    def __init__(self, name: str, arpa: Arpa, *, eos: bool, lowercase: bool) -> None:
        self._arpa, self._eos = arpa, eos
        self._start = arpa.index.get(START)
        # A model without an unknown word gives such words no probability, by the row after the last word.
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
        """One output per request, in order, in nats."""
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
        """The indices of requests without span and reading."""
        if self._eos or isinstance(requests, Texts):
            return range(0 if self._eos else len(requests))
        return [n for n, asked in enumerate(requests) if asked.span is None and asked.reading is None]

    def _scored(self, texts: Sequence[str], words: Spaced) -> Scores:
        """The outputs for texts of known words."""
        values, _ = self._values(Ragged(words.ids, words.lengths))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(words.lengths)])
        return Scores(texts, offsets, words.starts, words.ends, values * math.log(10))

    def _worded(self, requests: Sequence[Request]) -> Scores:
        """The outputs for any requests."""
        words = [to_word_ids(request, self._vocabulary, end=self._eos) for request in requests]
        values, histories = self._values(Ragged.of([text.ids[: text.scored] for text in words]))
        found = make_scores(requests, words, values * math.log(10), self._vocabulary)
        return replace(found, extras=self._distributions(requests, found.offsets, values, histories))

    def _values(self, texts: Ragged) -> tuple[Floats, Ints]:
        """The log-probability to base 10 of each word, and its history."""
        sequences = texts if self._start is None else texts.led_by(self._start)
        values, histories = backed_off(self._arpa, sequences)
        if self._start is None:
            return values, histories
        return np.delete(values, sequences.starts), np.delete(histories, sequences.starts, axis=0)

    def _distributions(
        self, requests: Sequence[Request], offsets: Ints, values: Floats, histories: Ints
    ) -> dict[int, TokenExtras]:
        """Entropies and ranks, for the requests that need them."""
        needed = [n for n, request in enumerate(requests) if request.reading and request.reading.distribution]
        if not needed:
            return {}
        distributions = NgramDistributions(self._arpa)
        extras: dict[int, TokenExtras] = {}
        for number in needed:
            here = slice(offsets[number], offsets[number + 1])
            entropies, ranks = distributions.columns(histories[here], values[here])
            extras[number] = TokenExtras(
                _or_none(entropies), tuple(None if r is None else int(r) for r in _or_none(ranks))
            )
        return extras


def load(spec: ModelSpec) -> NgramModel:
    """Load an ARPA file."""
    options = spec.read(OPTIONS)
    path = user_path(spec.name)
    eos, lowercase = options["eos"], options["lowercase"]
    with unchanged(path):
        data = read_bytes(path)
        if data.startswith(b"mmap lm "):
            raise ModelError(f"{path}: a binary file of KenLM. Give the ARPA file that it was made from")
        arpa = read_arpa(path, read_lines(path))
    if eos and END not in arpa.index:
        raise ModelError(f"{path}: eos=yes, but the model has no {END}")
    return NgramModel(f"ngram/{path.name}@{checksum(data)}", arpa, eos=eos, lowercase=lowercase)


def backed_off(arpa: Arpa, sequences: Ragged) -> tuple[Floats, Ints]:
    """The log-probability to base 10 of each word after those before it in its sequence, and its history.

    A row of the histories has for each order but the highest the index of the n-gram that ends before the word, or -1.

    p(w | h) is listed for h w, or else it is the back-off weight of h (1 if h is not listed) times p(w | h without its
    first word).
    """
    flat, size = sequences.flat, len(arpa.words) + 1
    depth = np.arange(len(flat)) - np.repeat(sequences.starts, sequences.lengths)
    values = arpa.tables[0].logprobs[flat]
    ending: Ints = flat  # the index of the n-gram that ends at each word, or -1
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


@dataclass(frozen=True, slots=True)
class _Listed:
    """The words that are listed after a history."""

    before: Floats
    """Log-probabilities by backing off, ascending."""
    after: Floats
    """Listed log-probabilities, ascending."""
    weight: float
    """The logarithm of the back-off weight."""
    mass: float
    """The sum of the probabilities of all words."""
    energy: float
    """The sum of p ln p over all words."""


class NgramDistributions:
    """Entropies and ranks after histories, without the probabilities of all words.

    After a history h, listed words have their own probabilities, and all others those after the shorter history h',
    times one weight. So sums over all words after h are those after h', weighted, with the listed words taken out and
    put in again; the same holds for counts of words above a bound.
    """

    def __init__(self, arpa: Arpa) -> None:
        self._arpa, self._size = arpa, len(arpa.words) + 1
        alone = np.sort(_numbers(arpa.tables[0].logprobs[:-1]))
        self._alone = _Listed(alone[:0], alone, 0.0, *_sums(alone))
        self._known: dict[tuple[int, int], _Listed] = {}

    def columns(self, histories: Ints, logprobs: Floats) -> tuple[Floats, Floats]:
        """For each word the entropy in nats after its history, and its rank; NaN if it has no probability."""
        entropies, ranks = np.empty(len(logprobs)), np.full(len(logprobs), np.nan)
        chains: dict[tuple[int, ...], list[_Listed]] = {}
        for place, (row, own) in enumerate(zip(map(tuple, histories.tolist()), logprobs.tolist(), strict=True)):
            if row not in chains:
                chains[row] = self._chain(row)
            chain = chains[row]
            # Probabilities that are rounded, or made by hand, need not sum to 1.
            mass, energy = chain[-1].mass, chain[-1].energy
            entropies[place] = np.log(mass) - energy / mass if mass > 0 else np.nan
            if not np.isnan(own):
                ranks[place] = 1 + _above(chain, own + RANK_TOLERANCE)
        return entropies, ranks

    def _chain(self, history: Sequence[int]) -> list[_Listed]:
        """The words listed after no word, after the last one, after the last two and so on."""
        chain = [self._alone]
        for order, place in enumerate(history, 1):
            if place >= 0:
                if (order, place) not in self._known:
                    self._known[order, place] = self._listed(history[:order], chain[-1])
                chain.append(self._known[order, place])
        return chain

    def _listed(self, history: Sequence[int], shorter: _Listed) -> _Listed:
        order, place = len(history), history[-1]
        table, weight = self._arpa.tables[order], float(self._arpa.tables[order - 1].backoffs[place])
        low, high = np.searchsorted(table.keys, [place * self._size, (place + 1) * self._size])
        after = table.logprobs[low:high]
        given = ~np.isnan(after)  # some are only prefixes of longer ones
        after, words = after[given], table.keys[low:high][given] - place * self._size
        before = _numbers(self._logprobs(history[:-1], words) + weight)
        scale = 10.0**weight
        # Times a weight w, p ln p becomes w p (ln p + ln w).
        weighted = scale * (shorter.energy + weight * LN10 * shorter.mass) if scale else 0.0
        (out, out_energy), (put, put_energy) = _sums(before), _sums(after)
        mass, energy = scale * shorter.mass - out + put, weighted - out_energy + put_energy
        return _Listed(np.sort(before), np.sort(after), weight, mass, energy)

    def _logprobs(self, history: Sequence[int], words: Ints) -> Floats:
        """Log-probabilities of words after a history."""
        found: Floats = self._arpa.tables[0].logprobs[words]
        for order, place in enumerate(history, 1):
            if place >= 0:
                table = self._arpa.tables[order]
                listed = table.logprobs[table.find(place * self._size + words)]
                found = np.where(np.isnan(listed), found + self._arpa.tables[order - 1].backoffs[place], listed)
        return found


def _above(chain: Sequence[_Listed], bound: float) -> int:
    """The number of words with a log-probability above a bound."""
    count = 0
    for listed in reversed(chain):
        count += int(_beyond(listed.after, bound)) - int(_beyond(listed.before, bound))
        bound -= listed.weight
    return count


def _beyond(ascending: Floats, bound: float) -> int:
    return len(ascending) - int(np.searchsorted(ascending, bound, side="right"))


def _sums(logprobs: Floats) -> tuple[float, float]:
    """The sum of p, and of p ln p."""
    shares = 10.0**logprobs
    return float(shares.sum()), float((shares * np.maximum(logprobs, -300) * LN10).sum())


def _numbers(logprobs: Floats) -> Floats:
    """Without NaN: words without a probability."""
    return logprobs[~np.isnan(logprobs)]
