"""Regions that a prediction compares and that have more tokens in one condition than in another."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from wug.families.syntaxgym.view.regions import Conditions
from wug.formatting import plural


def split_regions(sentences: Conditions, marked: Collection[int]) -> dict[int, dict[str, int]]:
    """Regions whose number of tokens depends on the condition, with these numbers by condition."""
    counts: dict[int, dict[str, int]] = {}
    for condition, regions in sentences.items():
        for region in regions:
            if region.number in marked and region.tokens:
                counts.setdefault(region.number, {})[condition] = len(region.tokens)
    return {number: found for number, found in counts.items() if len(set(found.values())) > 1}


def item_note(sentences: Conditions, marked: Collection[int]) -> str:
    """A sentence about each region of an item that is split differently; empty without one."""
    said = []
    for number, counts in split_regions(sentences, marked).items():
        by_count: dict[int, list[str]] = {}
        for condition, count in counts.items():
            by_count.setdefault(count, []).append(condition)
        parts = [f"{plural(count, 'token')} in {', '.join(names)}" for count, names in sorted(by_count.items())]
        said.append(f"Region {number} has {' and '.join(parts)}.")
    return " ".join(said)


def result_note(items: Iterable[Conditions], marked: Collection[int]) -> str:
    """For how many items a compared region is split differently; empty if for none."""
    every = list(items)
    split = sum(bool(split_regions(sentences, marked)) for sentences in every)
    if not split:
        return ""
    return (
        f"In {split:,} of {plural(len(every), 'item')}, a compared region has more tokens in one condition than in "
        "another. Its surprisal is that of all its tokens, so part of a difference may come from how words are split."
    )
