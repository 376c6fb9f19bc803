"""The home page with the grid of newest results, the list of runs, and actions on runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError
from wug.labels import short_names
from wug.results import run_admin
from wug.results.records import Run, Summary
from wug.web.downloads import table_response
from wug.web.request_body import Form, form_endpoint
from wug.web.result_grid import SHADE_THRESHOLDS, GridSource, ResultGrid, build_grid, select
from wug.web.result_view import summary_row
from wug.web.run_listing import RunEntry, matching_results, matching_runs, run_entry, run_page
from wug.web.run_query import RunQuery
from wug.web.site import Site, build_url, site_of

NAV = ("Runs", "/", 0)
COLUMNS = (
    "run", "name", "model", "status", "started", "suite", "kind", "metric", "value", "low", "high", "method", "n",
    "result",
)  # fmt: skip
RECENT_RUNS = 10
"""Runs among which failed and interrupted ones are news."""
MAX_FAILED_NEWS, MAX_RUNNING_NEWS = 5, 20
ACTIONS = ("compare", "remove", "restore", "purge")


def _home(request: Request) -> Response:
    site, query = site_of(request), RunQuery.parse(request.query_params)
    with site.reader.snapshot():
        runs = site.reader.runs()
        grid, news = result_grid(site, query), _unfinished_runs(runs)
        return _render(request, "runs.html", query, runs, grid=grid, thresholds=SHADE_THRESHOLDS, news=news)


def _list(request: Request) -> Response:
    site, query = site_of(request), RunQuery.parse(request.query_params)
    with site.reader.snapshot():
        runs = site.reader.runs()
        return _render(
            request,
            "run_list.html",
            query,
            runs,
            run_page=run_page(
                _runs_of_tab(site, runs, query), site.reader.overview(), query, site.reader.sweep_names()
            ),
            removed_now=_parse_ids(request.query_params.get("gone", "")),
            restored_now=_parse_ids(request.query_params.get("back", "")),
        )


def _render(request: Request, template: str, query: RunQuery, runs: Sequence[Run], **context: Any) -> Response:
    """A page of runs, with what all of them show."""
    site = site_of(request)
    state, is_running = site.reader.state()
    drafts = sum(run.is_draft for run in runs)
    counts = {"runs": len(runs) - drafts, "drafts": drafts, "removed": len(site.reader.runs(removed=True))}
    return site.render(request, template, grid_query=query, state=state, going=is_running, **counts, **context)


def _runs_table(request: Request) -> Response:
    site, query = site_of(request), RunQuery.parse(request.query_params)
    results = matching_results(site.reader.overview(), query)
    runs = matching_runs(_runs_of_tab(site, site.reader.runs(), query), results, query)
    rows = (_row(run, summary) for run in runs for summary in results.get(run.id, ()))
    return table_response(request.path_params["suffix"], "runs", COLUMNS, rows)


def _grid_table(request: Request) -> Response:
    selection = select(_grid_source(site_of(request)), RunQuery.parse(request.query_params))
    rows = (_row(run, summary) for run, summary in selection.results())
    return table_response(request.path_params["suffix"], "results", COLUMNS, rows)


def _change_runs(request: Request, form: Form) -> str:
    """Compare, remove, restore or purge runs."""
    site, action = site_of(request), form.get("do", [""])[0]
    if action not in ACTIONS:
        raise InputError(f"{action!r} is not an action on runs: {', '.join(ACTIONS)}")
    sweeps = [text for text in form.get("side", []) if text.removeprefix("sweep:").isdecimal()]
    ids = _parse_ids(",".join(form.get("run", [])))
    if action == "purge":
        with site.open_store() as store:
            run_admin.purge(store)
        return "/runs"
    if not ids and not sweeps:
        raise InputError("no run is selected: select one or more, then try again")
    if action == "compare":
        return build_url("/compare", {"run": tuple(ids), "side": tuple(sweeps)})
    ids += [run.id for run in site.reader.runs() if f"sweep:{run.sweep}" in sweeps]
    id_list = ",".join(map(str, ids))
    with site.open_store() as store:
        runs = [site.reader.run(id, removed=True) for id in ids]
        if action == "remove":
            run_admin.remove(store, runs)
            return build_url("/runs", {"gone": id_list})
        run_admin.restore(store, runs)
    return build_url("/runs", {"back": id_list})


ROUTES: list[BaseRoute] = [
    Route("/", _home),
    Route("/runs", _list),
    Route("/runs", form_endpoint(_change_runs), methods=["POST"]),
    Route("/runs.{suffix}", _runs_table),
    Route("/results.{suffix}", _grid_table),
]


def result_grid(site: Site, query: RunQuery) -> ResultGrid:
    """The grid on the home page."""
    return build_grid(_grid_source(site), query)


def _grid_source(site: Site) -> GridSource:
    runs = [run for run in site.reader.runs() if not run.is_draft]
    ids = {run.id for run in runs}
    results = [summary for summary in site.reader.overview() if summary.run in ids]
    return GridSource(runs, results, site.reader.sweep_names(), site.reader.warnings())


def _unfinished_runs(runs: Sequence[Run]) -> list[RunEntry]:
    """Unfinished runs, and recent ones that failed or were interrupted."""
    names = short_names(run.model for run in runs)
    running_runs = [run for run in runs if run.status == "running"]
    failed_runs = [run for run in runs[:RECENT_RUNS] if run.status in ("failed", "interrupted") and not run.is_draft]
    return [run_entry(run, names) for run in (*running_runs[:MAX_RUNNING_NEWS], *failed_runs[:MAX_FAILED_NEWS])]


def _runs_of_tab(site: Site, runs: Sequence[Run], query: RunQuery) -> list[Run]:
    if query.show == "removed":
        return site.reader.runs(removed=True)
    return [run for run in runs if run.is_draft == (query.show == "drafts")]


def _row(run: Run, summary: Summary) -> dict[str, object]:
    return {**summary_row(summary), "name": run.name, "started": run.started}


def _parse_ids(text: str) -> list[int]:
    """Comma-separated numbers; anything else is ignored."""
    parts = [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isdecimal() and len(part) < 16))[:1000]
