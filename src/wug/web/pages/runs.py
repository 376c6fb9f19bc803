"""The home page with the grid of newest results, the list of runs, and actions on runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError
from wug.labels import short_names
from wug.results import run_admin
from wug.results.progress import in_words
from wug.results.records import Run, Summary
from wug.web.downloads import table_response
from wug.web.request_body import Form, form_endpoint
from wug.web.result_grid import SHADE_THRESHOLDS, GridSource, ResultGrid, build_grid, fingerprint, select
from wug.web.result_view import summary_row
from wug.web.run_query import RunQuery
from wug.web.site import Site, build_url, page_count, site_of

NAV = ("Runs", "/", 0)
COLUMNS = (
    "run", "name", "model", "status", "started", "suite", "kind", "metric", "value", "low", "high", "method", "n",
    "result",
)  # fmt: skip
RECENT_RUNS = 10
"""Runs among which failed and interrupted ones are news."""
MAX_FAILED_NEWS, MAX_RUNNING_NEWS = 5, 20
ACTIONS = ("compare", "remove", "restore", "purge")
RUNS_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run in the list."""

    run: Run
    model: str
    """Short name of the model."""
    message: str
    """Progress of an unfinished run, or why it failed; empty for a complete one."""
    fingerprint: str
    """Changes with anything that the entry shows."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of the list."""

    entries: tuple[RunEntry, ...]
    total: int
    """Runs on all pages."""
    pages: int
    statuses: tuple[str, ...]
    """Choices of the filter."""
    fingerprint: str


def _home(request: Request) -> Response:
    site, query = site_of(request), RunQuery.parse(request.query_params)
    with site.reader.snapshot():
        runs = site.reader.runs()
        grid, news = result_grid(site, query), _news(runs)
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
            run_page=run_page(_runs_of_tab(site, runs, query), site.reader.overview(), query),
            removed_now=_parse_ids(request.query_params.get("gone", "")),
            restored_now=_parse_ids(request.query_params.get("back", "")),
        )


def _render(request: Request, template: str, query: RunQuery, runs: Sequence[Run], **shown: Any) -> Response:
    """A page of runs, with what all of them show."""
    site = site_of(request)
    state, running = site.reader.state()
    common: dict[str, Any] = {"grid_query": query, "state": state, "going": running, **_tab_counts(site, runs)}
    return site.render(request, template, **common, **shown)


def _runs_table(request: Request) -> Response:
    rows = _run_rows(site_of(request), RunQuery.parse(request.query_params))
    return table_response(request.path_params["form"], "runs", COLUMNS, rows)


def _grid_table(request: Request) -> Response:
    found = select(_grid_source(site_of(request)), RunQuery.parse(request.query_params))
    rows = (_row(run, kept) for run, kept in found.results())
    return table_response(request.path_params["form"], "results", COLUMNS, rows)


def _act(request: Request, form: Form) -> str:
    """Compare, remove, restore or purge runs."""
    site, action = site_of(request), form.get("do", [""])[0]
    if action not in ACTIONS:
        raise InputError(f"{action!r} is not an action on runs: {', '.join(ACTIONS)}")
    ids = _parse_ids(",".join(form.get("run", [])))
    if action == "purge":
        with site.open_store() as store:
            run_admin.purge(store)
        return "/runs"
    if not ids:
        raise InputError("no run is selected: select one or more, then try again")
    if action == "compare":
        return build_url("/compare", {"run": tuple(ids)})
    joined = ",".join(map(str, ids))
    with site.open_store() as store:
        runs = [site.reader.run(id, removed=True) for id in ids]
        if action == "remove":
            run_admin.remove(store, runs)
            return build_url("/runs", {"gone": joined})
        run_admin.restore(store, runs)
    return build_url("/runs", {"back": joined})


ROUTES: list[BaseRoute] = [
    Route("/", _home),
    Route("/runs", _list),
    Route("/runs", form_endpoint(_act), methods=["POST"]),
    Route("/runs.{form}", _runs_table),
    Route("/results.{form}", _grid_table),
]


def result_grid(site: Site, query: RunQuery) -> ResultGrid:
    """The grid on the home page."""
    return build_grid(_grid_source(site), query)


def _grid_source(site: Site) -> GridSource:
    runs = [run for run in site.reader.runs() if not run.is_draft]
    ids = {run.id for run in runs}
    results = [one for one in site.reader.overview() if one.run in ids]
    return GridSource(runs, results, site.reader.sweep_names(), site.reader.warnings())


def _tab_counts(site: Site, runs: Sequence[Run]) -> dict[str, int]:
    drafts = sum(run.is_draft for run in runs)
    return {"runs": len(runs) - drafts, "drafts": drafts, "removed": len(site.reader.runs(removed=True))}


def _news(runs: Sequence[Run]) -> list[RunEntry]:
    """Unfinished runs, and recent ones that failed or were interrupted."""
    names = short_names(run.model for run in runs)
    running = [run for run in runs if run.status == "running"]
    failed = [run for run in runs[:RECENT_RUNS] if run.status in ("failed", "interrupted") and not run.is_draft]
    return [run_entry(run, names) for run in (*running[:MAX_RUNNING_NEWS], *failed[:MAX_FAILED_NEWS])]


def _runs_of_tab(site: Site, runs: Sequence[Run], query: RunQuery) -> list[Run]:
    if query.show == "removed":
        return site.reader.runs(removed=True)
    return [run for run in runs if run.is_draft == (query.show == "drafts")]


def _run_rows(site: Site, query: RunQuery) -> Iterator[dict[str, object]]:
    """One row per result of the runs that match a query."""
    results = matching_results(site.reader.overview(), query)
    for run in matching_runs(_runs_of_tab(site, site.reader.runs(), query), results, query):
        yield from (_row(run, kept) for kept in results.get(run.id, ()))


def _row(run: Run, kept: Summary) -> dict[str, object]:
    return {**summary_row(kept), "name": run.name, "started": run.started}


def _parse_ids(text: str) -> list[int]:
    """Comma-separated numbers; anything else is ignored."""
    parts = [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isdecimal() and len(part) < 16))[:1000]


def matching_results(results: Sequence[Summary], query: RunQuery) -> dict[int, list[Summary]]:
    """The results that match the family and suite of a query, by run."""
    found: dict[int, list[Summary]] = {}
    for kept in results:
        if (not query.kind or kept.kind == query.kind) and query.suite.lower() in kept.suite.lower():
            found.setdefault(kept.run, []).append(kept)
    return found


def matching_runs(runs: Sequence[Run], results: Mapping[int, Sequence[Summary]], query: RunQuery) -> list[Run]:
    """The runs that match a query, sorted; `results` are those that match it, by run."""
    found = [run for run in runs if _matches(run, {kept.suite for kept in results.get(run.id, ())}, query)]
    column, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    keys = {
        "name": lambda run: (not run.name, (run.name or "").lower(), run.id),
        "model": lambda run: (False, run.model.lower(), run.id),
        "status": lambda run: (False, run.status, -run.id),
        "suites": lambda run: (run.suites, "", run.id),
        "started": lambda run: (False, run.started, run.id),
    }
    if column not in keys:
        return sorted(found, key=lambda run: run.id, reverse=descending or column != "run")
    return sorted(found, key=keys[column], reverse=descending)


def run_page(runs: Sequence[Run], results: Sequence[Summary], query: RunQuery) -> RunPage:
    """The requested page of the list."""
    found = matching_runs(runs, matching_results(results, query), query)
    pages = page_count(len(found), RUNS_PER_PAGE)
    first = (min(query.page, pages) - 1) * RUNS_PER_PAGE
    names = short_names(run.model for run in runs)
    entries = tuple(run_entry(run, names) for run in found[first : first + RUNS_PER_PAGE])
    return RunPage(
        entries=entries,
        total=len(found),
        pages=pages,
        statuses=tuple(sorted({run.status for run in runs})),
        fingerprint=fingerprint([str(one.run.id) for one in entries] + [str(len(found))]),
    )


def run_entry(run: Run, names: Mapping[str, str]) -> RunEntry:
    """A run as the list shows it; `names` are short names by model id."""
    message = _message(run)
    shown = (run.status, run.finished, run.suites, run.name, run.note, run.removed, message)
    return RunEntry(run, names.get(run.model, run.model), message, fingerprint([str(part) for part in shown]))


def _message(run: Run) -> str:
    if run.status in ("running", "interrupted"):
        return "" if run.progress is None else in_words(run.progress, running=run.status == "running")
    return run.message or "" if run.status == "failed" else ""


def _matches(run: Run, suites: set[str], query: RunQuery) -> bool:
    if query.status and run.status != query.status:
        return False
    if query.model and query.model not in (run.model, f"sweep:{run.sweep}"):
        return False
    if (query.kind or query.suite) and not suites:
        return False
    text = query.text.lower()
    searched = (run.model, run.command, str(run.id), run.name or "", run.note or "", run.message or "", *suites)
    return not text or any(text in one.lower() for one in searched)
