"""Results as pages show them: the family that knows a result, its headline, its figures as text."""

from __future__ import annotations

import functools
from types import ModuleType

from wug import registry
from wug.report.families import Shown, _generic, is_share
from wug.report.families._grouped import as_shown
from wug.runs.browse import Kept
from wug.types import Estimate, Result

SHARES = frozenset({"accuracy", "consistency", "exact_match", "overgeneralisation", "memorisation"})
"""Checks that are shares, whatever their interval."""


@functools.cache
def family(kind: str) -> ModuleType:
    """The report's module about a family; the generic one where there is none."""
    return registry.find("report.families", kind) if kind in _families() else _generic


@functools.cache
def page_family(kind: str) -> ModuleType:
    """The site's module about a family; the generic one where there is none."""
    known = registry.names("web.families")
    return registry.find("web.families", kind if kind in known else "other")


def headline(kept: Kept) -> Shown | None:
    """What stands for a result in the grid; None where it has no estimate."""
    result = Result(kept.suite, kept.kind, kept.model, kept.status, "", kept.n, kept.estimates)
    return headline_of(result)


def headline_of(result: Result) -> Shown | None:
    """The same, of a result."""
    check = family(result.kind).headline(result)
    found = next((e for e in result.estimates if e.check == check and e.group == "all"), None)
    return None if found is None else estimate_shown(result, found)


def estimate_shown(result: Result, estimate: Estimate) -> Shown:
    """An estimate as text, shares in per cent."""
    share = is_share(result, estimate.check) or estimate.check.partition(":")[0] in SHARES
    return as_shown(result, estimate, share=share)


def overall_shown(result: Result) -> list[Shown]:
    """The estimates over all items; of a family that names its headlines, those alone."""
    whole = [estimate for estimate in result.estimates if estimate.group == "all"]
    chosen = result.meta.get("headlines") or [estimate.check for estimate in whole]
    return [estimate_shown(result, estimate) for estimate in whole if estimate.check in chosen]


@functools.cache
def _families() -> frozenset[str]:
    return frozenset(registry.names("report.families"))
