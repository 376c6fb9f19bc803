"""Sentences marked as right or wrong: `True`/`False` rows (CLAMS) and the Marvin–Linzen tables."""

from __future__ import annotations

import re
from pathlib import Path

from wug.errors import InputError
from wug.families.pairs.pair import GroupPool, Pair, Parsed, without_eos
from wug.files import read_lines
from wug.types import Problem

_MARK = re.compile(r"(True|False)\t\S")
_LANGUAGE = re.compile(r"(?:^|/)([a-z]{2})_evalset(?:/|__)")
"""Where CLAMS has the language: in the name of a folder."""
_NAME = re.compile(r"[A-Za-z][\w-]*")
_SAMPLE_HEADER = ("test case", "grammatical", "ungrammatical")


def recognises_marks(path: Path, head: str) -> bool:
    """Whether every line is `True` or `False` and a sentence."""
    lines = _whole_lines(head)
    return bool(lines) and all(_MARK.match(line) and line.count("\t") == 1 for line in lines)


def recognises_cases(path: Path, head: str) -> bool:
    """Whether the lines are test case, condition, and two or three sentences; or have the sample's header."""
    lines = [line.split("\t") for line in _whole_lines(head)]
    if lines and tuple(lines[0]) == _SAMPLE_HEADER:
        return True
    return bool(lines) and all(_is_case(fields) for fields in lines)


def parse_marks(path: Path) -> Parsed:
    """The pairs of True/False rows: each False row with the last True row above it; the file names the pattern."""
    pairs: list[Pair] = []
    problems: list[Problem] = []
    language = _LANGUAGE.search(path.absolute().as_posix())
    groups = GroupPool().of({"pattern": stem(path), "language": language[1] if language else ""})
    good: str | None = None
    idle: int | None = None
    for number, line in _numbered(path):
        label, tab, text = line.partition("\t")
        sentence = without_eos(text)
        if label not in ("True", "False") or not tab or not sentence:
            what = f"{line[:60]!r} is not True or False, a tab, and a sentence"
            problems.append(Problem("error", f"line {number}", what))
        elif label == "True":
            problems += _without_false(idle)
            good, idle = sentence, number
        elif good is None:
            problems.append(Problem("error", f"line {number}", "a False row with no True row above it"))
        else:
            pairs.append(Pair(str(len(pairs) + 1), good, sentence, groups))
            idle = None
    return Parsed("true-false", pairs, [*problems, *_without_false(idle)])


def parse_cases(path: Path) -> Parsed:
    """The pairs of a Marvin–Linzen table; a row with two wrong sentences is two pairs, told apart by `contrast`."""
    pairs: list[Pair] = []
    problems: list[Problem] = []
    pool = GroupPool()
    sample = False
    for number, line in _numbered(path):
        fields = line.split("\t")
        if tuple(fields) == _SAMPLE_HEADER:
            sample = True
            continue
        if sample and len(fields) == 3:
            pattern, _, rest = fields[0].partition("--")
            fields = [pattern, rest.partition("--")[0], *fields[1:]]
        if len(fields) not in (4, 5) or not all(field.strip() for field in (fields[0], *fields[2:])):
            what = f"{len(fields)} fields, not test case, condition, a sentence and one or two wrong ones"
            problems.append(Problem("error", f"line {number}", what))
            continue
        pattern, condition, good, *wrong = fields
        for contrast, bad in enumerate(wrong, 1):
            found = {"pattern": pattern, "condition": condition, "contrast": str(contrast) if len(wrong) > 1 else ""}
            pairs.append(Pair(str(len(pairs) + 1), without_eos(good), without_eos(bad), pool.of(found)))
    return Parsed("marvin-linzen", pairs, problems)


def stem(path: Path) -> str:
    """A file's name without its endings (`.txt`, `.jsonl.gz`)."""
    name = path.name.removesuffix(".gz")
    return name.rsplit(".", 1)[0] if "." in name.lstrip(".") else name


def _is_case(fields: list[str]) -> bool:
    if len(fields) not in (4, 5) or not _NAME.fullmatch(fields[0]) or not _NAME.fullmatch(fields[1]):
        return False
    first, *others = ([*field.split()] for field in fields[2:])
    return len(first) > 1 and all(len(set(first) & set(other)) * 2 >= len(set(first)) for other in others)


def _whole_lines(head: str) -> list[str]:
    """The complete lines at the beginning of a file."""
    lines = head.replace("\r\n", "\n").split("\n")
    return [line for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()]


def _numbered(path: Path) -> list[tuple[int, str]]:
    lines = [(number, line) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    if not lines:
        raise InputError("the file is empty", file=path)
    return lines


def _without_false(number: int | None) -> list[Problem]:
    return [] if number is None else [Problem("error", f"line {number}", "a True row with no False row below it")]
