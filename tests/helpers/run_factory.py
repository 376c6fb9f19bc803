"""Builds stored runs from given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wug.outcomes import Outcome, Result, Value
from wug.results.store import Store
from wug.stats import estimates

Values = Mapping[str, Sequence[Value]]
"""The values of each metric, by item."""


def outcomes(values: Values, items: Sequence[str] | None = None, **detail: Any) -> list[Outcome]:
    """One outcome per value; items without names are numbered from 1."""
    longest = max(map(len, values.values()))
    names = items or [str(number + 1) for number in range(longest)]
    return [
        Outcome(names[place], metric, column[place], {}, {"sentence": f"sentence {names[place]}", **detail})
        for place in range(longest)
        for metric, column in values.items()
        if place < len(column)
    ]


def result(suite: str, model: str, rows: Sequence[Outcome], *, mark: str = "1f3a", **changes: Any) -> Result:
    """A result with these outcomes; `options` are fields of the signature."""
    options = "".join(f"|{key}:{value}" for key, value in changes.pop("options", {"unit": "bits"}).items())
    fields: dict[str, Any] = {
        "suite": suite,
        "kind": "pairs",
        "model": model,
        "status": "complete",
        "signature": f"wug:0|suite:{suite}@{mark}|model:{model}{options}",
        "n": len({row.item for row in rows}),
        "estimates": tuple(estimates(rows)),
        "outcomes": tuple(rows),
    }
    return Result(**{**fields, **changes})


def keep(
    path: Path, *results: Result, status: str = "complete", command: str = "wug run x", revision: str | None = None
) -> int:
    """Store a run with these results; returns its number."""
    store = Store(path)
    model = results[0].model if results else "causal/x@1"
    number = store.begin(f"{len(store.runs())}", model, command, revision=revision)
    for one in results:
        store.add(number, one)
    if status != "running":
        store.finish(number, status)  # type: ignore[arg-type]
    store.close()
    return number
