"""Families whose suites can be edited: those with a module `editor`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from wug import registry
from wug.errors import InputError
from wug.rows import Placed, Rows
from wug.types import Result
from wug.views.parts import Item

Document: TypeAlias = dict[str, Any]
"""A suite in its JSON form: `meta` with its name, `items`, and what else the family needs."""


class SuiteEditor(Protocol):
    """What the module `editor` of a family offers."""

    SUFFIXES: tuple[str, ...]
    """Suffixes of suite files, such as `.json`."""
    METRICS: Mapping[str, object]
    """Metrics of a suite, by name."""
    FIELDS: Sequence[tuple[str, str, str]]
    """Fields of `meta` that the editor shows: key, label, hint."""
    DESIGNS: Mapping[str, Callable[[], Document]]
    """Suites to begin with, by name."""

    def is_document(self, document: object) -> bool:
        """Whether a JSON value has the keys of a suite."""

    def is_suite(self, path: Path, head: str) -> bool:
        """Whether a file is probably a suite, from its name and its first characters."""

    def open_file(self, path: Path) -> tuple[Document, list[str]]:
        """The suite in a file, with any errors it has, and notes about changes; InputError if it is not a suite."""

    def open_table(self, path: Path) -> tuple[Document, list[str]]:
        """The suite in a table, and notes about changes; InputError if it is not a suite."""

    def suite_of_result(self, result: Result) -> Document:
        """The suite of a result of this family, with its outcomes."""

    def suite_of_item(self, result: Result, judgements: Sequence[Placed], item: Item) -> Document | None:
        """A suite of one item, of any family; None if its sentences are unknown."""

    def to_text(self, document: Mapping[str, Any], suffix: str) -> str:
        """A suite as the text of a file; InputError if it cannot be written."""

    def check(self, document: Mapping[str, Any], formulas: Sequence[str]) -> dict[str, Any]:
        """Check a suite: `predictions`, one entry per formula, and `problems`, as JSON data."""

    def scores(self, result: Result, rows: Rows) -> dict[str, Any]:
        """The scores of a suite as JSON data."""


@functools.cache
def suite_editors() -> dict[str, SuiteEditor]:
    """The editors by family."""
    found = {name: registry.submodule(family, "editor") for name, family in registry.usable("families")}
    return {name: cast(SuiteEditor, module) for name, module in found.items() if module is not None}


def default_family() -> str:
    """The family of new suites and opened files: the first that can be edited."""
    return next(iter(suite_editors()))


def default_editor() -> SuiteEditor:
    """The editor for new suites and opened files."""
    return suite_editors()[default_family()]


def editor_of(result: Result) -> SuiteEditor:
    """The editor for a result; InputError if its family has none."""
    editors = suite_editors()
    if result.kind not in editors:
        families = ", ".join(editors)
        raise InputError(f"{result.suite} is of the family {result.kind}: only suites of {families} open in the editor")
    return editors[result.kind]
