"""Back-off n-gram models from ARPA files, gzipped or not: `ngram:file.arpa`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from wug.arrays import Floats, Ints
from wug.errors import InputError, ModelError
from wug.files import checksum, read_bytes, read_lines, user_path
from wug.formatting import plural
from wug.models.spec import EOS, ModelSpec
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.tokens import TokenizedTexts
from wug.models.tokenization.words import SpacedWords, Vocabulary, scored_tokens, to_word_ids
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.requests import Request
from wug.scores import PlainRequests, Scores, texts_of
from wug.traits import BackendTraits

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
        indices = np.searchsorted(self.keys, keys)
        exists = indices < len(self.keys)
        exists[exists] = self.keys[indices[exists]] == keys[exists]
        return np.where(exists, indices, -1)


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
    number = len(lines)
    try:
        for number, line in enumerate(lines[first:], first + 1):
            text = line.strip(" \t\r")
            if text.startswith("\\") and (text == "\\end\\" or _SECTION.fullmatch(text)):
                _close(sections, counts)
                if text == "\\end\\":
                    break
                order = int(text[1:].partition("-")[0])
                if order != len(sections) + 1 or order > len(counts):
                    expected = f"\\{len(sections) + 1}-grams:" if len(sections) < len(counts) else "\\end\\"
                    raise InputError(f"expected {expected}, found {text}")
                sections.append(_Section(order))
            elif text and not sections:
                raise InputError(f"expected \\1-grams:, found {text[:60]!r}")
            elif text:
                _add(sections[-1], text, number, index)
        else:
            number = len(lines)
            raise InputError("ends without \\end\\: the file is incomplete. Copy it again")
    except InputError as error:
        raise InputError(error.message, file=path, place=f"line {number}") from None
    if len(sections) < len(counts):
        raise InputError(f"the header promises \\{len(sections) + 1}-grams:, which is not there", file=path)
    return Arpa(list(index), index, _tables(path, sections, len(index)))


def _read_counts(path: Path, lines: Sequence[str]) -> tuple[list[int], int]:
    """The number of n-grams of each order, and the line after the header."""
    first = next((number for number, line in enumerate(lines, 1) if line.strip() == "\\data\\"), None)
    if first is None:
        raise InputError("not an ARPA file: it has no line \\data\\", file=path)
    counts: list[int] = []
    end = len(lines)
    for number, line in enumerate(lines[first:], first + 1):
        text, order = line.strip(), len(counts) + 1
        if text.startswith("\\"):
            end = number - 1
            break
        match = _COUNT.fullmatch(text)
        if match and int(match[1]) == order:
            counts.append(int(match[2]))
        elif text:
            expected = f"ngram {order if match else 'N'}=COUNT"
            raise InputError(f"expected {expected}, found {text[:60]!r}", file=path, place=f"line {number}")
    if not counts:
        raise InputError("the header says of no order how many n-grams there are", file=path, place=f"line {first}")
    return counts, end


def _close(sections: list[_Section], counts: list[int]) -> None:
    if sections and len(sections[-1].lines) != counts[len(sections) - 1]:
        order, count = sections[-1].order, len(sections[-1].lines)
        raise InputError(f"{count:,} {order}-grams end here, where the header promises {counts[order - 1]:,}")


def _add(section: _Section, text: str, number: int, index: dict[str, int]) -> None:
    """Parse the line of an n-gram: log-probability, words, and perhaps a back-off weight."""
    fields, order = _GAP.split(text), section.order
    if len(fields) not in (order + 1, order + 2):
        expected = f"a log-probability, {plural(order, 'word')} and perhaps a back-off weight"
        raise InputError(f"expected {expected}, found {text[:80]!r}")
    logprob = _number(fields[0])
    if logprob > 0:
        raise InputError(f"{fields[0]} is above 0, so it is not a log-probability")
    names = fields[1 : order + 1]
    if order == 1:
        if names[0] in index:
            raise InputError(f"{names[0]!r} is there already")
        index[names[0]] = len(index)
    unlisted = [name for name in names if name not in index]
    if unlisted:
        raise InputError(f"{unlisted[0]!r} is not among the 1-grams")
    section.ids.append([index[name] for name in names])
    section.logprobs.append(logprob)
    section.backoffs.append(_number(fields[-1]) if len(fields) == order + 2 else 0.0)
    section.lines.append(number)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value) or value == math.inf:
        raise InputError(f"expected a number, found {text!r}")
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
            duplicate = int(np.setdiff1d(np.arange(listed), firsts)[0])
            raise InputError("this n-gram is there already", file=path, place=f"line {section.lines[duplicate]}")
        blank = len(keys) - listed
        tables.append(_table(unique, section.logprobs + [math.nan] * blank, section.backoffs + [0.0] * blank, firsts))
    return tables


def _table(keys: Ints, logprobs: list[float], backoffs: list[float], order: Ints) -> NgramTable:
    return NgramTable(keys, np.append(np.array(logprobs)[order], math.nan), np.append(np.array(backoffs)[order], 0.0))


TRAITS = BackendTraits()
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
        plain = self._without_span(requests)
        simple, spaced = self._spaced.read(texts if len(plain) == len(texts) else [texts[index] for index in plain])
        if len(simple) == len(texts):
            return self._scores(texts, spaced)
        fast = [plain[number] for number in simple]
        slow = sorted({*range(len(requests))}.difference(fast))
        slow_requests = [requests[index] for index in slow]
        words = [to_word_ids(request, self._vocabulary, end=self._eos) for request in slow_requests]
        scorings = enumerate(request.scoring for request in slow_requests)
        with_distribution = {index for index, scoring in scorings if scoring and scoring.distribution}
        tokens = scored_tokens(slow_requests, words, self._vocabulary)
        blocks = (
            self._scores([texts[index] for index in fast], spaced),
            self._scores(texts_of(slow_requests), tokens, with_distribution),
        )
        return Scores.join(blocks).take(np.argsort([*fast, *slow]))

    def _without_span(self, requests: Sequence[Request]) -> Sequence[int]:
        if self._eos or isinstance(requests, PlainRequests):
            return range(0 if self._eos else len(requests))
        return [n for n, request in enumerate(requests) if request.span is None and request.scoring is None]

    def _scores(self, texts: Sequence[str], tokens: TokenizedTexts, with_distribution: Collection[int] = ()) -> Scores:
        values, histories = self._values(tokens.ids)
        columns = [values * LN10]
        if with_distribution:
            columns.extend(distributions(self._arpa, histories, values))
        scores = tokens.scores(texts, np.stack(columns))
        return replace(scores, extras={n: extra for n, extra in scores.extras.items() if n in with_distribution})

    def _values(self, texts: Ragged) -> tuple[Floats, Ints]:
        sequences = texts if self._start is None else texts.with_first(self._start)
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
        deep_enough = np.flatnonzero(depth >= order - 1)
        history = ending[deep_enough - 1]
        histories[deep_enough, order - 2] = history
        indices = table.find(history * size + flat[deep_enough])
        listed = table.logprobs[indices]
        shorter = values[deep_enough] + arpa.tables[order - 2].backoffs[history]
        values[deep_enough] = np.where(np.isnan(listed), shorter, listed)
        ending = np.full(len(flat), -1)
        ending[deep_enough] = indices
    return values, histories


def distributions(arpa: Arpa, histories: Ints, logprobs: Floats) -> Floats:
    """For each word the entropy in nats after its history, and its rank, as two rows; NaN if it has no probability."""
    columns = np.full((2, len(logprobs)), np.nan)
    rows, same = np.unique(histories, axis=0, return_inverse=True)
    for number, history in enumerate(rows.tolist()):
        logprobs10 = _after(arpa, history)
        shares = 10.0**logprobs10
        mass = float(shares.sum())  # probabilities that are rounded, or made by hand, need not sum to 1
        rows_of_history = np.flatnonzero(same.ravel() == number)
        if mass > 0:
            entropy = np.log(mass) - float((shares * np.maximum(logprobs10, -300)).sum()) * LN10 / mass
            columns[0, rows_of_history] = entropy
        scored = rows_of_history[~np.isnan(logprobs[rows_of_history])]
        bounds = logprobs[scored] + RANK_TOLERANCE
        columns[1, scored] = 1 + len(logprobs10) - np.searchsorted(np.sort(logprobs10), bounds, side="right")
    return columns


def _after(arpa: Arpa, history: Sequence[int]) -> Floats:
    """The log-probabilities to base 10 of all words after a history, without those that have none."""
    logprobs10 = arpa.tables[0].logprobs[:-1].copy()
    size = len(arpa.words) + 1
    for order, index in enumerate(history, 1):
        if index >= 0:
            table = arpa.tables[order]
            low, high = np.searchsorted(table.keys, [index * size, (index + 1) * size])
            listed, words = table.logprobs[low:high], table.keys[low:high] - index * size
            is_listed = ~np.isnan(listed)  # some are only prefixes of longer ones
            logprobs10 += arpa.tables[order - 1].backoffs[index]
            logprobs10[words[is_listed]] = listed[is_listed]
    return logprobs10[~np.isnan(logprobs10)]
