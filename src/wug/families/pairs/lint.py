"""Warnings about minimal pairs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from wug.families.pairs.pair import Pair, is_identical, target_of
from wug.formatting import first_items
from wug.problems import Problem


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
