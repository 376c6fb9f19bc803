"""Choices: does the model prefer the right one of several options, given a context?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from wug.errors import InputError
from wug.families.choices import formats
from wug.families.choices.items import OPTIONS as OPTIONS
from wug.families.choices.items import ChoiceItem, ChoicesSettings, lint, lint_repeated
from wug.families.choices.suite import ChoicesSuite
from wug.families.choices.suite import from_sample as from_sample
from wug.families.choices.suite import to_sample as to_sample
from wug.families.choices.task_file import is_task, read_tasks
from wug.files import checksum, head, shortened
from wug.interfaces import Suite
from wug.problems import Problem, ProblemList, refuse_errors
from wug.record_tables import stem
from wug.traits import FamilyTraits

TRAITS = FamilyTraits(
    builtin_model="wug-causal",
    breakdown=("domain", "phenomenon", "negative_sample", "operations", "type"),
    chance_levels={"accuracy": "chance"},
    column_hint="--kind choices -S context=COLUMN -S options=COLUMN,COLUMN -S answer=COLUMN",
    sample_options=0,
)


def recognises(path: Path, head: str) -> bool:
    """Whether a file is in a format of choices."""
    return path.is_file() and (is_task(path, head) or formats.format_of(head) is not None)


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The suites of a file; SuiteError with all errors. An lm-eval task has its own links unless others are given."""
    settings = ChoicesSettings.of(options)
    if is_task(path, head(path)):
        linked = "link" in options or "normalise" in options
        suites = [
            ChoicesSuite(
                task.name,
                task.choices,
                _checksum(task.choices),
                settings=settings if linked else replace(settings, links=task.links),
                format="lm-eval",
                protocol="lm-eval",
            )
            for task in read_tasks(path)
        ]
    else:
        format, choices, problems = formats.parse(path, settings)
        refuse_errors(problems, path)
        if not choices:
            raise InputError("the file has no items", file=path)
        notices = tuple(map(str, lint(choices, settings)))
        suite = ChoicesSuite(stem(path), tuple(choices), _checksum(choices), notices, settings=settings, format=format)
        suites = [suite]
    return [suite.without(options.get("exclude"), path, lambda item: (item.item, item.groups)) for suite in suites]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """All errors and warnings about a file."""
    settings = ChoicesSettings.of(options)
    problems = ProblemList()
    if is_task(path, head(path)):
        choices = [choice for task in read_tasks(path) for choice in task.choices]
    else:
        _, choices, problems = formats.parse(path, settings)
    found = ProblemList.of(problems, lint(choices, settings), lint_repeated(choices))
    if not choices and not found:
        found.error("", "the file has no items")
    return found


def read_back(suite: ChoicesSuite) -> list[str]:
    """How a file was read: the first item, with its right option."""
    first = suite.items[0]
    texts = [repr(shortened(candidate.text)) for candidate in first.candidates]
    right, others = texts[first.right], texts[: first.right] + texts[first.right + 1 :]
    return [f"read as {suite.format}; first item: {', '.join([f'{right} (right)', *others])}"]


def _checksum(choices: Sequence[ChoiceItem]) -> str:
    """The checksum of the items, whatever the order of their names."""
    lines = []
    for choice in sorted(choices, key=attrgetter("item")):
        candidates = (part for candidate in choice.candidates for part in (candidate.context, candidate.option))
        groups = (f"{name}={value}" for name, value in choice.groups.items())
        lines.append("\t".join((choice.item, str(choice.right), *candidates, *groups)))
    return checksum(*lines)
