"""Faults and oddities of a suite, collected so that a user sees them all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from wug.errors import FormulaError, SuiteError
from wug.types import Problem

SHOWN = 20
"""So many faults an error lists; the rest it counts."""
KEPT = 1000
"""So many of a kind are kept: a broken file of 50 MB may have a million."""


@dataclass(slots=True)
class Faults:
    """What is wrong with a file, or odd about it."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    formula_errors: list[FormulaError] = field(default_factory=list)
    uncounted: int = 0
    """Errors beyond those kept."""

    def error(self, place: str, message: str) -> None:
        """Note something that keeps the suite from being used."""
        if len(self.errors) < KEPT:
            self.errors.append(Problem("error", place, message))
        else:
            self.uncounted += 1

    def formula(self, place: str, error: FormulaError) -> None:
        """Note a prediction that cannot be read, with its caret."""
        self.formula_errors.append(error)
        self.error(place, str(error))

    def warn(self, place: str, message: str) -> None:
        """Note something odd that does not keep the suite from working."""
        if len(self.warnings) < KEPT:
            self.warnings.append(Problem("warning", place, message))

    def raise_any(self, path: Path | str) -> None:
        """SuiteError where there are errors; a lone faulty prediction raises its own FormulaError."""
        if not self.errors:
            return
        if len(self.errors) == 1 and self.formula_errors:
            fault = self.formula_errors[0]
            raise FormulaError(
                fault.message, fault.formula, fault.start, fault.end, file=path, place=self.errors[0].place
            )
        total = len(self.errors) + self.uncounted
        shown = self.errors[:SHOWN]
        if total > SHOWN:
            shown.append(Problem("error", "", f"… and {total - SHOWN} more faults; wug check lists them"))
        raise SuiteError(shown, file=path)

    def problems(self) -> list[Problem]:
        """Everything, errors first."""
        rest = [Problem("error", "", f"… and {self.uncounted} more faults")] if self.uncounted else []
        return [*self.errors, *rest, *self.warnings]


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}" if len(str(value)) < 40 else "a number"
        case str():
            return f"the text {value!r}" if len(value) < 40 else f"the text {value[:39]!r}…"
        case list():
            return "a list"
        case _:
            return "an object"
