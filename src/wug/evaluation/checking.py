"""Checks files and folders of suites, and reports how they were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wug.data import DataLocation
from wug.errors import InputError, SuiteError
from wug.evaluation.suites import counts, known_family, read_location, recognised_family
from wug.options import names, refuse_unknown
from wug.problems import Problem, capped


def check_file(path: Path, family: str | None = None, options: Mapping[str, str] | None = None) -> list[Problem]:
    """The errors and warnings about a file, as read with these options; a hundred at most."""
    chosen_options = options or {}
    reader = recognised_family(path, family, chosen_options)
    refuse_unknown(chosen_options, names(reader.OPTIONS), reader.name)
    try:
        return capped(reader.check(path, chosen_options))
    except SuiteError as error:
        return capped(error.problems)
    except InputError as error:
        return [Problem("error", error.place or "", error.message)]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of checking a file or folder."""

    problems: Sequence[Problem]
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of items by file or suite; empty if there are errors."""
    meaning: Sequence[str] = ()
    """How it was read and what it tests, in English, if its family has `read_back`."""


def check_location(place: DataLocation, family: str | None, options: Mapping[str, str]) -> CheckReport:
    """Check a file or folder; without errors, also read it and count its items."""
    chosen_options = {**place.options, **options}
    try:
        reader = recognised_family(place.path, family or known_family(place), chosen_options)
        known_options = names(reader.OPTIONS)
        own_options = {name: value for name, value in chosen_options.items() if name in known_options}
        problems = check_file(place.path, reader.name, own_options)
        if any(problem.level == "error" for problem in problems):
            return CheckReport(problems)
        suites = read_location(place, reader, options)
    except SuiteError as error:
        return CheckReport(error.problems)
    except InputError as error:
        return CheckReport([Problem("error", "" if error.file is None else error.place or "", error.message)])
    meaning = [line for suite in suites for line in reader.read_back(suite)]
    items_by_file = counts(place, suites)
    within = {file.removeprefix(f"{place.path}/"): items for file, items in items_by_file.items()}
    return CheckReport(problems, within, meaning)
