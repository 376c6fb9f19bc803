"""A minimal pair, and where its two sentences differ."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wug.types import Problem

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""A stretch without white space; where a script writes none (Chinese, Japanese), one character."""

_LAST = frozenset(f"{string.ascii_letters}{string.digits}.!?")
"""How a sentence ends that has no white space and no `<eos>` behind it."""
_PUNCTUATED = re.compile(r"(\W*)(\w|\w.*\w)(\W*)")


@dataclass(frozen=True, slots=True)
class Target:
    """The words that tell the two sentences apart; they begin at the same character of both."""

    start: int
    good_end: int
    bad_end: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A grammatical and an ungrammatical sentence."""

    item: str
    good: str
    bad: str
    groups: Mapping[str, str]
    target: Target | None = None
    """As the file says it; None where it says nothing."""
    sentence: str | None = field(default=None, compare=False)
    """The one sentence that the file has for both, perhaps with a third word in the place of the target."""
    line: int | None = field(default=None, compare=False)
    """The number of that sentence, from 0, in the text beside the file; None where there is no such text."""
    human: float | None = None
    """How much better people judge the grammatical sentence, in the unit of the file; None where nobody was asked."""
    context: str = ""
    """What is read before either sentence: a condition, and no part of the score."""

    @property
    def lead(self) -> str:
        """The context as it stands before a sentence."""
        return f"{self.context} " if self.context else ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reader made of a file."""

    format: str
    pairs: list[Pair]
    problems: list[Problem]
    """Of the file itself; what is odd about the pairs is found by `_check`."""
    blind: int = 0
    """Pairs that differ before the word that shows the error, so that no prefix tells them apart."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of pairs in each file of a folder."""


STRATA = ("language", "field", "phenomenon", "term", "paradigm", "pattern", "type", "condition", "subtype", "domain")
"""Groups that all have their share of a sample, the coarsest first; others that a user names follow."""
_NO_STRATA = {"attractors", "number", "contrast", "level", "pattern_type"}
"""Groups that count something, or that say again what others say."""


def strata(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """The names of the groups that pairs are sampled by."""
    distinct = {id(pair.groups): pair.groups for pair in pairs}.values()
    found = dict.fromkeys(name for groups in distinct for name in groups if name not in _NO_STRATA)
    return *(name for name in STRATA if name in found), *(name for name in found if name not in STRATA)


@dataclass(slots=True)
class GroupPool:
    """Equal groups as one object: a large file has few distinct ones."""

    _known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = field(default_factory=dict)

    def of(self, groups: Mapping[str, str]) -> Mapping[str, str]:
        """The same groups, without empty values and with pattern and type crossed where both are given."""
        kept = {key: value for key, value in groups.items() if value}
        if "pattern" in kept and "type" in kept:
            kept["pattern_type"] = f"{kept['pattern']}/{kept['type']}"
        return self._known.setdefault(tuple(kept.items()), kept)


def difference(good: str, bad: str) -> Target | None:
    """The one place where two sentences differ, or None where there is no such place.

    Words before and after it are the same, and none of it stands on both sides. Punctuation that both
    sides share ("herself." against "themselves.") is left out. An added or a missing word has no place.
    """
    good_spans, bad_spans = [m.span() for m in _WORD.finditer(good)], [m.span() for m in _WORD.finditer(bad)]
    ours, theirs = [good[a:b] for a, b in good_spans], [bad[a:b] for a, b in bad_spans]
    shorter = min(len(ours), len(theirs))
    before = 0
    while before < shorter and ours[before] == theirs[before]:
        before += 1
    after = 0
    while after < shorter - before and ours[-1 - after] == theirs[-1 - after]:
        after += 1
    left, right = ours[before : len(ours) - after], theirs[before : len(theirs) - after]
    if not left or not right or set(left) & set(right):
        return None
    start, end_good, end_bad = good_spans[before][0], good_spans[-1 - after][1], bad_spans[-1 - after][1]
    if good[:start] != bad[: bad_spans[before][0]]:
        return None
    return _without_shared_punctuation(good, bad, Target(start, end_good, end_bad))


def with_forms(item: str, words: Sequence[str], length: int, forms: tuple[str, str], groups: Mapping[str, str]) -> Pair:
    """The pair made by putting each of two forms in the place of word number `length`.

    Punctuation that is written together with that word stays.
    """
    lead, _, trail = parts(words[length], forms)
    prefix = "".join(f"{word} " for word in words[:length]) + lead
    rest = trail + "".join(f" {word}" for word in words[length + 1 :])
    good, bad = forms
    target = Target(len(prefix), len(prefix) + len(good), len(prefix) + len(bad))
    return Pair(item, f"{prefix}{good}{rest}", f"{prefix}{bad}{rest}", groups, target, " ".join(words))


def parts(word: str, forms: tuple[str, str]) -> tuple[str, str, str]:
    """The punctuation before a word, the word itself, and the punctuation after it."""
    if word in forms:
        return "", word, ""
    found = _PUNCTUATED.fullmatch(word)
    return (found[1], found[2], found[3]) if found else ("", word, "")


def place(pair: Pair) -> Target | None:
    """The target of a pair: what its file says, or else the one place where its sentences differ."""
    return pair.target or difference(pair.good, pair.bad)


def same(pair: Pair) -> bool:
    """Whether the two sentences are one, white space aside."""
    return pair.good == pair.bad or pair.good.split() == pair.bad.split()


def without_eos(text: str) -> str:
    """A sentence without `<eos>` and the white space around it."""
    if text[-1:] in _LAST and text[:1].isalnum():  # as nearly all are: nothing to take away
        return text
    return text.strip().removesuffix("<eos>").rstrip()


def _without_shared_punctuation(good: str, bad: str, target: Target) -> Target | None:
    start, end_good, end_bad = target.start, target.good_end, target.bad_end
    while end_good > start and end_bad > start and good[end_good - 1] == bad[end_bad - 1]:
        if good[end_good - 1].isalnum():
            break
        end_good, end_bad = end_good - 1, end_bad - 1
    while start < min(end_good, end_bad) and good[start] == bad[start] and not good[start].isalnum():
        start += 1
    return Target(start, end_good, end_bad) if start < end_good and start < end_bad else None
