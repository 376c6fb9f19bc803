"""SyntaxGym suites: is a region more surprising in one condition than in another?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wug.errors import InputError
from wug.families.syntaxgym.files import FIELDS, choices, is_table
from wug.families.syntaxgym.files import OPTIONS as OPTIONS
from wug.families.syntaxgym.read import inspect, read_suite
from wug.families.syntaxgym.suite import SUMMARY, SyntaxGymSuite, metric_label
from wug.families.syntaxgym.tables import is_suite_table
from wug.families.syntaxgym.write import evaluated_json as evaluated_json
from wug.families.syntaxgym.write import json_text, left_out_of_csv, to_csv, to_json
from wug.families.syntaxgym.write import surprisals as surprisals
from wug.families.syntaxgym.write import to_sample as to_sample
from wug.families.syntaxgym.write import tsv as tsv
from wug.files import write_text
from wug.problems import Problem, ProblemList
from wug.record_tables import suffix_of
from wug.traits import FamilyTraits

TRAITS = FamilyTraits(
    "wug-causal", summary=SUMMARY, across_suites="circuit", metric_label=metric_label, fallback_suffixes=(".json",)
)


def recognises(path: Path, head: str) -> bool:
    """Whether a file is JSON with a field of a suite, or a table with the columns of one."""
    if path.is_dir():
        return False
    if is_table(path):
        return is_suite_table(head)
    return suffix_of(path) == ".json" and any(f'"{key}"' in head for key in FIELDS)


def read(path: Path, options: Mapping[str, str]) -> list[SyntaxGymSuite]:
    """The suite in a .json or .csv file, as a list of one."""
    suite = read_suite(path, choices(options))
    return [suite.without(options.get("exclude"), path, lambda item: (str(item.number), {}))]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Every error and warning about a suite file, errors first."""
    problems = ProblemList()
    inspect(path, choices(options), problems)
    return problems


def read_back(suite: SyntaxGymSuite) -> list[str]:
    """How a table was read, and the predictions of a suite in English."""
    texts = [prediction.formula.english(suite.regions) for prediction in suite.predictions]
    return [*filter(None, [suite.understood]), *(f"prediction {n}: {text}" for n, text in enumerate(texts, 1))]


def convert(source: Path, target: Path, options: Mapping[str, str]) -> list[str]:
    """Write a suite as .json, .csv or .tsv, by the target's name; the fields that were lost, in words."""
    suite = read_suite(source, choices(options))
    kind = target.suffix.lower()
    notes = [suite.understood] if suite.understood else []
    if kind == ".json":
        write_text(target, json_text(to_json(suite)))
        return notes
    if kind in (".csv", ".tsv"):
        write_text(target, to_csv(suite, "\t" if kind == ".tsv" else ","))
        return [*notes, *left_out_of_csv(suite)]
    raise InputError(f"a suite can be written as .json, .csv or .tsv, not as {kind or 'a file without a suffix'!r}")
