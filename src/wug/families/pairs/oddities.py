"""What is odd about minimal pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from wug.families.pairs.pair import Pair, Parsed, place, same
from wug.types import Problem

SHOWN = 100
"""More faults than this are counted, not listed."""


def problems(parsed: Parsed) -> list[Problem]:
    """Every fault and oddity of the pairs that were read."""
    found = [
        *parsed.problems,
        *_identical(parsed.pairs),
        *_case_only(parsed.pairs),
        *_repeated(parsed.pairs),
        *_more_than_one_place(parsed.pairs),
    ]
    if not parsed.pairs and not found:
        found.append(Problem("error", "", "there are no pairs in it"))
    return capped(found)


def capped(found: Sequence[Problem]) -> list[Problem]:
    """The first hundred faults, and how many more there are; errors come first."""
    ordered = sorted(found, key=lambda problem: problem.level != "error")
    if len(ordered) <= SHOWN:
        return ordered
    more = len(ordered) - SHOWN
    return [*ordered[:SHOWN], Problem(ordered[SHOWN].level, "", f"{more} more like these")]


def _surplus(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """The pairs that are there already, under whatever name."""
    marks = np.fromiter((hash((pair.good, pair.bad)) for pair in pairs), np.int64, len(pairs))
    different, counts = np.unique(marks, return_counts=True)
    seen: set[tuple[str, str]] = set()
    for number in np.flatnonzero(np.isin(marks, different[counts > 1])).tolist():  # most sets have no copies
        pair = pairs[number]
        if (pair.good, pair.bad) in seen:
            yield pair
        seen.add((pair.good, pair.bad))


def copied(pairs: Sequence[Pair]) -> str:
    """How many pairs are copies, as the beginning of a sentence; empty where none is."""
    copies = sum(1 for _ in _surplus(pairs))
    if copies < 2:
        return "1 pair is a copy of another" * copies
    return f"{copies:,} pairs are copies of others"


def _identical(pairs: Sequence[Pair]) -> Iterator[Problem]:
    for pair in pairs:
        if same(pair):
            why = "identical" if pair.good == pair.bad else "identical but for white space"
            yield Problem("warning", f"item {pair.item}", f"the two sentences are {why}: {pair.good!r}")


def _case_only(pairs: Sequence[Pair]) -> Iterator[Problem]:
    for pair in pairs:
        if not same(pair) and pair.good.lower() == pair.bad.lower():
            yield Problem("warning", f"item {pair.item}", f"the two sentences differ only in case: {pair.good!r}")


def _repeated(pairs: Sequence[Pair]) -> Iterator[Problem]:
    names = Counter(pair.item for pair in pairs)
    for name, count in names.items():
        if count > 1:
            yield Problem("warning", f"item {name}", f"{count} pairs have this name")
    if copies := copied(pairs):
        yield Problem("warning", "", f"{copies}: items {_few([pair.item for pair in _surplus(pairs)])}")


def _more_than_one_place(pairs: Sequence[Pair]) -> Iterator[Problem]:
    """Pairs that differ in several places, while most pairs of their pattern differ in one.

    A whole pattern that differs in several places is meant to, and is not reported.
    """
    kinds: defaultdict[tuple[str, ...], list[Pair]] = defaultdict(list)
    for pair in pairs:
        if not same(pair):
            kinds[tuple(pair.groups.get(name, "") for name in ("pattern", "paradigm", "contrast"))].append(pair)
    for kind, members in kinds.items():
        apart = [pair for pair in members if place(pair) is None]
        if apart and 2 * len(apart) < len(members):
            name = "/".join(part for part in kind if part)
            where = f"pattern {name}" if name else ""
            pair = apart[0]
            many = "1 pair differs" if len(apart) == 1 else f"{len(apart)} pairs differ"
            yield Problem(
                "warning",
                where,
                f"{many} in more than one place, or in a word that only one sentence has, where the other "
                f"{len(members) - len(apart)} do not: items {_few([other.item for other in apart])}; "
                f"{pair.good!r} against {pair.bad!r}",
            )


def _few(items: Sequence[str]) -> str:
    return ", ".join(items[:5]) + (", …" if len(items) > 5 else "")
