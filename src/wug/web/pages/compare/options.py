"""What is compared: runs, models, seeds taken together, sweeps; and what there is to choose from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from wug.brief import short_names
from wug.runs.learning import step_of
from wug.runs.shelf import Run
from wug.web.site import Site, address
from wug.web.templating import when

MOST = 12
"""Sides of a comparison."""
OFFERED = 400
"""Runs that there are to choose from, the latest first."""
_SEED = re.compile(r"[-_.]?seed[-_=]?\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Side:
    """A run, several runs taken together, or a sweep."""

    value: str
    """As the address has it: `7`, `1,2,3` or `sweep:4`."""
    runs: tuple[int, ...]
    """Of a sweep in the order of its steps."""
    sweep: bool = False

    @property
    def compared(self) -> list[int]:
        """The runs whose items are compared: of a sweep its last model's."""
        return list(self.runs[-1:] if self.sweep else self.runs)


@dataclass(frozen=True, slots=True)
class Offer:
    """Something to choose as a side."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Pooling:
    """Seeds of one model that can be taken together with a click, or taken apart again."""

    label: str
    words: str
    address: str


class Offers:
    """The runs of a store as things to choose from."""

    def __init__(self, site: Site, suite: str = "") -> None:
        self._runs = [run for run in site.shelf.runs() if run.suites]
        self._by_id = {run.id: run for run in self._runs}
        self._suites: dict[int, set[str]] = {}
        for kept in site.shelf.overview():
            self._suites.setdefault(kept.run, set()).add(kept.suite)
        self._names = short_names(run.model for run in self._runs)
        self._sweeps = {int(row["id"]): str(row["name"]) for row in site.shelf.each("SELECT id, name FROM sweeps")}
        self._suite = suite

    @property
    def suites(self) -> list[str]:
        """Every suite that a run has."""
        return sorted({suite for some in self._suites.values() for suite in some})

    @property
    def groups(self) -> dict[str, list[Offer]]:
        """What there is to choose from, under its heading: what is taken together first, then model by model."""
        fitting = [run for run in self._runs if self._fits(run)]
        together = [
            Offer(_joined(runs), f"{name}, {len(runs)} seeds ({_numbers(runs)})")
            for name, runs in self._seeds(fitting).items()
        ]
        together += [
            Offer(f"sweep:{number}", f"{name}, {len(self._swept(number))} models")
            for number, name in self._sweeps.items()
            if any(self._fits(self._by_id[run]) for run in self._swept(number))
        ]
        found: dict[str, list[Offer]] = {"several runs together": together} if together else {}
        for run in [run for run in fitting if run.sweep not in self._sweeps][:OFFERED]:
            found.setdefault(self._names[run.model], []).append(Offer(str(run.id), self._label(run)))
        return found

    def sides(self, query: QueryParams) -> list[Side]:
        """What an address compares: `run`, `side` and `model`, each as often as it stands there."""
        given = [*query.getlist("run"), *query.getlist("side"), *(f"model:{name}" for name in query.getlist("model"))]
        models = [text.removeprefix("model:") for text in given if text.startswith("model:")]
        sides = [side for text in given if text.strip() and (side := self._side(text, models)) is not None]
        if len(sides) > MOST:
            raise HTTPException(400, f"{len(sides)} runs are too many for one page: choose {MOST} at most.")
        return sides

    def pooling(self, sides: Sequence[Side], query: Mapping[str, str]) -> list[Pooling]:
        """For each side that is one seed of several, or several seeds, the click that changes that."""
        seeds = self._seeds(self._runs)
        kept = {key: query[key] for key in ("suite", "check", "pairs", "pool") if query.get(key)}
        found = []
        for place, side in enumerate(sides):
            runs = [self._by_id[number] for number in side.runs if number in self._by_id]
            name, siblings = next(
                ((n, s) for n, s in seeds.items() if runs and _seedless(runs[0].model) == n), ("", [])
            )
            if side.sweep or len(siblings) < 2:
                continue
            pooled = len(side.runs) > 1
            value = str(side.runs[0]) if pooled else _joined(siblings)
            values = tuple(value if at == place else other.value for at, other in enumerate(sides))
            words = f"take run {side.runs[0]} alone" if pooled else f"pool all {len(siblings)} seeds of {name}"
            found.append(Pooling(chr(ord("A") + place), words, address("/compare", {"side": values, **kept})))
        return found

    def _side(self, text: str, models: Sequence[str]) -> Side | None:
        kind, colon, name = text.partition(":")
        if colon and kind == "model":
            number = self._newest(name, [other for other in models if other != name])
            if number is None:
                raise HTTPException(404, f"No run of {name!r} has a result.")
            return Side(str(number), (number,))
        if colon and kind == "sweep" and name.isdecimal() and len(name) < 12:
            runs = self._swept(int(name))
            if not runs:
                raise HTTPException(404, f"There is no sweep {name} with results.")
            return Side(text, tuple(runs), sweep=True)
        numbers = [part.strip() for part in text.split(",") if part.strip()]
        if not all(part.isdecimal() and len(part) < 12 for part in numbers):
            raise HTTPException(400, f"{text!r} is no number of a run, nor several with commas between them.")
        return Side(",".join(numbers), tuple(map(int, numbers))) if numbers else None

    def _newest(self, model: str, others: Sequence[str]) -> int | None:
        """The run of a model that shares most suites with the other models; the newest of those."""
        wanted = {suite for run in self._runs if run.model in others for suite in self._suites.get(run.id, ())}
        own = [run for run in self._runs if run.model == model and self._fits(run)]
        shared = {run.id: len(self._suites.get(run.id, set()) & wanted) for run in own}
        return max(own, key=lambda run: (shared[run.id], run.id)).id if own else None

    def _swept(self, sweep: int) -> list[int]:
        runs = [run for run in self._runs if run.sweep == sweep and run.status == "complete"]
        steps = {run.id: step_of(run.revision or run.specification or run.model) or 0.0 for run in runs}
        return [run.id for run in sorted(runs, key=lambda run: (steps[run.id], run.id))]

    def _seeds(self, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """The latest run of each seed of a model, for models with several."""
        found: dict[str, dict[str, Run]] = {}
        for run in runs:
            if _SEED.search(run.model) and run.status == "complete" and run.sweep not in self._sweeps:
                found.setdefault(_seedless(run.model), {}).setdefault(run.model, run)
        return {name: sorted(some.values(), key=lambda run: run.id) for name, some in found.items() if len(some) > 1}

    def _fits(self, run: Run) -> bool:
        return not self._suite or self._suite in self._suites.get(run.id, ()) or "*" in self._suite

    def _label(self, run: Run) -> str:
        named = f" · {run.name}" if run.name else ""
        suites = "1 suite" if run.suites == 1 else f"{run.suites} suites"
        return f"{self._names[run.model]} · {when(run.started)} · {suites} · run {run.id}{named}"


def _seedless(model: str) -> str:
    """A model's name without kind, seed and fingerprint."""
    name = model.partition("/")[2] or model
    return _SEED.sub("", name.rpartition("@")[0] or name)


def _joined(runs: Sequence[Run]) -> str:
    return ",".join(str(run.id) for run in runs)


def _numbers(runs: Sequence[Run]) -> str:
    if len(runs) > 6:
        return f"{len(runs)} runs, {runs[0].id} to {runs[-1].id}"
    return f"runs {', '.join(str(run.id) for run in runs)}"
