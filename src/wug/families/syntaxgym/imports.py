"""The published tables of SyntaxGym results as runs: model, suite, item (from 0), correct."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from wug.errors import InputError
from wug.exchange.imported import ImportedRun, ImportedSuite
from wug.families.syntaxgym.suite import SUMMARY, circuit
from wug.outcomes import Outcome
from wug.problems import refuse_errors
from wug.record_tables import read_table

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
        table = read_table(path)
        refuse_errors(table.problems, path)
        for place, fields in table.records:
            model, name, item, correct = (fields[column] for column in COLUMNS)
            if correct not in VALUES or not item.isdecimal():
                message = f"{model},{name},{item},{correct}: item is a number, and correct is True or False"
                raise InputError(message, file=path, place=place)
            if (model, name, item) in seen:
                raise InputError(f"item {item} of {name} is there twice for {model}", file=path, place=place)
            seen.add((model, name, item))
            suite = runs.setdefault(model, {}).setdefault(name, _suite(name))
            groups = {"circuit": name_of_circuit} if (name_of_circuit := circuit(name)) else {}
            suite.add(Outcome(str(int(item) + 1), SUMMARY, VALUES[correct], groups))
        if not runs:
            raise InputError("the table has no rows", file=path)
        for model, suites in runs.items():
            tests = list(suites.values())
            yield ImportedRun(model.rstrip("_"), "", "syntaxgym", "syntactic-generalization 2020", [path], tests)


def _suite(name: str) -> ImportedSuite:
    suite = ImportedSuite(name, "syntaxgym", {"task": name})
    suite.declare(SUMMARY, share=True, meaning="all predictions of the suite hold for the item")
    return suite
