"""SyntaxGym suites: is this region more surprising here than there?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.families.syntaxgym.checks import SUMMARY as SUMMARY
from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.files import FIELDS, is_table, plain_name
from wug.families.syntaxgym.options import OPTIONS as OPTIONS
from wug.families.syntaxgym.options import choices
from wug.families.syntaxgym.read import inspect, read_suite
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.families.syntaxgym.table_files import columns_of
from wug.families.syntaxgym.tables import surprisals as surprisals
from wug.families.syntaxgym.tables import tsv as tsv
from wug.families.syntaxgym.write import evaluated_json as evaluated_json
from wug.families.syntaxgym.write import json_text, left_out_of_csv, to_csv, to_json
from wug.files import write_text
from wug.types import Problem

BUILTIN_MODEL = "wug-causal"
FALLBACK_SUFFIXES = (".json",)
ACROSS_SUITES = "circuit"


def recognises(path: Path, head: str) -> bool:
    """Whether the file is a JSON file with a field of a suite, or a table with the columns of one."""
    if path.is_dir():
        return False
    if is_table(path):
        return columns_of(head) is not None
    return plain_name(path).endswith(".json") and any(f'"{key}"' in head for key in FIELDS)


def read(path: Path, options: Mapping[str, str]) -> list[SyntaxGymSuite]:
    """The suite in a .json or .csv file, as a list of one."""
    return [read_suite(path, choices(options))]


def check(path: Path, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Every fault and oddity of a suite file, faults first."""
    faults = Faults()
    try:
        inspect(path, choices(options or {}), faults)
    except InputError as error:
        return [Problem("error", error.place or "", error.message)]
    return faults.problems()


def read_back(suite: SyntaxGymSuite) -> list[str]:
    """How a table was read, and what each prediction of a suite says, in English."""
    how = [suite.understood] if suite.understood else []
    return how + [f"prediction {n}: {one.formula.english(suite.regions)}" for n, one in enumerate(suite.predictions)]


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a suite, with or without results."""
    found: dict[str, Any] = json.loads((resources.files(__name__) / "suite.schema.json").read_text(encoding="utf-8"))
    return found


def convert(source: Path, target: Path, options: Mapping[str, str]) -> list[str]:
    """Write a suite in the form that the target's name asks for (.json, .csv, .tsv); what got lost, in words."""
    suite = read_suite(source, choices(options))
    kind = target.suffix.lower()
    notes = [suite.understood] if suite.understood else []
    if kind == ".json":
        write_text(target, json_text(to_json(suite)))
        return notes
    if kind in (".csv", ".tsv"):
        write_text(target, to_csv(suite, "\t" if kind == ".tsv" else ","))
        return [*notes, *left_out_of_csv(suite)]
    raise InputError(f"a suite can be written as .json, .csv or .tsv, not as {kind or 'a file without an ending'!r}")
