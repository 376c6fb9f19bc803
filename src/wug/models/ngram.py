"""Back-off n-gram models from ARPA files, gzipped or not: `ngram:file.arpa`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from wug.errors import InputError, ModelError
from wug.files import checksum, read_bytes, read_lines, user_path
from wug.models.spec import EOS, ModelSpec
from wug.models.tokenization.ragged import Ints, Ragged
from wug.models.tokenization.tokens import TokenizedTexts
from wug.models.tokenization.words import SpacedWords, Vocabulary, scored_tokens, to_word_ids
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.scores import Scores, Texts, texts_of
from wug.types import Request, Traits

Floats = npt.NDArray[np.float64]

_COUNT = re.compile(r"ngram\s+(\d{1,3})\s*=\s*(\d{1,15})")
_SECTION = re.compile(r"\\(\d{1,3})-grams:")
_GAP = re.compile(r"[ \t]+")  # a word may contain other white space, such as a no-break space


@dataclass(frozen=True, slots=True)
class NgramTable:
    """The n-grams of one order, sorted by key; logarithms to base 10. The last row, -1, is for missing n-grams.

    The key of an n-gram is the index of its first n - 1 words in the table below, times the size of the vocabulary,
    plus its last word. (The vocabulary has one word more, for unknown words.) One search finds any number of them.
    """

    keys: Ints
    logprobs: Floats
    """NaN for an n-gram that is missing, or only the prefix of a longer one."""
    backoffs: Floats

    def find(self, keys: Ints) -> Ints:
        """The index of each key, or -1."""
        places = np.searchsorted(self.keys, keys)
        here = places < len(self.keys)
        here[here] = self.keys[places[here]] == keys[here]
        return np.where(here, places, -1)


@dataclass(frozen=True, slots=True)
class Arpa:
    """A back-off model."""

    words: list[str]
    index: dict[str, int]
    tables: list[NgramTable]
    """By order; in the first, the key of a word is its index."""


@dataclass(frozen=True, slots=True)
class _Section:
    order: int
    ids: list[list[int]] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    backoffs: list[float] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_arpa(path: Path, lines: Sequence[str]) -> Arpa:
    """Parse the lines of an ARPA file."""
    counts, first = _read_counts(path, lines)
    index: dict[str, int] = {}
    sections: list[_Section] = []
    ended = False
    for number, line in enumerate(lines[first:], first + 1):
        text = line.strip(" \t\r")
        if not text:
            continue
        if text.startswith("\\") and (text == "\\end\\" or _SECTION.fullmatch(text)):
            _close(path, sections, counts, number)
            if text == "\\end\\":
                ended = True
                break
            sections.append(_open(path, text, len(sections), len(counts), number))
        elif not sections:
            raise InputError(f"expected \\1-grams:, found {text[:60]!r}", file=path, place=f"line {number}")
        else:
            _add(path, sections[-1], text, number, index)
    if not ended:
        raise InputError(
            "ends without \\end\\: the file is incomplete. Copy it again", file=path, place=f"line {len(lines)}"
        )
    if len(sections) < len(counts):
        raise InputError(f"the header promises \\{len(sections) + 1}-grams:, which is not there", file=path)
    return Arpa(list(index), index, _tables(path, sections, len(index)))


def _read_counts(path: Path, lines: Sequence[str]) -> tuple[list[int], int]:
    """The number of n-grams of each order, and the line after the header."""
    first = next((place for place, line in enumerate(lines, 1) if line.strip() == "\\data\\"), None)
    if first is None:
        raise InputError("not an ARPA file: it has no line \\data\\", file=path)
    counts: list[int] = []
    end = len(lines)
    for number, line in enumerate(lines[first:], first + 1):
        text, place = line.strip(), f"line {number}"
        if text.startswith("\\"):
            end = number - 1
            break
        if not text:
            continue
        found = _COUNT.fullmatch(text)
        if not found:
            raise InputError(f"expected ngram N=COUNT, found {text[:60]!r}", file=path, place=place)
        if int(found[1]) != len(counts) + 1:
            raise InputError(f"expected ngram {len(counts) + 1}=COUNT, found {text!r}", file=path, place=place)
        counts.append(int(found[2]))
    if not counts:
        raise InputError("the header says of no order how many n-grams there are", file=path, place=f"line {first}")
    return counts, end


def _open(path: Path, text: str, done: int, orders: int, number: int) -> _Section:
    order = int(text[1:].partition("-")[0])
    if order != done + 1 or order > orders:
        expected = f"\\{done + 1}-grams:" if done < orders else "\\end\\"
        raise InputError(f"expected {expected}, found {text}", file=path, place=f"line {number}")
    return _Section(order)


def _close(path: Path, sections: list[_Section], counts: list[int], number: int) -> None:
    if sections and len(sections[-1].lines) != counts[len(sections) - 1]:
        order, found = sections[-1].order, len(sections[-1].lines)
        raise InputError(
            f"{found:,} {order}-grams end here, where the header promises {counts[order - 1]:,}",
            file=path,
            place=f"line {number}",
        )


def _add(path: Path, section: _Section, text: str, number: int, index: dict[str, int]) -> None:
    """Parse the line of an n-gram: log-probability, words, and perhaps a back-off weight."""
    parts, order = _GAP.split(text), section.order
    place = f"line {number}"
    if len(parts) not in (order + 1, order + 2):
        raise InputError(
            f"expected a log-probability, {order} word{'s' * (order > 1)} and perhaps a back-off weight, "
            f"found {text[:80]!r}",
            file=path,
            place=place,
        )
    logprob = _number(path, parts[0], place)
    if logprob > 0:
        raise InputError(f"{parts[0]} is above 0, so it is not a log-probability", file=path, place=place)
    names = parts[1 : order + 1]
    if order == 1:
        if names[0] in index:
            raise InputError(f"{names[0]!r} is there already", file=path, place=place)
        index[names[0]] = len(index)
    unlisted = [name for name in names if name not in index]
    if unlisted:
        raise InputError(f"{unlisted[0]!r} is not among the 1-grams", file=path, place=place)
    section.ids.append([index[name] for name in names])
    section.logprobs.append(logprob)
    section.backoffs.append(_number(path, parts[-1], place) if len(parts) == order + 2 else 0.0)
    section.lines.append(number)


def _number(path: Path, text: str, place: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or value == math.inf:
        raise InputError(f"expected a number, found {text!r}", file=path, place=place)
    return value


def _tables(path: Path, sections: Sequence[_Section], words: int) -> list[NgramTable]:
    """The sorted tables; the prefix of an n-gram that is not listed is added without a value."""
    rows = [np.array(section.ids, dtype=np.int64).reshape(-1, section.order) for section in sections]
    for order in range(len(rows) - 1, 1, -1):  # a prefix may need its own prefix: longest first
        rows[order - 1] = np.concatenate([rows[order - 1], rows[order][:, :-1]])
    tables = [_table(np.arange(words), sections[0].logprobs, sections[0].backoffs, np.arange(words))]
    for section, ids in zip(sections[1:], rows[1:], strict=True):
        keys = ids[:, 0]
        for table, column in zip([*tables[1:], None], ids.T[1:], strict=True):
            keys = keys * (words + 1) + column
            keys = keys if table is None else table.find(keys)
        listed = len(section.lines)
        unique, firsts = np.unique(keys, return_index=True)  # of equal ones the first: a listed one, if there is any
        if (firsts < listed).sum() < listed:
            twice = int(np.setdiff1d(np.arange(listed), firsts)[0])
            raise InputError("this n-gram is there already", file=path, place=f"line {section.lines[twice]}")
        blank = len(keys) - listed
        tables.append(_table(unique, section.logprobs + [math.nan] * blank, section.backoffs + [0.0] * blank, firsts))
    return tables


def _table(keys: Ints, logprobs: list[float], backoffs: list[float], order: Ints) -> NgramTable:
    return NgramTable(keys, np.append(np.array(logprobs)[order], math.nan), np.append(np.array(backoffs)[order], 0.0))


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
