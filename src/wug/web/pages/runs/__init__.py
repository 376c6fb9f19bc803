"""The first page: models by suites with their newest results; the list of runs, and what is done with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.brief import short_names
from wug.errors import InputError
from wug.runs import tidying
from wug.runs.shelf import Run, Summary
from wug.web.downloads import table
from wug.web.pages.runs.grid import STEPS, Grid, Source, choose, grid
from wug.web.pages.runs.grid_query import Wanted
from wug.web.pages.runs.run_list import Entry, entry, fitting, listing
from wug.web.result_view import headline
from wug.web.site import Site, address
from wug.web.templating import Json

NAV = ("Runs", "/", 0)
COLUMNS = (
    "run", "name", "model", "status", "started", "suite", "kind", "check", "value", "low", "high", "method", "n",
    "result",
)  # fmt: skip
RECENT, NEWS = 10, 5
"""Of the latest runs those that failed or were broken off are told first; so many at most."""
ACTS = ("compare", "remove", "restore", "purge")


def routes(site: Site) -> list[BaseRoute]:
    """The first page, the list of runs, their tables, and what is sent to change them."""

    def home(request: Request) -> Response:
        wanted = Wanted.of(request.query_params)
        with site.shelf.snapshot():
            state, going = site.shelf.state()
            found = latest(site, wanted)
            runs = site.shelf.runs()
            return site.page(
                request,
                "runs.html",
                grid=found,
                wanted=wanted,
                state=state,
                going=going,
                steps=STEPS,
                news=_news(runs),
                **_counts(site, runs),
            )

    def listed(request: Request) -> Response:
        wanted = Wanted.of(request.query_params)
        with site.shelf.snapshot():
            state, going = site.shelf.state()
            runs = site.shelf.runs()
            return site.page(
                request,
                "list_of_runs.html",
                listing=listing(_shown(site, runs, wanted), site.shelf.overview(), wanted),
                wanted=wanted,
                state=state,
                going=going,
                gone=_numbers(request.query_params.get("gone", "")),
                back=_numbers(request.query_params.get("back", "")),
                **_counts(site, runs),
            )

    def rows(request: Request) -> Response:
        return table(request.path_params["form"], "runs", COLUMNS, _rows(site, Wanted.of(request.query_params)))

    def newest(request: Request) -> Response:
        found = choose(_source(site), Wanted.of(request.query_params))
        each = (_row(run, kept) for run, kept in found.each())
        return table(request.path_params["form"], "results", COLUMNS, each)

    async def act(request: Request) -> Response:
        given = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
        return Json({"address": await run_in_threadpool(_act, site, given)})

    return [
        Route("/", home),
        Route("/runs", listed),
        Route("/runs", act, methods=["POST"]),
        Route("/runs.{form}", rows),
        Route("/results.{form}", newest),
    ]


def latest(site: Site, wanted: Wanted) -> Grid:
    """Models by suites, as the first page shows them."""
    return grid(_source(site), wanted)


def _source(site: Site) -> Source:
    runs = [run for run in site.shelf.runs() if not run.is_draft]
    kept = {run.id for run in runs}
    results = [one for one in site.shelf.overview() if one.run in kept]
    return Source(runs, results, {row["id"]: str(row["name"]) for row in site.shelf.each("SELECT * FROM sweeps")})


def _counts(site: Site, runs: Sequence[Run]) -> dict[str, int]:
    """How many runs there are behind each tab."""
    drafts = sum(run.is_draft for run in runs)
    return {"runs": len(runs) - drafts, "drafts": drafts, "removed": len(site.shelf.runs(removed=True))}


def _news(runs: Sequence[Run]) -> list[Entry]:
    """The runs that go on, and those of the latest ones that failed or were broken off."""
    names = short_names(run.model for run in runs)
    going = [run for run in runs if run.status == "running"]
    broken = [run for run in runs[:RECENT] if run.status in ("failed", "interrupted") and not run.is_draft]
    return [entry(run, names) for run in (*going[: 4 * NEWS], *broken[:NEWS])]


def _shown(site: Site, runs: Sequence[Run], wanted: Wanted) -> list[Run]:
    """The runs behind the tab that is wanted."""
    if wanted.show == "removed":
        return site.shelf.runs(removed=True)
    return [run for run in runs if run.is_draft == (wanted.show == "drafts")]


def _rows(site: Site, wanted: Wanted) -> Iterator[dict[str, Any]]:
    """A row for each result of the runs that the filters let through."""
    results = site.shelf.overview()
    by_run: dict[int, list[Summary]] = {}
    for kept in results:
        if (not wanted.kind or kept.kind == wanted.kind) and wanted.suite.lower() in kept.suite.lower():
            by_run.setdefault(kept.run, []).append(kept)
    for run in fitting(_shown(site, site.shelf.runs(), wanted), results, wanted):
        yield from (_row(run, kept) for kept in by_run.get(run.id, ()))


def _row(run: Run, kept: Summary) -> dict[str, Any]:
    shown = headline(kept)
    method = next((e.method for e in kept.estimates if shown and e.check == shown.check), None)
    value = {"check": shown.check, "value": shown.value, "low": shown.low, "high": shown.high} if shown else {}
    return {
        "run": run.id,
        "name": run.name,
        "model": run.model,
        "status": kept.status,
        "started": run.started,
        "suite": kept.suite,
        "kind": kept.kind,
        "n": shown.n if shown else kept.n,
        "result": kept.id,
        "method": method,
        **value,
    }


def _act(site: Site, given: dict[str, list[str]]) -> str:
    """What is done with the runs that were chosen; the address to go on to comes back."""
    act = given.get("do", [""])[0]
    if act not in ACTS:
        raise InputError(f"runs can be {', '.join(ACTS)}d, and {act!r} is none of that")
    numbers = _numbers(",".join(given.get("run", [])))
    if act == "purge":
        with site.writable() as store:
            tidying.purge(store)
        return "/runs"
    if not numbers:
        raise InputError("no run is ticked: tick one or more, then try again")
    told = ",".join(map(str, numbers))
    if act == "compare":
        return address("/compare", {"run": tuple(numbers)})
    with site.writable() as store:
        found = [site.shelf.run(number, removed=True) for number in numbers]
        if act == "remove":
            tidying.remove(store, found)
            return address("/runs", {"gone": told})
        tidying.restore(store, found)
    return address("/runs", {"back": told})


def _numbers(text: str) -> list[int]:
    """The numbers in a text with commas between them; what is none is left out."""
    parts = [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isdecimal() and len(part) < 16))[:1000]
