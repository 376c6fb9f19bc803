"""The sides of a comparison (runs, models, pooled seeds, sweeps) and the choices that its page offers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from wug.identity import ModelId
from wug.labels import short_names
from wug.results.learning_curves import step_of
from wug.results.reader import Run
from wug.web.site import Site, build_url
from wug.web.templating import local_time

MAX_SIDES = 12
MAX_RUN_CHOICES = 400
"""Runs to choose from, newest first."""
_SEED = re.compile(r"[-_.]?seed[-_=]?\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ComparisonSide:
    """A run, several pooled runs, or a sweep."""

    value: str
    """As in the URL: `7`, `1,2,3` or `sweep:4`."""
    runs: tuple[int, ...]
    """For a sweep in the order of its training steps."""
    is_sweep: bool = False

    @property
    def compared_runs(self) -> list[int]:
        """The runs whose items are compared: for a sweep, its last model's."""
        return list(self.runs[-1:] if self.is_sweep else self.runs)


@dataclass(frozen=True, slots=True)
class SideChoice:
    """An entry in the list of sides."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class PoolingLink:
    """A link that pools the seeds of a model, or separates them again."""

    label: str
    text: str
    url: str


class ComparisonOptions:
    """The runs of a store as sides to choose from."""

    def __init__(self, site: Site, suite: str = "") -> None:
        self._runs = [run for run in site.reader.runs() if run.suites]
        self._by_id = {run.id: run for run in self._runs}
        self._suites: dict[int, set[str]] = {}
        for kept in site.reader.overview():
            self._suites.setdefault(kept.run, set()).add(kept.suite)
        self._names = short_names(run.model for run in self._runs)
        self._sweeps = site.reader.sweep_names()
        self._suite = suite

    @property
    def suites(self) -> list[str]:
        """All suites with results."""
        return sorted({suite for some in self._suites.values() for suite in some})

    @property
    def choices(self) -> dict[str, list[SideChoice]]:
        """Choices under their headings: pooled runs first, then model by model."""
        fitting = [run for run in self._runs if self._has_suite(run)]
        together = [
            SideChoice(_joined_ids(runs), f"{name}, {len(runs)} seeds ({_describe(runs)})")
            for name, runs in self._seeds(fitting).items()
        ]
        together += [
            SideChoice(f"sweep:{id}", f"{name}, {len(self._sweep_runs(id))} models")
            for id, name in self._sweeps.items()
            if any(self._has_suite(self._by_id[run]) for run in self._sweep_runs(id))
        ]
        found: dict[str, list[SideChoice]] = {"several runs together": together} if together else {}
        for run in [run for run in fitting if run.sweep not in self._sweeps][:MAX_RUN_CHOICES]:
            found.setdefault(self._names[run.model], []).append(SideChoice(str(run.id), self._label(run)))
        return found

    def sides(self, query: QueryParams) -> list[ComparisonSide]:
        """The sides in the query parameters `run`, `side` and `model`, each of which may be repeated."""
        given = [*query.getlist("run"), *query.getlist("side"), *(f"model:{name}" for name in query.getlist("model"))]
        models = [text.removeprefix("model:") for text in given if text.startswith("model:")]
        sides = [side for text in given if text.strip() and (side := self._parse_side(text, models)) is not None]
        if len(sides) > MAX_SIDES:
            raise HTTPException(400, f"A page compares at most {MAX_SIDES} runs, not {len(sides)}.")
        return sides

    def pooling_links(self, sides: Sequence[ComparisonSide], query: Mapping[str, str]) -> list[PoolingLink]:
        """Links for the sides that are one seed of several, or several seeds."""
        seeds = self._seeds(self._runs)
        kept = {key: query[key] for key in ("suite", "check", "pairs", "pool") if query.get(key)}
        found = []
        for index, side in enumerate(sides):
            runs = [self._by_id[id] for id in side.runs if id in self._by_id]
            name = _without_seed(runs[0].model) if runs else ""
            siblings = seeds.get(name, [])
            if side.is_sweep or len(siblings) < 2:
                continue
            pooled = len(side.runs) > 1
            value = str(side.runs[0]) if pooled else _joined_ids(siblings)
            values = tuple(value if at == index else other.value for at, other in enumerate(sides))
            text = f"take run {side.runs[0]} alone" if pooled else f"pool all {len(siblings)} seeds of {name}"
            found.append(PoolingLink(chr(ord("A") + index), text, build_url("/compare", {"side": values, **kept})))
        return found

    def _parse_side(self, text: str, models: Sequence[str]) -> ComparisonSide | None:
        kind, colon, name = text.partition(":")
        if colon and kind == "model":
            id = self._newest_run(name, [other for other in models if other != name])
            if id is None:
                raise HTTPException(404, f"No run of {name!r} has a result.")
            return ComparisonSide(str(id), (id,))
        if colon and kind == "sweep" and name.isdecimal() and len(name) < 12:
            runs = self._sweep_runs(int(name))
            if not runs:
                raise HTTPException(404, f"There is no sweep {name} with results.")
            return ComparisonSide(text, tuple(runs), is_sweep=True)
        ids = [part.strip() for part in text.split(",") if part.strip()]
        if not all(part.isdecimal() and len(part) < 12 for part in ids):
            raise HTTPException(400, f"{text!r} is not the number of a run, or several separated by commas.")
        return ComparisonSide(",".join(ids), tuple(map(int, ids))) if ids else None

    def _newest_run(self, model: str, others: Sequence[str]) -> int | None:
        """The run of a model that shares most suites with the other models; the newest of those."""
        wanted = {suite for run in self._runs if run.model in others for suite in self._suites.get(run.id, ())}
        own = [run for run in self._runs if run.model == model and self._has_suite(run)]
        shared = {run.id: len(self._suites.get(run.id, set()) & wanted) for run in own}
        return max(own, key=lambda run: (shared[run.id], run.id)).id if own else None

    def _sweep_runs(self, sweep: int) -> list[int]:
        """Complete runs of a sweep in the order of their training steps."""
        runs = [run for run in self._runs if run.sweep == sweep and run.status == "complete"]
        steps = {run.id: step_of(run.revision or run.specification or run.model) or 0.0 for run in runs}
        return [run.id for run in sorted(runs, key=lambda run: (steps[run.id], run.id))]

    def _seeds(self, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """For each model with several seeds, the newest run of each seed."""
        found: dict[str, dict[str, Run]] = {}
        for run in runs:
            if _SEED.search(run.model) and run.status == "complete" and run.sweep not in self._sweeps:
                found.setdefault(_without_seed(run.model), {}).setdefault(run.model, run)
        return {name: sorted(some.values(), key=lambda run: run.id) for name, some in found.items() if len(some) > 1}

    def _has_suite(self, run: Run) -> bool:
        return not self._suite or self._suite in self._suites.get(run.id, ()) or "*" in self._suite

    def _label(self, run: Run) -> str:
        named = f" · {run.name}" if run.name else ""
        suites = "1 suite" if run.suites == 1 else f"{run.suites} suites"
        return f"{self._names[run.model]} · {local_time(run.started)} · {suites} · run {run.id}{named}"


def _without_seed(model: str) -> str:
    """A model's name without backend, seed and fingerprint."""
    return _SEED.sub("", ModelId.parse(model).name)


def _joined_ids(runs: Sequence[Run]) -> str:
    return ",".join(str(run.id) for run in runs)


def _describe(runs: Sequence[Run]) -> str:
    if len(runs) > 6:
        return f"{len(runs)} runs, {runs[0].id} to {runs[-1].id}"
    return f"runs {', '.join(str(run.id) for run in runs)}"
