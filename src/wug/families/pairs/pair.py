"""Minimal pairs, the words in which their sentences differ, and warnings about them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wug.alignment import common_start
from wug.formatting import first_items
from wug.problems import Problem, ProblemList

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""Characters between white space; a single character in scripts without spaces (Chinese, Japanese)."""

_PUNCTUATED = re.compile(r"(\W*)(\w|\w.*\w)(\W*)")


class Target(NamedTuple):
    """The words in which two sentences differ, as character offsets; they begin at the same offset."""

    start: int
    good_end: int
    bad_end: int


class Pair(NamedTuple):
    """A grammatical and an ungrammatical sentence."""

    item: str
    good: str
    bad: str
    groups: Mapping[str, str]
    target: Target | None = None
    """The target given by the file, if any."""
    sentence: str | None = None
    """The one sentence that the file has for both, perhaps with a third word as the target."""
    line: int | None = None
    """The index of that sentence in the running text that comes with the file, if any."""
    human: float | None = None
    """By how much people prefer the grammatical sentence, in the unit of the file; None if unknown."""
    context: str = ""
    """The text before either sentence, which conditions the score and is not part of it."""

    @property
    def lead(self) -> str:
        """The context with the space after it."""
        return f"{self.context} " if self.context else ""


@dataclass(frozen=True, slots=True)
class ParsedPairs:
    """The pairs of a file or folder, and the problems found in it."""

    format: str
    pairs: list[Pair]
    problems: ProblemList
    early_differences: int = 0
    """Pairs that differ before the word that shows the error, so that no common prefix precedes it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of pairs in each file of a folder."""


_STRATA = ("language", "field", "phenomenon", "term", "paradigm", "pattern", "type", "condition", "subtype", "domain")
"""Groups that samples are stratified by, the coarsest first; other groups that a user names follow."""
_NOT_STRATA = {"attractors", "number", "contrast", "level", "pattern_type"}
"""Groups that are counts, or that follow from others."""


def strata(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """The names of the groups that samples are stratified by."""
    present = dict.fromkeys(name for groups in distinct_groups(pairs) for name in groups if name not in _NOT_STRATA)
    return *(name for name in _STRATA if name in present), *(name for name in present if name not in _STRATA)


def distinct_groups(pairs: Iterable[Pair]) -> Collection[Mapping[str, str]]:
    """The groups of pairs: a large file has few distinct ones."""
    return {id(pair.groups): pair.groups for pair in pairs}.values()


@dataclass(slots=True)
class GroupPool:
    """Interns groups."""

    _known: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = field(default_factory=dict)

    def of(self, groups: Mapping[str, str]) -> Mapping[str, str]:
        """The groups without empty values, with `pattern_type` added if both are given."""
        nonempty_groups = {key: value for key, value in groups.items() if value}
        if "pattern" in nonempty_groups and "type" in nonempty_groups:
            nonempty_groups["pattern_type"] = f"{nonempty_groups['pattern']}/{nonempty_groups['type']}"
        return self._known.setdefault(tuple(nonempty_groups.items()), nonempty_groups)


def difference(good: str, bad: str) -> Target | None:
    """The words in which two sentences differ; None unless they differ in one place.

    The words before and after it are the same, and no word is on both sides. Punctuation that both sides share
    ("herself." against "themselves.") is left out. Sentences with an added or missing word have no target.
    """
    good_spans, bad_spans = [m.span() for m in _WORD.finditer(good)], [m.span() for m in _WORD.finditer(bad)]
    ours, theirs = [good[a:b] for a, b in good_spans], [bad[a:b] for a, b in bad_spans]
    before = common_start(ours, theirs)
    after = common_start(ours[before:][::-1], theirs[before:][::-1])
    left, right = ours[before : len(ours) - after], theirs[before : len(theirs) - after]
    if not left or not right or set(left) & set(right):
        return None
    start, end_good, end_bad = good_spans[before][0], good_spans[-1 - after][1], bad_spans[-1 - after][1]
    if good[:start] != bad[: bad_spans[before][0]]:
        return None
    return _without_shared_punctuation(good, bad, Target(start, end_good, end_bad))


def with_forms(item: str, words: Sequence[str], length: int, forms: tuple[str, str], groups: Mapping[str, str]) -> Pair:
    """The pair with each of two forms as word number `length`, counted from 0.

    Punctuation attached to that word is kept.
    """
    lead, _, trail = split_punctuation(words[length], forms)
    prefix = "".join(f"{word} " for word in words[:length]) + lead
    rest = trail + "".join(f" {word}" for word in words[length + 1 :])
    good, bad = forms
    target = Target(len(prefix), len(prefix) + len(good), len(prefix) + len(bad))
    return Pair(item, f"{prefix}{good}{rest}", f"{prefix}{bad}{rest}", groups, target, " ".join(words))


def split_punctuation(word: str, forms: tuple[str, str]) -> tuple[str, str, str]:
    """The punctuation before a word, the word itself, and the punctuation after it."""
    if word in forms:
        return "", word, ""
    match = _PUNCTUATED.fullmatch(word)
    return (match[1], match[2], match[3]) if match else ("", word, "")


def target_of(pair: Pair) -> Target | None:
    """The target given by the file, or else the words in which the sentences differ."""
    return pair.target or difference(pair.good, pair.bad)


def is_identical(pair: Pair) -> bool:
    """Whether both sentences are the same up to white space."""
    return pair.good == pair.bad or pair.good.split() == pair.bad.split()


def without_eos(text: str) -> str:
    """A sentence without `<eos>` and the white space around it."""
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


def lint(pairs: Sequence[Pair]) -> Iterator[Problem]:
    """Identical sentences, differences only in case, repeated names, copies, and exceptions among minimal pairs."""
    for pair in pairs:
        if is_identical(pair):
            why = "identical" if pair.good == pair.bad else "identical but for white space"
            yield Problem("warning", f"item {pair.item}", f"the two sentences are {why}: {pair.good!r}")
    for pair in pairs:
        if not is_identical(pair) and pair.good.lower() == pair.bad.lower():
            yield Problem("warning", f"item {pair.item}", f"the two sentences differ only in case: {pair.good!r}")
    for name, count in Counter(pair.item for pair in pairs).items():
        if count > 1:
            yield Problem("warning", f"item {name}", f"{count} pairs have this name")
    if copies := [pair.item for pair in _copies(pairs)]:
        yield Problem("warning", "", f"{_counted(len(copies))}: items {first_items(copies)}")
    yield from _several_differences(pairs)


def notices_of_copies(pairs: Sequence[Pair]) -> list[str]:
    """A warning about pairs that are copies of others, if there are any."""
    copies = sum(1 for _ in _copies(pairs))
    return [f"{_counted(copies)}, and counted like them"] if copies else []


def _counted(copies: int) -> str:
    return "1 pair is a copy of another" if copies == 1 else f"{copies:,} pairs are copies of others"


def _copies(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The pairs that occurred before, under any name."""
    digests = np.fromiter((hash((pair.good, pair.bad)) for pair in pairs), np.int64, len(pairs))
    ordered = np.sort(digests)
    seen: set[tuple[str, str]] = set()
    # Only pairs whose digest occurs twice: all pairs would take much memory.
    for index in np.flatnonzero(np.isin(digests, ordered[1:][ordered[1:] == ordered[:-1]])).tolist():
        pair = pairs[index]
        if (pair.good, pair.bad) in seen:
            yield pair
        seen.add((pair.good, pair.bad))


def _several_differences(pairs: Sequence[Pair]) -> Iterator[Problem]:
    """Pairs that differ in several places, if most pairs of their pattern differ in one."""
    patterns: defaultdict[tuple[str, ...], list[Pair]] = defaultdict(list)
    for pair in pairs:
        if not is_identical(pair):
            patterns[tuple(pair.groups.get(name, "") for name in ("pattern", "paradigm", "contrast"))].append(pair)
    for pattern, members in patterns.items():
        exceptions = [pair for pair in members if target_of(pair) is None]
        if exceptions and 2 * len(exceptions) < len(members):
            name = "/".join(part for part in pattern if part)
            first = exceptions[0]
            many = "1 pair differs" if len(exceptions) == 1 else f"{len(exceptions)} pairs differ"
            yield Problem(
                "warning",
                f"pattern {name}" if name else "",
                f"{many} in more than one place, or in a word that only one sentence has, unlike the other "
                f"{len(members) - len(exceptions)}: items {first_items([pair.item for pair in exceptions])}; "
                f"{first.good!r} against {first.bad!r}",
            )
