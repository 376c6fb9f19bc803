"""Choices: does the model find the right one of several options, given a context?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wug.errors import InputError, SuiteError
from wug.families.choices import formats, oddities
from wug.families.choices.choice import Candidate, Choice
from wug.families.choices.settings import OPTIONS, settings
from wug.families.choices.suite import ChoicesSuite
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.oddities import capped
from wug.files import checksum, shortened
from wug.types import Problem, Suite

__all__ = [
    "BREAKDOWN",
    "OPTIONS",
    "Candidate",
    "Choice",
    "ChoicesSuite",
    "check",
    "read",
    "read_back",
    "recognises",
    "schema",
]

BREAKDOWN = ("domain", "phenomenon", "negative_sample", "operations", "type")
"""What a first look at a result is broken down by: the first that there is."""

BUILTIN_MODEL = "wug-causal"
COLUMN_HINT = "--kind choices -S context=COLUMN -S options=COLUMN,COLUMN -S answer=COLUMN"


def recognises(path: Path, head: str) -> bool:
    """Whether a file has choices in it, in any of the known formats."""
    return path.is_file() and formats.format_of(head) is not None


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The one suite of a file, or one error with all faults."""
    chosen = settings(options)
    parsed = formats.parse(path, chosen)
    faults = [problem for problem in parsed.problems if problem.level == "error"]
    if faults:
        raise SuiteError(capped(faults), file=path)
    if not parsed.choices:
        raise InputError("there are no items in it", file=path)
    notices = tuple(str(problem) for problem in oddities.counted(parsed.choices, chosen))
    return [ChoicesSuite(stem(path), tuple(parsed.choices), chosen, parsed.format, notices, _checksum(parsed.choices))]


def check(path: Path, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Every fault and oddity of a file."""
    chosen = settings(options or {})
    try:
        parsed = formats.parse(path, chosen)
    except InputError as error:
        return [Problem("error", error.place or "", error.message)]
    found = [*parsed.problems, *oddities.counted(parsed.choices, chosen), *oddities.repeated(parsed.choices)]
    if not parsed.choices and not found:
        found.append(Problem("error", "", "there are no items in it"))
    return capped(found)


def read_back(suite: ChoicesSuite) -> list[str]:
    """How a file was read: which option is the right one."""
    first = suite.choices[0]
    texts = [repr(shortened(one.text)) for one in first.candidates]
    right, others = texts[first.right], texts[: first.right] + texts[first.right + 1 :]
    return [f"read as {suite.format}; first item: {', '.join([f'{right} (right)', *others])}"]


def schema() -> dict[str, Any]:
    """A JSON Schema of one line of a JSONL file of choices."""
    text = {"type": "string", "minLength": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A choice: one line of a JSONL file",
        "type": "object",
        "required": ["context", "options", "answer"],
        "properties": {
            "context": {"type": "string", "description": "what stands before the option, and is given"},
            "options": {"type": "array", "items": text, "minItems": 2, "description": "what the model chooses from"},
            "answer": {
                "type": ["string", "integer"],
                "description": "the right option: number from 1, or text",
            },
            "item": {"type": ["string", "integer"], "description": "what the item is called"},
        },
    }


def _checksum(choices: list[Choice]) -> str:
    """The same for any order of the items, except among those of one name."""
    return checksum(*(_line(choice) for choice in sorted(choices, key=lambda choice: choice.item)))


def _line(choice: Choice) -> str:
    candidates = (part for one in choice.candidates for part in (one.context, one.option))
    groups = (f"{name}={value}" for name, value in choice.groups.items())
    return "\t".join((choice.item, str(choice.right), *candidates, *groups))
