"""Statistics of a set of PCFG SET sources, compared with those of another set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from wug.families.pcfgset.language import Expression, arity, parse

Counts: TypeAlias = Mapping[int | str, int]
Key = TypeVar("Key", bound=int | str)

FIELDS: Mapping[str, str] = {
    "depths": "functions on the longest path from the root to a string",
    "lengths": "words per line, commas included",
    "functions": "functions per line",
    "words": "occurrences of each function",
    "nesting": "a function of one or two arguments, and that of an argument",
    "pairs": "a function, and that of its first argument or, after a comma, of its second",
    "strings": "symbols per plain string",
}

_KINDS: Mapping[int | None, str] = {1: "unary", 2: "binary"}
MAX_LISTED_VALUES = 100


class SourceStatistics(NamedTuple):
    """Counts over the lines of a set."""

    lines: int
    counts: Mapping[str, Counts]
    """How often each value occurs, by field of FIELDS, sorted by value."""


def statistics(sources: Iterable[str]) -> SourceStatistics:
    """The counts over a set of sources."""
    lines = 0
    counts: dict[str, Counter[int | str]] = {field: Counter() for field in FIELDS}
    for source in sources:
        expression = parse(source)
        lines += 1
        counts["depths"][expression.depth] += 1
        counts["lengths"][expression.length] += 1
        counts["functions"][expression.functions] += 1
        counts["words"].update(step.function for step in expression.steps)
        for pair in argument_pairs(expression):
            counts["pairs"][pair] += 1
            counts["nesting"][" ".join(_KINDS[arity(word)] for word in pair.split() if word != ",")] += 1
        counts["strings"].update(len(string) for string in expression.strings)
    ordered = {field: {key: counted[key] for key in _in_order(counted)} for field, counted in counts.items()}
    return SourceStatistics(lines, ordered)


def argument_pairs(expression: Expression) -> Iterator[str]:
    """Every function with that of its argument: `append copy`, or `append , copy` for the second argument."""
    for step in expression.steps:
        for index, part in enumerate(step.arguments):
            if isinstance(part, int):
                yield f"{step.function}{' ,' * index} {expression.steps[part].function}"


def distances(counted: SourceStatistics, reference: SourceStatistics) -> dict[str, float]:
    """The total variation distance of each of FIELDS: 0 for the same shares, 1 for nothing in common."""
    return {field: total_variation(counted.counts[field], reference.counts[field]) for field in FIELDS}


def total_variation(a: Mapping[Key, int], b: Mapping[Key, int]) -> float:
    """Total variation distance of two distributions; 1 if only one of them is empty."""
    all_a, all_b = sum(a.values()), sum(b.values())
    if not all_a or not all_b:
        return float(all_a != all_b)
    return sum(abs(a.get(key, 0) / all_a - b.get(key, 0) / all_b) for key in {*a, *b}) / 2


def report(counted: SourceStatistics, reference: SourceStatistics | None = None) -> str:
    """The statistics as text: count and share of each value, with the share in the reference set."""
    away = distances(counted, reference) if reference else {}
    out = [f"{counted.lines:,} lines" + (f", compared with {reference.lines:,}" if reference else "")]
    for field, reading in FIELDS.items():
        distance = f": {away[field]:.2%} away (total variation)" if field in away else ""
        out += ["", f"{field}, {reading}{distance}"]
        rows = _rows(counted.counts[field], reference.counts[field] if reference else None)
        out += rows if len(rows) <= MAX_LISTED_VALUES else [f"  {len(rows)} different ones, not listed"]
    return "\n".join(out)


def _rows(counts: Counts, reference: Counts | None) -> list[str]:
    total = max(1, sum(counts.values()))
    rows = []
    for key in _in_order({**counts, **(reference or {})}):
        n = counts.get(key, 0)
        row = f"  {key!s:>16} {n:>9,} {n / total:>8.2%}"
        if reference is not None:
            row += f" {reference.get(key, 0) / max(1, sum(reference.values())):>8.2%}"
        rows.append(row)
    return rows


def _in_order(counts: Counts) -> list[int | str]:
    return sorted(counts, key=lambda key: (isinstance(key, str), key if isinstance(key, int) else 0, str(key)))
