"""Sweeps in the store: many models evaluated on the same suites."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from wug.errors import StoreError, UnknownName
from wug.results.reader import RunReader
from wug.results.records import Run

PREFIX = "sweep:"
"""Prefix of the name or number of a sweep where a run is also possible."""


class PlannedModel(NamedTuple):
    """A model of a sweep."""

    specification: str
    """`kind:name@revision`."""
    options: tuple[tuple[str, str], ...] = ()
    """The options that the user gave, sorted by name."""

    def __str__(self) -> str:
        text = "&".join(f"{name}={value}" for name, value in self.options)
        return f"{self.specification}?{text}" if text else self.specification


class Sweep(NamedTuple):
    """Models evaluated on the same suites by one command, which may have been repeated."""

    id: int
    name: str
    command: str
    started: str
    models: tuple[PlannedModel, ...]
    """All models that match the patterns."""
    suites: tuple[str, ...]

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"


class Member(NamedTuple):
    """A model of a sweep and its run; None if it was not evaluated yet."""

    model: PlannedModel
    run: Run | None


def plan_text(models: Iterable[PlannedModel], suites: Iterable[str]) -> str:
    """The models and suites of a sweep as JSON, for the store."""
    listed = [[model.specification, dict(model.options)] for model in models]
    return json.dumps({"models": listed, "suites": list(suites)}, ensure_ascii=True)


def sweeps(reader: RunReader, *, removed: bool = False) -> list[Sweep]:
    """All sweeps, latest first, without those whose runs were all removed; or those with removed runs."""
    here, gone = (
        f"EXISTS (SELECT 1 FROM runs WHERE sweep = sweeps.id AND removed IS {state})" for state in ("NULL", "NOT NULL")
    )
    wanted = gone if removed else f"{here} OR NOT {gone}"
    return [_sweep_of(row) for row in reader.each(f"SELECT * FROM sweeps WHERE {wanted} ORDER BY id DESC")]


def every_run(reader: RunReader, text: str, *, removed: bool = False) -> list[Run]:
    """All runs of a sweep, including earlier runs of the same model; with `removed`, the removed ones."""
    sweep = find(reader, text, removed=removed)
    runs = [run for run in reader.runs(removed=removed) if run.sweep == sweep.id]
    if not runs:
        raise StoreError(f"{sweep} has no run yet")
    return runs


def find(reader: RunReader, text: str, *, removed: bool = False) -> Sweep:
    """The sweep with a name or number, with or without `sweep:`; the latest if several have the name."""
    wanted = text.removeprefix(PREFIX)
    known = sweeps(reader, removed=removed)
    for sweep in known:
        if wanted == sweep.name or (wanted.isascii() and wanted.isdigit() and int(wanted) == sweep.id):
            return sweep
    if not known and removed:
        raise StoreError(f"no run of a sweep {wanted!r} was removed")
    if not known:
        raise StoreError(f"no sweep {wanted!r} in {reader.path}; there is none yet: wug run SUITE --model 'kind:name*'")
    raise UnknownName("sweep", wanted, {sweep.name for sweep in known})


def finished(reader: RunReader, sweep: int, key: str, specification: str) -> int | None:
    """The complete run in a sweep with this key and specification, or None.

    Two folders may contain the same model: each has its own run.
    """
    row = reader.one(
        "SELECT id FROM runs WHERE sweep = ? AND key = ? AND specification = ? AND status = 'complete'"
        " AND removed IS NULL ORDER BY id DESC LIMIT 1",
        *(sweep, key, specification),
    )
    return None if row is None else int(row["id"])


def finished_at(reader: RunReader, sweep: int, model: PlannedModel, commit: str) -> int | None:
    """The complete run in a sweep of a model at a commit on the Hugging Face Hub, or None."""
    rows = reader.each(
        "SELECT id, key, model FROM runs WHERE sweep = ? AND specification = ? AND status = 'complete'"
        " AND removed IS NULL ORDER BY id DESC",
        *(sweep, model.specification),
    )
    fitting = (
        row["id"] for row in rows if _given(row["key"]) == model.options and row["model"].endswith(f"@{commit:.12}")
    )
    return next(fitting, None)


def members(reader: RunReader, sweep: Sweep) -> list[Member]:
    """Every model of a sweep, in order, with its latest complete run, or else its latest run."""
    rows = reader.each("SELECT id, key FROM runs WHERE sweep = ? AND removed IS NULL", sweep.id)
    keys = {row["id"]: row["key"] for row in rows}
    latest: dict[PlannedModel, Run] = {}
    for run in reversed(reader.runs()):  # a model whose files changed has a later run under the same name
        if run.id in keys:
            model = PlannedModel(run.specification or run.model, _given(keys[run.id]))
            if run.status == "complete" or model not in latest or latest[model].status != "complete":
                latest[model] = run
    return [Member(model, latest.get(model)) for model in sweep.models]


def runs_of(reader: RunReader, sweep: Sweep) -> list[Run]:
    """The runs of a sweep, in the order of its models."""
    return [member.run for member in members(reader, sweep) if member.run is not None]


def counts(members: Iterable[Member]) -> Mapping[str, int]:
    """The number of models by status of their run; `missing` for models without one."""
    return Counter("missing" if member.run is None else member.run.status for member in members)


def _given(key: str) -> tuple[tuple[str, str], ...]:
    """The options that the user gave to a run's model, from its key."""
    try:
        return tuple(sorted(json.loads(key)[1]["given"].items()))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return ()


def _sweep_of(row: Any) -> Sweep:
    try:
        plan = json.loads(row["plan"])
        models = tuple(PlannedModel(str(name), tuple(sorted(options.items()))) for name, options in plan["models"])
        suites = tuple(map(str, plan["suites"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise StoreError(f"the store is damaged: the plan of sweep {row['id']} cannot be read") from None
    return Sweep(row["id"], str(row["name"]), str(row["command"]), str(row["started"]), models, suites)
