"""Rows of the run store as objects, and what is wanted of them as SQL."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wug.errors import StoreError
from wug.runs.seals import outcome_seal, summary_seal
from wug.types import Check, Estimate, Outcome, Status, Value


@dataclass(frozen=True, slots=True)
class Kept:
    """A result as the store has it, without its groups and outcomes."""

    id: int
    run: int
    model: str
    suite: str
    kind: str
    status: Status
    n: int
    summary: str
    """As the store has it; it is read when it is asked for, since a page shows few of many."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Those over all items."""
        return _read(self.summary).estimates

    @property
    def checks(self) -> tuple[Check, ...]:
        """What they are; nothing of results that were kept before checks were."""
        return _read(self.summary).checks

    @property
    def circuit(self) -> str:
        """The test circuit; empty where it has none."""
        return _read(self.summary).circuit

    @property
    def fault(self) -> str:
        """Why its row cannot be read; empty where it can."""
        return _read(self.summary).fault


@dataclass(frozen=True, slots=True)
class Filter:
    """Which outcomes are wanted."""

    check: str | None = None
    value: str | None = None
    """`true`, `false` or `none`; None for all."""
    group: tuple[str, str] | None = None
    """Field and value."""
    text: str | None = None
    """What the item's name or its sentences contain."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An outcome with its place in the result."""

    place: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Summary:
    estimates: tuple[Estimate, ...] = ()
    checks: tuple[Check, ...] = ()
    circuit: str = ""
    fault: str = ""


def condition(wanted: Filter) -> tuple[str, tuple[Any, ...]]:
    """The rest of a SQL condition, and its values."""
    parts: list[str] = []
    values: list[Any] = []
    if wanted.check is not None:
        parts.append("measure = ?")
        values.append(wanted.check)
    if wanted.value is not None:
        kinds = {"true": "value = 1 AND judged = 1", "false": "value = 0 AND judged = 1", "none": "value IS NULL"}
        if wanted.value not in kinds:
            raise StoreError(f"{wanted.value!r} is no value to look for: {', '.join(kinds)}")
        parts.append(kinds[wanted.value])
    if wanted.group is not None:
        name, value = wanted.group
        parts.append("CASE WHEN json_valid(groups) THEN json_extract(groups, ?) END = ?")
        # A quotation mark cannot be written in a path: no field has one.
        values += [f'$."{name}"' if '"' not in name else "$.none", value]
    if wanted.text:
        parts.append("(instr(lower(item), ?) OR instr(lower(detail), ?))")
        values += [wanted.text.lower(), json.dumps(wanted.text.lower(), ensure_ascii=False)[1:-1]]
    return "".join(f" AND {part}" for part in parts), tuple(values)


def placed(row: Any) -> Placed:
    """An outcome of the store; refused where it is not as it was written."""
    if row["seal"] is not None and row["seal"] != outcome_seal(row):
        raise StoreError(f"outcome {row['place']} is damaged in the run store: its checksum does not fit")
    value: Value = bool(row["value"]) if row["judged"] else row["value"]
    groups, detail = mapping(row["groups"]), mapping(row["detail"])
    return Placed(row["place"], Outcome(str(row["item"]), str(row["measure"]), value, groups, detail))


def mapping(text: str) -> Mapping[str, Any]:
    """The mapping that a column holds; one that is damaged says so."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        return {"damaged": str(text)[:200]}
    return found if isinstance(found, dict) else {"damaged": str(text)[:200]}


def kept(row: Any) -> Kept:
    """A result of an overview."""
    return Kept(
        id=row["id"],
        run=row["run"],
        model=str(row["model"]),
        suite=str(row["suite"]),
        kind=str(row["kind"]),
        status=row["status"],
        n=row["n"] if isinstance(row["n"], int) else 0,
        summary=row["summary"] if row["summary_seal"] == summary_seal(row) else "",
    )


@functools.lru_cache(maxsize=4096)
def _read(summary: str) -> _Summary:
    if not summary:
        return _Summary(fault="its row is damaged (its checksum does not fit)")
    try:
        found = json.loads(summary)
        whole = tuple(Estimate(**fields) for fields in found["estimates"])
        checks = tuple(Check(*fields) for fields in found.get("checks") or ())
        return _Summary(whole, checks, str(found.get("circuit") or ""))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return _Summary(fault=f"its row is damaged ({error})")
