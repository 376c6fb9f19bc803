"""Views of PCFG SET results: accuracy and consistency by function, depth, length and steps; answers and targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from wug.families.pcfgset.view import localism, overgeneralisation, plain, substitutivity
from wug.rows import Rows
from wug.types import Result
from wug.views.grouped import overall_parts
from wug.views.parts import ItemsView, ViewPart

TESTS: Mapping[str, ModuleType] = {
    "unrolled_accuracy": localism,
    "accuracy_twin": substitutivity,
    "overgeneralisation": overgeneralisation,
}
"""The view of a test, by a metric that only this test declares; all others are plain."""


QUESTIONS = {
    "localism": "Is the output for the whole the same as that of its parts, computed step by step?",
    "substitutivity": "Does the output stay the same if a function is replaced by its synonym?",
    "overgeneralisation": "Does the model apply the rule to sources that training gives as exceptions?",
    "systematicity": "Does the model combine known functions in pairs that training does not have?",
    "productivity": "Does the model compute sequences that are longer than those of training?",
    "task_accuracy": "Does the model compute new sources like those of training?",
}


def question(result: Result) -> str:
    """What the test asks; empty for an unknown one."""
    return QUESTIONS.get(str(result.meta.get("test")), "")


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Estimates over all items, and the parts of the test."""
    yield from overall_parts(result)
    yield from _test(result).parts(result, rows)


def items(result: Result, rows: Rows) -> ItemsView:
    """Every item with its answers."""
    found: ItemsView = _test(result).items(result)
    return found


def _test(result: Result) -> ModuleType:
    declared = {metric.name for metric in result.metrics}
    return next((test for metric, test in TESTS.items() if metric in declared), plain)
