"""The published tables of SyntaxGym results as runs: model, suite, item (from 0), correct."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from wug.errors import InputError
from wug.exchange.imported import ImportedRun, ImportedSuite
from wug.families.syntaxgym.suite import SUMMARY, circuit
from wug.files import iterate_lines
from wug.types import Outcome

COLUMNS = ["model", "suite", "item", "correct"]
VALUES = {"True": True, "False": False}


def recognises(path: Path, head: str) -> bool:
    """Whether a file is such a table."""
    return head.partition("\n")[0].strip().split(",") == COLUMNS


def read(files: Sequence[Path]) -> Iterator[ImportedRun]:
    """One run per model of a file."""
    for path in files:
        runs: dict[str, dict[str, ImportedSuite]] = {}
        seen: set[tuple[str, ...]] = set()
        for number, row in enumerate(csv.reader(iterate_lines(path)), 1):
            place = f"line {number}"
            if number == 1 or not row:
                continue
            if len(row) != len(COLUMNS) or row[3] not in VALUES or not row[2].isdecimal():
                message = f"{','.join(row)!r}: a row is a model, a suite, the number of an item, and True or False"
                raise InputError(message, file=path, place=place)
            model, name, item, correct = row
            if (model, name, item) in seen:
                raise InputError(f"item {item} of {name} is there twice for {model}", file=path, place=place)
            seen.add((model, name, item))
            suite = runs.setdefault(model, {}).setdefault(name, _suite(name))
            groups = {"circuit": name_of_circuit} if (name_of_circuit := circuit(name)) else {}
            suite.add(Outcome(str(int(item) + 1), SUMMARY, VALUES[correct], groups))
        if not runs:
            raise InputError("the table has no rows", file=path)
        for model, suites in runs.items():
            named = model.rstrip("_")
            yield ImportedRun(named, "", "syntaxgym", "syntactic-generalization 2020", [path], list(suites.values()))


def _suite(name: str) -> ImportedSuite:
    suite = ImportedSuite(name, "syntaxgym", {"task": name})
    suite.declare(SUMMARY, share=True, meaning="all predictions of the suite hold for the item")
    return suite
