"""What of a result is shown: its headline alone, one breakdown, or those that are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from wug import registry
from wug.errors import InputError, UnknownName
from wug.identity import OVERALL, Group
from wug.types import Result

EVERY = OVERALL
"""The word for all breakdowns."""
MOST = 24
"""Groups that a breakdown which nobody asked for has at most."""


def headline(result: Result) -> Result:
    """The result with the estimate that stands for it and no other."""
    return replace(result, estimates=() if result.headline is None else (result.headline,))


def fields(result: Result) -> dict[str, int]:
    """The fields that a result is broken down by, each with its number of groups; one group says nothing."""
    groups = dict.fromkeys(one.group for one in result.estimates if result.check(one.check).headline)
    found = Counter(group.field for group in map(Group.parse, groups) if not group.is_overall)
    return {name: count for name, count in found.items() if count > 1}


def first_field(result: Result) -> str | None:
    """The field that a first look is broken down by: of those with few groups the family's own choice, or the first."""
    few = [name for name, count in fields(result).items() if count <= MOST]
    own: Sequence[str] = registry.offered("families", result.kind, "BREAKDOWN") or ()
    return next((name for name in (*own, *few) if name in few), None)


def broken_down(results: Sequence[Result], by: Sequence[str]) -> list[Result]:
    """The results with their estimates over all items and over the groups of some fields."""
    known = {Group.parse(one.group).field for result in results for one in result.estimates} - {OVERALL}
    for name in by:
        if not known:
            raise InputError(f"these results are not broken down by anything, so not by {name!r} either")
        if name not in known and name != EVERY:
            raise UnknownName("field", name, known | {EVERY})
    return [_with(result, by) for result in results]


def _with(result: Result, by: Sequence[str]) -> Result:
    shown = {OVERALL, *by}
    if EVERY in by:
        return result
    return replace(result, estimates=tuple(one for one in result.estimates if Group.parse(one.group).field in shown))
