"""The edit distance of two token lists.

Myers' bit-parallel algorithm in Hyyrö's form (2003, "A bit-vector algorithm for computing Levenshtein and Damerau edit
distances", fig. 3): a whole column of the table of distances is one Python integer, so that a pair of logical forms
takes some twenty microseconds. A library for it weighs as much as the rest of what judging needs.
"""

from __future__ import annotations

from collections.abc import Sequence


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """How many tokens to insert, delete or replace at least, to make one list of the other."""
    if not first or not second:
        return len(first) + len(second)
    if len(first) > len(second):
        first, second = second, first
    places: dict[str, int] = {}
    for place, token in enumerate(first):
        places[token] = places.get(token, 0) | 1 << place
    every, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    # Bit i: whether distances grow (rises) or shrink (falls) by one from row i to the next of the present column.
    rises, falls, distance = every, 0, len(first)
    for token in second:
        same = places.get(token, 0)
        diagonal = (((same & rises) + rises) ^ rises) | same | falls
        grown, shrunk = falls | ~(diagonal | rises) & every, rises & diagonal
        distance += bool(grown & last) - bool(shrunk & last)
        grown, shrunk = (grown << 1 | 1) & every, shrunk << 1 & every
        rises, falls = shrunk | ~(diagonal | grown) & every, grown & diagonal
    return distance
