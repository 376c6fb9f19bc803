"""Errors and warnings about a file, collected so that a user sees all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from wug.errors import FormulaError, InputError, SuiteError

MAX_KEPT_PROBLEMS = 1000
"""Errors, and warnings, that are kept: a broken file of 50 MB may have a million."""
MAX_PROBLEMS = 100
"""Problems of a file that `wug check` lists; further ones are counted."""
MAX_LISTED_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or a warning about a file."""

    level: Literal["error", "warning"]
    place: str
    """Such as `item 12, condition match_sing, region 3`; empty for the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class ProblemList(list[Problem]):
    """The problems of a file, in the order in which they were found.

    `with problems:` adds an InputError that is raised in the block, and continues after it.
    """

    kept = dropped = dropped_warnings = 0
    """Errors that were added, and how many more errors and warnings were not kept."""
    formula_error: FormulaError | None = None
    """The last error in a prediction."""

    @classmethod
    def of(cls, *parts: Iterable[Problem]) -> Self:
        """The problems of all parts."""
        joined = cls()
        for part in parts:
            joined.extend(part)
            if isinstance(part, ProblemList):
                joined.dropped += part.dropped
                joined.dropped_warnings += part.dropped_warnings
        return joined

    def error(self, place: str, message: str) -> None:
        """Add an error: the file cannot be used."""
        if self.kept < MAX_KEPT_PROBLEMS:
            self.kept += 1
            self.append(Problem("error", place, message))
        else:
            self.dropped += 1

    def warn(self, place: str, message: str) -> None:
        """Add a warning: the file can be used, but its author should know."""
        if len(self) < 2 * MAX_KEPT_PROBLEMS:
            self.append(Problem("warning", place, message))
        else:
            self.dropped_warnings += 1

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, InputError):
            self.error(error.place or "", error.message)
        return isinstance(error, InputError)

    @property
    def errors(self) -> list[Problem]:
        """The errors."""
        return [problem for problem in self if problem.level == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """The warnings."""
        return [problem for problem in self if problem.level == "warning"]


def refuse_errors(problems: ProblemList, path: Path | str) -> None:
    """Raise a SuiteError with the first errors among problems; FormulaError for a single error in a prediction."""
    if errors := problems.errors:
        if len(errors) == 1 and (one := problems.formula_error):
            raise FormulaError(one.message, one.formula, one.start, one.end, file=path, place=errors[0].place)
        more = len(errors) + problems.dropped - MAX_LISTED_ERRORS
        listed = "them all" if len(errors) <= MAX_PROBLEMS else f"the first {MAX_PROBLEMS}"
        rest = [Problem("error", "", f"{more:,} more; `wug check` lists {listed}")] if more > 0 else []
        raise SuiteError([*errors[:MAX_LISTED_ERRORS], *rest], file=path)


def capped(problems: Iterable[Problem]) -> list[Problem]:
    """The first hundred problems, errors first, and the number of the others."""
    found = ProblemList.of(problems)
    ordered = sorted(found, key=lambda problem: problem.level != "error")
    if len(ordered) <= MAX_PROBLEMS:
        return ordered
    more = len(ordered) - MAX_PROBLEMS + found.dropped + found.dropped_warnings
    return [*ordered[:MAX_PROBLEMS], Problem(ordered[MAX_PROBLEMS].level, "", f"{more:,} more like these")]
