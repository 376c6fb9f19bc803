"""SCAN: does a model carry out commands in new combinations? (Lake & Baroni 2018)"""  # noqa: D415

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from wug.errors import InputError
from wug.families.scan.language import ACTIONS, answer
from wug.families.scan.suite import ScanSuite, looks_like_tasks, read_suite, read_tasks, wrong_targets
from wug.files import head as head_of
from wug.options import Option
from wug.options import read as read_options
from wug.problems import Problem, ProblemList
from wug.traits import FamilyTraits

OPTIONS = (
    Option(
        "oracle_length", bool, False, "also compute the accuracy of outputs cut or padded to the length of the target"
    ),
)

TRAITS = FamilyTraits(breakdown=("template",), oracle_symbols=ACTIONS)

_TEST = re.compile(r"tasks_test_.+\.txt(\.gz)?")
_FILE = re.compile(r"tasks.*\.txt(\.gz)?")


def recognises(path: Path, head: str) -> bool:
    """Whether a file has commands with actions, or a folder has files `tasks_test_*.txt` that do."""
    return bool(_files(path, _TEST)) if path.is_dir() else looks_like_tasks(head)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The SCAN files of a folder, each with the reason why it is not read (empty if it is)."""
    reason = "not a test file: name it to run it"
    return {file: "" if _TEST.fullmatch(file.name) else reason for file in _files(folder, _FILE)}


def read(path: Path, options: Mapping[str, str]) -> list[ScanSuite]:
    """The suite in a file, or those in the test files of a folder."""
    oracle_length = read_options(OPTIONS, options, "scan")["oracle_length"]
    files = _files(path, _TEST) if path.is_dir() else [path]
    if not files:
        raise InputError("no tasks_test_*.txt with commands here", file=path)
    return [read_suite(file, oracle_length=oracle_length) for file in files]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Every problem in a file, or in all SCAN files of a folder; every target is computed again."""
    all_problems = ProblemList()
    for file in _files(path, _FILE) if path.is_dir() else [path]:
        lines, problems = read_tasks(file)
        all_problems = ProblemList.of(all_problems, problems, wrong_targets(lines, file))
    return all_problems


def oracle(source: str, *, exception: bool = False) -> str:
    """The actions of a command, empty if it is not one; there are no exceptions."""
    return answer(source)


def _files(folder: Path, name: re.Pattern[str]) -> list[Path]:
    try:
        files = [file for file in sorted(folder.iterdir()) if name.fullmatch(file.name) and file.is_file()]
    except OSError:
        return []
    return [file for file in files if looks_like_tasks(head_of(file))]
