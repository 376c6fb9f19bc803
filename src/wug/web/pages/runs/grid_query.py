"""What the address of the grid, or of the list of runs, asks for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from starlette.datastructures import QueryParams

from wug.web.site import address, page_number

PINS = 20
"""Rows or columns that can be pinned."""
NAMES = {"text": "q", "pins": "pin", "pinned_suites": "pincol"}
"""What fields are called in an address where it is something else."""
USUAL = "-newest"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wishes in an address."""

    text: str = ""
    """What a model's name contains; of a run, also its own name, its number, command, note or a suite."""
    kind: str = ""
    circuit: str = ""
    suite: str = ""
    """What a suite's name contains."""
    model: str = ""
    """The identity of a model."""
    status: str = ""
    show: str = ""
    """`drafts` or `removed`; other runs where it is neither."""
    sort: str = USUAL
    """A column, or `suite:NAME`; with `-` in front from the top down."""
    page: int = 1
    columns: int = 1
    """The page of suites."""
    pins: tuple[str, ...] = ()
    """Keys of rows that come first."""
    pinned_suites: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: QueryParams) -> Wanted:
        """What an address asks for; what makes no sense is as if it were not there."""
        return cls(
            text=query.get("q", "").strip(),
            kind=query.get("kind", ""),
            circuit=query.get("circuit", ""),
            suite=query.get("suite", ""),
            model=query.get("model", ""),
            status=query.get("status", ""),
            show=query.get("show", ""),
            sort=query.get("sort") or USUAL,
            page=page_number(query.get("page", "")),
            columns=page_number(query.get("columns", "")),
            pins=tuple(dict.fromkeys(query.getlist("pin")))[:PINS],
            pinned_suites=tuple(dict.fromkeys(query.getlist("pincol")))[:PINS],
        )

    @property
    def filtered(self) -> bool:
        """Whether it asks for a part alone."""
        return bool(self.text or self.kind or self.circuit or self.suite or self.model or self.status)

    def link(self, path: str = "/", **changed: Any) -> str:
        """The address of the same with something changed."""
        usual = Wanted()
        given: dict[str, Any] = {}
        for field in fields(self):
            value = changed.get(field.name, getattr(self, field.name))
            given[NAMES.get(field.name, field.name)] = "" if value == getattr(usual, field.name) else value
        return address(path, given)

    def sorted_by(self, column: str, path: str = "/") -> str:
        """The address of the same sorted by a column; by the one it is sorted by, the other way round."""
        falls = column in ("newest", "run", "started", "suites") or column.startswith("suite:")
        usual, other = (f"-{column}", column) if falls else (column, f"-{column}")
        return self.link(path, sort=other if self.sort == usual else usual, page=1)

    def pinning(self, key: str) -> str:
        """The address of the same with a row pinned, or no longer pinned."""
        return self.link(pins=_toggled(self.pins, key))

    def pinning_suite(self, suite: str) -> str:
        """The address of the same with a column pinned, or no longer pinned."""
        return self.link(pinned_suites=_toggled(self.pinned_suites, suite))


def _toggled(pins: tuple[str, ...], key: str) -> tuple[str, ...]:
    return tuple(pin for pin in pins if pin != key) if key in pins else (*pins, key)
