"""PCFG SET: accuracy and consistency by function, depth, length and steps; answers beside what they should be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from wug.families.pcfgset.view import localism, overgeneralisation, plain, substitutivity
from wug.rows import Rows
from wug.types import Result
from wug.views.grouped import overall_parts
from wug.views.parts import Items, Part

TESTS: Mapping[str, ModuleType] = {
    "unrolled_accuracy": localism,
    "accuracy_twin": substitutivity,
    "overgeneralisation": overgeneralisation,
}
"""What shows a test, by a check that this test alone declares; all others are plain."""


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Estimates over all items, and what the test itself has to show."""
    yield from overall_parts(result)
    yield from _test(result).parts(result, rows)


def items(result: Result, rows: Rows) -> Items:
    """Every item with its answers, as the test itself shows them."""
    found: Items = _test(result).items(result)
    return found


def _test(result: Result) -> ModuleType:
    declared = {check.name for check in result.checks}
    return next((test for check, test in TESTS.items() if check in declared), plain)
