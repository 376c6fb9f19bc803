"""The home page with the grid of newest results, the list of runs and sweeps, and actions on runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError
from wug.formatting import plural
from wug.labels import short_names
from wug.results import run_admin
from wug.results.progress import duration, in_words
from wug.results.records import Run, Summary
from wug.web.downloads import table_response
from wug.web.request_body import Form, form_endpoint
from wug.web.result_grid import (
    SHADE_THRESHOLDS,
    GridSource,
    build_grid,
    cell_of,
    fingerprint,
    selected_results,
)
from wug.web.result_view import summary_row
from wug.web.site import NavLink, RowPage, RunQuery, Site, build_url, page_of, site_of

NAV = NavLink("Runs", "/", 0)
COLUMNS = (
    *("run", "name", "model", "status", "started", "suite", "kind"),
    *("metric", "value", "low", "high", "method", "n", "result"),
)
RUNS_PER_PAGE = 50
MAX_NAMED_SUITES = 3
"""Suites that a row of the list names."""
RECENT_RUNS = 10
"""Runs among which failed and interrupted ones are news."""
MAX_FAILED_NEWS, MAX_RUNNING_NEWS = 5, 20
ACTIONS = ("compare", "remove", "restore", "purge")


class RunEntry(NamedTuple):
    """A run in the list, or a sweep."""

    run: Run
    """For a sweep, its newest run, with the status and the times of all."""
    model: str
    """Short name of the model."""
    message: str
    """Progress of an unfinished run, or why it failed; empty for a complete one."""
    fingerprint: str
    """Changes with anything that the entry shows."""
    suites: str
    """Names of its suites."""
    headline: str
    """The value of a single suite, or the range of several."""
    sweep: tuple[int, ...] = ()
    """The runs of a sweep that the entry represents, newest first."""

    @property
    def took(self) -> str:
        """How long the run took, such as `2 min`; empty if it has not finished."""
        try:
            start, end = (datetime.fromisoformat(text or "") for text in (self.run.started, self.run.finished))
        except ValueError:
            return ""
        return duration((end - start).total_seconds())


def _home(request: Request) -> Response:
    site, query = site_of(request), RunQuery.parse(request.query_params)
    with site.reader.snapshot():
        runs = site.reader.runs()
        grid = build_grid(grid_source(site), query)
        return _render(request, "runs.html", query, runs, grid=grid, thresholds=SHADE_THRESHOLDS, news=_news(runs))


def _list(request: Request) -> Response:
    site, query = site_of(request), RunQuery.parse(request.query_params)
    with site.reader.snapshot():
        runs, results = site.reader.runs(), matching_results(site.reader.overview(), query)
        runs_of_tab = _runs_of_tab(site, runs, query)
        matching = matching_runs(runs_of_tab, results, query)
        entries = run_entries(matching, runs_of_tab, results, query, site.reader.sweep_names())
        return _render(
            request,
            "run_list.html",
            query,
            runs,
            entries=entries,
            total=len(matching),
            statuses=sorted({run.status for run in runs_of_tab}),
            fingerprint=fingerprint([*(str(entry.run.id) for entry in entries.rows), str(len(matching))]),
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
    results = selected_results(grid_source(site_of(request)), RunQuery.parse(request.query_params))
    rows = (_row(run, summary) for run, summary in results)
    return table_response(request.path_params["suffix"], "results", COLUMNS, rows)


def _row(run: Run, summary: Summary) -> dict[str, object]:
    return {**summary_row(summary), "name": run.name, "started": run.started}


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
    with site.open_store() as store:
        runs = [site.reader.run(id, removed=True) for id in ids]
        (run_admin.remove if action == "remove" else run_admin.restore)(store, runs)
    return build_url("/runs", {"gone" if action == "remove" else "back": ",".join(map(str, ids))})


ROUTES: list[BaseRoute] = [
    Route("/", _home),
    Route("/runs", _list),
    Route("/runs", form_endpoint(_change_runs), methods=["POST"]),
    Route("/runs.{suffix}", _runs_table),
    Route("/results.{suffix}", _grid_table),
]


def grid_source(site: Site) -> GridSource:
    """The runs and results for the grid on the home page."""
    runs = [run for run in site.reader.runs() if not run.is_draft]
    ids = {run.id for run in runs}
    results = [summary for summary in site.reader.overview() if summary.run in ids]
    return GridSource(runs, results, site.reader.sweep_names(), site.reader.warnings())


def _news(runs: Sequence[Run]) -> list[RunEntry]:
    """Unfinished runs, and recent ones that failed or were interrupted."""
    names = short_names(run.model for run in runs)
    running_runs = [run for run in runs if run.status == "running"]
    failed_runs = [run for run in runs[:RECENT_RUNS] if run.status in ("failed", "interrupted") and not run.is_draft]
    return [run_entry(run, names) for run in (*running_runs[:MAX_RUNNING_NEWS], *failed_runs[:MAX_FAILED_NEWS])]


def _runs_of_tab(site: Site, runs: Sequence[Run], query: RunQuery) -> list[Run]:
    if query.show == "removed":
        return site.reader.runs(removed=True)
    return [run for run in runs if run.is_draft == (query.show == "drafts")]


def _parse_ids(text: str) -> list[int]:
    """Comma-separated numbers; anything else is ignored."""
    parts = [part.strip() for part in text.split(",")]
    return list(dict.fromkeys(int(part) for part in parts if part.isdecimal() and len(part) < 16))[:1000]


def matching_results(results: Sequence[Summary], query: RunQuery) -> dict[int, list[Summary]]:
    """The results that match the family and suite of a query, by run."""
    by_run: dict[int, list[Summary]] = {}
    for summary in results:
        if (not query.kind or summary.kind == query.kind) and query.suite.lower() in summary.suite.lower():
            by_run.setdefault(summary.run, []).append(summary)
    return by_run


def matching_runs(runs: Sequence[Run], results: Mapping[int, Sequence[Summary]], query: RunQuery) -> list[Run]:
    """The runs that match a query, sorted; `results` are those that match it, by run."""
    matching = [run for run in runs if _matches(run, results.get(run.id, ()), query)]
    column, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    keys = {
        "name": lambda run: (not run.name, (run.name or "").lower(), run.id),
        "model": lambda run: (False, run.model.lower(), run.id),
        "status": lambda run: (False, run.status, -run.id),
        "suites": lambda run: (run.suites, "", run.id),
        "started": lambda run: (False, run.started, run.id),
    }
    if column not in keys:
        return sorted(matching, key=lambda run: run.id, reverse=descending or column != "run")
    return sorted(matching, key=keys[column], reverse=descending)


def _matches(run: Run, results: Sequence[Summary], query: RunQuery) -> bool:
    if query.status and run.status != query.status:
        return False
    if query.model and query.model not in (run.model, f"sweep:{run.sweep}"):
        return False
    if (query.kind or query.suite) and not results:
        return False
    texts = [run.model, run.command, str(run.id), *filter(None, (run.name, run.note, run.message))]
    return any(query.text.lower() in text.lower() for text in (*texts, *(summary.suite for summary in results)))


def run_entries(
    matching: Sequence[Run],
    runs: Sequence[Run],
    results: Mapping[int, Sequence[Summary]],
    query: RunQuery,
    sweeps: Mapping[int, str],
) -> RowPage[RunEntry]:
    """The requested page of the list; the runs of a sweep are one entry unless the list is of that sweep.

    Models have their shortest unique names among all `runs` of the tab.
    """
    by_entry: dict[str, list[Run]] = {}
    for run in matching:
        of_sweep = run.sweep in sweeps and not query.model and not run.removed
        by_entry.setdefault(f"sweep:{run.sweep}" if of_sweep else str(run.id), []).append(run)
    page = page_of(list(by_entry.items()), query.page, RUNS_PER_PAGE)
    names = short_names(run.model for run in runs)
    entries = [
        _sweep_entry(group, sweeps[group[0].sweep or 0], results)
        if key.startswith("sweep:")
        else run_entry(group[0], names, results.get(group[0].id, ()))
        for key, group in page.rows
    ]
    return RowPage(entries, *page[1:])


def run_entry(run: Run, names: Mapping[str, str], results: Sequence[Summary] = ()) -> RunEntry:
    """A run as the list shows it; `names` are short names by model id."""
    message = run.message or "" if run.status == "failed" else ""
    if run.status in ("running", "interrupted") and run.progress is not None:
        message = in_words(run.progress, running=run.status == "running")
    fields = (run.status, run.finished, run.suites, run.name, run.note, run.removed, message, len(results))
    mark = fingerprint([str(part) for part in fields])
    return RunEntry(run, names.get(run.model, run.model), message, mark, _suite_names(results), _headline(results))


def _sweep_entry(runs: Sequence[Run], name: str, results: Mapping[int, Sequence[Summary]]) -> RunEntry:
    statuses = Counter(run.status for run in runs)
    example = next((member for member in runs if member.status != "complete"), runs[0])
    started = min(run.started for run in runs)
    finished = None if statuses["running"] else max(run.finished or "" for run in runs) or None
    run = replace(runs[0], status=example.status, started=started, finished=finished, name=None, note=None)
    message = ", ".join(f"{count:,} {word}" for word, count in statuses.items()) if len(statuses) > 1 else ""
    mark = fingerprint([name, str(finished), *(f"{member.id} {member.status} {member.suites}" for member in runs)])
    ids = tuple(member.id for member in runs)
    summaries = [summary for id in ids for summary in results.get(id, ())]
    label = f"{name} ({plural(len(runs), 'model')})"
    return RunEntry(run, label, message, mark, _suite_names(summaries), _headline(summaries), ids)


def _suite_names(results: Sequence[Summary]) -> str:
    suites = list(dict.fromkeys(summary.suite for summary in results))
    further_count = len(suites) - MAX_NAMED_SUITES
    return ", ".join(suites[:MAX_NAMED_SUITES]) + (f" and {further_count} more" if further_count > 0 else "")


def _headline(results: Sequence[Summary]) -> str:
    """The value of a single result, or the range of several proportions; those that mean nothing are left out."""
    cells = [cell_of(summary) for summary in results if not summary.error]
    headlines = [cell.headline for cell in cells if cell.headline is not None and cell.text != "–"]
    if cells and not headlines:
        return "not measurable"
    if len({row.text for row in headlines}) == 1:
        return headlines[0].text
    shares = sorted((row for row in headlines if row.share), key=lambda row: row.value)
    return f"{shares[0].text.rstrip('%')}–{shares[-1].text}" if len(shares) > 1 else ""
