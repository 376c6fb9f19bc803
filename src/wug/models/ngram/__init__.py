"""Back-off n-gram models from ARPA files, gzipped or not: `ngram:file.arpa`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from wug.errors import ModelError
from wug.files import checksum, read_bytes, read_lines, user_path
from wug.models.ngram.arpa import Arpa, Floats, read_arpa
from wug.models.spec import EOS, ModelSpec
from wug.models.tokenization.ragged import Ints, Ragged
from wug.models.tokenization.tokens import TokenizedTexts
from wug.models.tokenization.words import SpacedWords, Vocabulary, scored_tokens, to_word_ids
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.scores import Scores, Texts, texts_of
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
            return self._scores(texts, spaced)
        known = [whole[number] for number in fit]
        quick = frozenset(known)
        others = [place for place in range(len(requests)) if place not in quick]
        rest = [requests[place] for place in others]
        words = [to_word_ids(request, self._vocabulary, end=self._eos) for request in rest]
        wanted = {n for n, request in enumerate(rest) if request.reading and request.reading.distribution}
        found = (
            self._scores([texts[place] for place in known], spaced),
            self._scores(texts_of(rest), scored_tokens(rest, words, self._vocabulary), wanted),
        )
        return Scores.join(found).take(np.argsort([*known, *others]))

    def _whole(self, requests: Sequence[Request]) -> Sequence[int]:
        """The indices of requests without span and reading."""
        if self._eos or isinstance(requests, Texts):
            return range(0 if self._eos else len(requests))
        return [n for n, asked in enumerate(requests) if asked.span is None and asked.reading is None]

    def _scores(self, texts: Sequence[str], tokens: TokenizedTexts, wanted: Collection[int] = ()) -> Scores:
        """The outputs, with entropies and ranks for those that are `wanted`."""
        values, histories = self._values(tokens.ids)
        columns = [values * LN10]
        if wanted:
            columns.extend(distributions(self._arpa, histories, values))
        found = tokens.scores(texts, np.stack(columns))
        return replace(found, extras={n: extra for n, extra in found.extras.items() if n in wanted})

    def _values(self, texts: Ragged) -> tuple[Floats, Ints]:
        sequences = texts if self._start is None else texts.led_by(self._start)
        values, histories = backed_off(self._arpa, sequences)
        if self._start is None:
            return values, histories
        return np.delete(values, sequences.starts), np.delete(histories, sequences.starts, axis=0)


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


def distributions(arpa: Arpa, histories: Ints, logprobs: Floats) -> Floats:
    """For each word the entropy in nats after its history, and its rank, as two rows; NaN if it has no probability."""
    found = np.full((2, len(logprobs)), np.nan)
    rows, same = np.unique(histories, axis=0, return_inverse=True)
    for number, history in enumerate(rows.tolist()):
        every = _after(arpa, history)
        shares = 10.0**every
        mass = float(shares.sum())  # probabilities that are rounded, or made by hand, need not sum to 1
        here = np.flatnonzero(same.ravel() == number)
        if mass > 0:
            found[0, here] = np.log(mass) - float((shares * np.maximum(every, -300)).sum()) * LN10 / mass
        known = here[~np.isnan(logprobs[here])]
        bounds = logprobs[known] + RANK_TOLERANCE
        found[1, known] = 1 + len(every) - np.searchsorted(np.sort(every), bounds, side="right")
    return found


def _after(arpa: Arpa, history: Sequence[int]) -> Floats:
    """The log-probabilities to base 10 of all words after a history, without those that have none."""
    found = arpa.tables[0].logprobs[:-1].copy()
    size = len(arpa.words) + 1
    for order, place in enumerate(history, 1):
        if place >= 0:
            table = arpa.tables[order]
            low, high = np.searchsorted(table.keys, [place * size, (place + 1) * size])
            listed, words = table.logprobs[low:high], table.keys[low:high] - place * size
            given = ~np.isnan(listed)  # some are only prefixes of longer ones
            found += arpa.tables[order - 1].backoffs[place]
            found[words[given]] = listed[given]
    return found[~np.isnan(found)]
