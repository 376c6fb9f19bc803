"""Results as pages show them: the family that knows a result, its headline, its figures as text."""

from __future__ import annotations

import functools
from types import ModuleType

from wug import registry
from wug.runs.shelf import Summary
from wug.show.families import Shown, _generic, overall, shown
from wug.types import Estimate, Result, Signature


@functools.cache
def family(kind: str) -> ModuleType:
    """The report's module about a family; the generic one where there is none."""
    return registry.find("show.families", kind) if kind in _families() else _generic


@functools.cache
def page_family(kind: str) -> ModuleType:
    """The site's module about a family; the generic one where there is none."""
    known = registry.names("web.families")
    return registry.find("web.families", kind if kind in known else "other")


def headline(kept: Summary) -> Shown | None:
    """What stands for a result in the grid; None where it has no estimate."""
    about = (kept.suite, kept.kind, kept.model, kept.status, Signature(), kept.n)
    return headline_of(Result(*about, kept.estimates, checks=kept.checks))


def headline_of(result: Result) -> Shown | None:
    """The same, of a result."""
    return None if result.headline is None else shown(result, result.headline)


def estimate_shown(result: Result, estimate: Estimate) -> Shown:
    """An estimate as text, shares in per cent."""
    return shown(result, estimate)


def overall_shown(result: Result) -> list[Shown]:
    """The estimates over all items that are for a first look."""
    return overall(result)


@functools.cache
def _families() -> frozenset[str]:
    return frozenset(registry.names("show.families"))
