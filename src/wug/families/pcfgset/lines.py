"""Sources and targets as the published files have them, and everything that is wrong with a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError, SuiteError
from wug.families.pcfgset.language import SYMBOL, Expression, SourceFault, parse
from wug.files import read_text
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Line:
    """A source with its target."""

    item: str
    """What results call it: its line number, after the file's name where there are several files."""
    number: int
    source: str
    target: str
    expression: Expression
    groups: Mapping[str, str]
    """What results are broken down by."""


def line_of(found: Expression, target: str, number: int, item: str | None = None) -> Line:
    """A line, grouped by its outermost function, depth, length and number of functions."""
    groups = {
        "function": found.outermost or "none",
        "depth": str(found.depth),
        "length": str(found.length),
        "functions": str(found.functions),
    }
    return Line(item or str(number), number, " ".join(found.words), squeeze(target), found, groups)


def target_beside(source: Path) -> Path:
    """The `.tgt` file that belongs to a `.src` file, gzipped or not."""
    name = source.name.removesuffix(".gz").removesuffix(".src")
    plain, zipped = source.with_name(f"{name}.tgt"), source.with_name(f"{name}.tgt.gz")
    first, second = (zipped, plain) if source.name.endswith(".gz") else (plain, zipped)
    if not first.exists() and second.exists():
        return second
    return first


def read_pair(source: Path, target: Path | None = None) -> tuple[list[Line], list[Problem]]:
    """The lines of a `.src` file and its `.tgt` file, with the faults of both; faulty lines are left out."""
    target = target or target_beside(source)
    if not target.exists():
        raise InputError(f"the targets are missing: there is no {target.name} beside it", file=source)
    sources, problems = text_lines(source)
    targets, more = text_lines(target)
    problems += more
    if len(sources) != len(targets):
        shorter, longer = (source, target) if len(sources) < len(targets) else (target, source)
        last = min(len(sources), len(targets))
        counts = f"{source.name} has {len(sources):,} lines, {target.name} {len(targets):,}"
        message = f"{counts}: nothing in {shorter.name} belongs to this line"
        problems.append(Problem("error", at(longer, last + 1), message))
    lines: list[Line] = []
    for number, (words, wanted) in enumerate(zip(sources, targets, strict=False), 1):
        expression = parsed(words, source, number)
        fault = target_fault(wanted, target, number)
        if isinstance(expression, Problem):
            problems.append(expression)
        elif fault:
            problems.append(fault)
        else:
            lines.append(line_of(expression, wanted, number))
    return lines, problems


def text_lines(path: Path) -> tuple[list[str], list[Problem]]:
    """The lines of a file without their ends, and a warning where these are CRLF."""
    text = read_text(path)
    problems = []
    if "\r\n" in text:
        first = text[: text.index("\r\n")].count("\n") + 1
        crlf = text.count("\r\n")
        message = f"lines end in CRLF ({crlf:,} of them, this is the first); they are read as if in LF"
        problems.append(Problem("warning", at(path, first), message))
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    if not lines:
        problems.append(Problem("error", path.name, "the file is empty"))
    return lines, problems


def wrong_targets(lines: Sequence[Line], target: Path) -> list[Problem]:
    """Targets that are not what their source means."""
    problems = []
    for line in lines:
        right = " ".join(line.expression.meaning())
        if right != line.target:
            message = f"the target is not what the source means\n    target {line.target}\n    means  {right}"
            problems.append(Problem("error", at(target, line.number), message))
    return problems


def repeated(lines: Sequence[Line], source: Path) -> list[Problem]:
    """A warning where sources occur more than once."""
    first: dict[str, int] = {}
    again = [line for line in lines if first.setdefault(line.source, line.number) != line.number]
    if not again:
        return []
    message = f"the source of line {first[again[0].source]} again; {len(again):,} lines repeat an earlier one"
    return [Problem("warning", at(source, again[0].number), message)]


_SHOWN = 20
"""Faults that an error lists; `wug check` lists them all."""


def refuse(problems: Sequence[Problem], path: Path) -> None:
    """SuiteError where there are faults among the problems, the first of them listed."""
    faults = [problem for problem in problems if problem.level == "error"]
    if faults:
        more = len(faults) - _SHOWN
        rest = [Problem("error", "", f"{more:,} more; `wug check` lists them all")] if more > 0 else []
        raise SuiteError([*faults[:_SHOWN], *rest], file=path)


def at(path: Path, number: int) -> str:
    """The place of a line."""
    return f"{path.name}, line {number}"


def squeeze(text: str) -> str:
    """A text with one space between its words and none around them."""
    return " ".join(text.split())


def parsed(source: str, path: Path, number: int) -> Expression | Problem:
    """What a source is made of, or what is wrong with it."""
    try:
        expression = parse(source)
        expression.meaning()
    except SourceFault as fault:
        return Problem("error", f"{at(path, number)}, column {fault.start + 1}", fault.args[0])
    except InputError as fault:
        return Problem("error", at(path, number), fault.message)
    return expression


def target_fault(target: str, path: Path, number: int) -> Problem | None:
    """What is wrong with a target, if anything."""
    words = target.split()
    if not words:
        return Problem("error", at(path, number), "the target is empty")
    wrong = next((word for word in words if not SYMBOL.fullmatch(word)), None)
    if wrong is None:
        return None
    return Problem("error", at(path, number), f"{wrong!r} is no symbol. A target is symbols from A1 to Z20")
