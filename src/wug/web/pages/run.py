"""The page of a run: progress or status, results, name and note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import StoreError
from wug.formatting import FormattedEstimate, format_estimate
from wug.identity import Group
from wug.labels import caption, label_repeats, short_names
from wug.outcomes import Result
from wug.results import run_admin
from wug.results.records import Summary
from wug.views.family_views import across_figures
from wug.views.grouped import best_first, chance_level, chance_note, estimate_figure, in_order, point
from wug.views.parts import Figure
from wug.web.downloads import estimates_response, figure_response
from wug.web.pages.runs import run_entry
from wug.web.request_body import Form, form_endpoint
from wug.web.result_view import summary_headline
from wug.web.site import Site, site_of

MAX_GROUPS, MAX_GROUP_FIELDS = 24, 2
"""Groups per field and fields per result in the tables by group; others have a chart on the result's page."""
MAX_CHART_SUITES = 100


class GroupTable(NamedTuple):
    """The headline of a result by one group field."""

    result: int
    suite: str
    field: str
    rows: tuple[FormattedEstimate, ...]


def _run(request: Request) -> Response:
    site = site_of(request)
    with site.reader.snapshot():
        run = site.reader.run(request.path_params["run"])
        summaries = _with_options(site, site.reader.overview([run.id]))
        state, is_running = site.reader.state()
        return site.render(
            request,
            "run.html",
            run=run,
            entry=run_entry(run, short_names(listed_run.model for listed_run in site.reader.runs())),
            results=[(summary, summary_headline(summary)) for summary in summaries],
            figure=_run_figure(site, run.id, summaries),
            details={summary.id: site.reader.head(summary.id) for summary in summaries if not summary.error},
            failed=[(s.id, s.suite, s.failure) for s in summaries if s.status == "failed" and not s.error],
            editing="edit" in request.query_params,
            state=state,
            going=is_running,
        )


def _annotate(request: Request, form: Form) -> str:
    """Set the name and the note of a run."""
    site = site_of(request)
    run = site.reader.run(request.path_params["run"])
    with site.open_store() as store:
        if "name" in form:
            run_admin.rename(store, run, form["name"][0])
        if "note" in form:
            run_admin.annotate(store, run, form["note"][0])
    return f"/run/{run.id}"


def _figure(request: Request) -> Response:
    summaries, run = _summaries(request), request.path_params["run"]
    names = short_names(summary.model for summary in summaries)
    about = caption([summary.suite for summary in summaries], names.values())
    figure = _run_figure(site_of(request), run, summaries)
    return figure_response(figure, request.path_params["suffix"], "suites", about=about)


def _groups(request: Request) -> Response:
    site, tables = site_of(request), list[GroupTable]()
    for summary in _summaries(request):
        try:
            tables += group_tables(summary.id, site.reader.result(summary.id)[0])
        except StoreError:  # a damaged result has no tables
            continue
    return site.render(request, "groups.html", tables=tables)


def _table(request: Request) -> Response:
    reader = site_of(request).reader
    results = [reader.result(summary.id)[0] for summary in _summaries(request) if not summary.error]
    return estimates_response(request.path_params["suffix"], f"run-{request.path_params['run']}", results)


ROUTES: list[BaseRoute] = [
    Route("/run/{run:number}", _run),
    Route("/run/{run:number}", form_endpoint(_annotate), methods=["POST"]),
    Route("/run/{run:number}.{suffix}", _table),
    Route("/run/{run:number}/groups", _groups),
    Route("/run/{run:number}/figure.{suffix}", _figure),
]


def group_tables(id: int, result: Result) -> Iterator[GroupTable]:
    """The headline of a result by the first fields that its items are grouped by."""
    metric = None if result.headline is None else result.headline.metric
    fields: dict[str, list[FormattedEstimate]] = {}
    for estimate in result.estimates:
        group = Group.parse(estimate.group)
        if estimate.metric == metric and group.has_items:
            fields.setdefault(group.field, []).append(format_estimate(result, estimate, group.value))
    fitting_fields = [(field, rows) for field, rows in fields.items() if 1 < len(rows) <= MAX_GROUPS]
    for field, rows in fitting_fields[:MAX_GROUP_FIELDS]:
        yield GroupTable(id, result.suite, field, tuple(best_first(in_order(rows))))


def _summaries(request: Request) -> list[Summary]:
    reader = site_of(request).reader
    return reader.overview([reader.run(request.path_params["run"]).id])


def _with_options(site: Site, summaries: Sequence[Summary]) -> Sequence[Summary]:
    """The results, with their options in the names of suites that the run has several results of."""
    complete_results = [summary for summary in summaries if not summary.error]
    if len({(summary.kind, summary.suite) for summary in complete_results}) == len(complete_results):
        return summaries
    results = label_repeats([site.reader.result(summary.id)[0] for summary in complete_results])
    names = {summary.id: result.suite for summary, result in zip(complete_results, results, strict=True)}
    return [replace(summary, suite=names.get(summary.id, summary.suite)) for summary in summaries]


def _run_figure(site: Site, run: int, summaries: Sequence[Summary]) -> Figure | None:
    """The results of one suite compared, if the run has several of it; otherwise all suites."""
    stored = site.reader.overview([run])
    has_repeated_suite = len({(summary.kind, summary.suite) for summary in stored}) < len(stored)
    if has_repeated_suite and not any(summary.error for summary in stored):
        figures = across_figures([summary.result for summary in site.reader.stored(run, outcomes=True)])
        return next(figures, None) or suites_figure(summaries)
    return suites_figure(summaries)


def suites_figure(summaries: Sequence[Summary]) -> Figure | None:
    """A chart of the headlines that are proportions, by phenomenon; None for fewer than two."""
    shares = [(summary, row) for summary in summaries if (row := summary_headline(summary)) and row.share]
    shares = sorted(shares[:MAX_CHART_SUITES], key=lambda pair: not pair[0].phenomenon)
    if len(shares) < 2:
        return None
    points = [
        point(
            row,
            name=summary.suite,
            group=summary.phenomenon or summary.kind,
            chance=chance_level(summary.kind, row.metric, summary.estimates),
        )
        for summary, row in shares
    ]
    rows = [
        (chart_point, {"suite": summary.suite, "family": summary.kind, "metric": row.metric}, row)
        for chart_point, (summary, row) in zip(points, shares, strict=True)
    ]
    note = f"The headline of each suite with its 95% interval.{chance_note(points)}"
    return estimate_figure("suites", "Every suite", note, rows)
