"""The page of a run: progress or status, results, name and note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import StoreError
from wug.identity import Group
from wug.labels import short_names
from wug.results import run_admin
from wug.results.reader import Summary
from wug.types import Result, Signature
from wug.views import charts
from wug.views.grouped import best_first, in_order, point, record
from wug.views.numbers import Shown, shown
from wug.views.parts import Figure
from wug.web.downloads import figure_response, table_response
from wug.web.pages.runs.run_list import run_entry
from wug.web.request_body import Form, form_endpoint
from wug.web.result_view import summary_headline
from wug.web.site import Site, site_of

ESTIMATE_COLUMNS = ("suite", "check", "group", "value", "low", "high", "method", "n")
FAILURE_PREFIX = "failed: "
"""Beginning of the warning that says why a suite failed."""
MAX_GROUPS, MAX_GROUP_FIELDS = 24, 2
"""Groups per field and fields per result in the tables by group; others have a chart on the result's page."""
MAX_CHART_SUITES = 100


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The headline of a result by one group field."""

    result: int
    suite: str
    field: str
    rows: tuple[Shown, ...]


def _run(request: Request) -> Response:
    site = site_of(request)
    with site.reader.snapshot():
        run = site.reader.run(request.path_params["run"])
        summaries = site.reader.overview([run.id])
        results = [(one, summary_headline(one)) for one in summaries]
        heads = {one.id: site.reader.head(one.id) for one in summaries if not one.fault}
        state, running = site.reader.state()
        return site.render(
            request,
            "run.html",
            run=run,
            entry=run_entry(run, short_names(one.model for one in site.reader.runs())),
            results=results,
            figure=suites_figure(results),
            details=heads,
            failed=_failed_suites(summaries, heads),
            editing="edit" in request.query_params,
            state=state,
            going=running,
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
    figure = suites_figure([(one, summary_headline(one)) for one in _summaries(request)])
    return figure_response(figure, request.path_params.get("form", "vl.json"), "suites")


def _groups(request: Request) -> Response:
    site = site_of(request)
    found = [one for one in _summaries(request) if not one.fault]
    tables = [table for one in found for table in group_tables(one.id, _result(site, one.id))]
    return site.render(request, "groups.html", tables=tables)


def _table(request: Request) -> Response:
    rows = _estimate_rows(site_of(request), _summaries(request))
    return table_response(request.path_params["form"], f"run-{request.path_params['run']}", ESTIMATE_COLUMNS, rows)


ROUTES: list[BaseRoute] = [
    Route("/run/{run:number}", _run),
    Route("/run/{run:number}", form_endpoint(_annotate), methods=["POST"]),
    Route("/run/{run:number}.{form}", _table),
    Route("/run/{run:number}/groups", _groups),
    Route("/run/{run:number}/figure.vl.json", _figure),
    Route("/run/{run:number}/figure.{form}", _figure),
]


def group_tables(id: int, result: Result) -> Iterator[GroupTable]:
    """The headline of a result by the first fields that its items are grouped by."""
    check = None if result.headline is None else result.headline.check
    fields: dict[str, list[Shown]] = {}
    for estimate in result.estimates:
        group = Group.parse(estimate.group)
        if estimate.check == check and not group.is_overall and group.field != "macro":
            fields.setdefault(group.field, []).append(replace(shown(result, estimate), group=group.value))
    fitting = [(field, rows) for field, rows in fields.items() if 1 < len(rows) <= MAX_GROUPS]
    for field, rows in fitting[:MAX_GROUP_FIELDS]:
        yield GroupTable(id, result.suite, field, tuple(best_first(in_order(rows))))


def suites_figure(results: Sequence[tuple[Summary, Shown | None]]) -> Figure | None:
    """A chart of the headlines that are proportions, by phenomenon; None for fewer than two."""
    shares = [(kept, row) for kept, row in results if row is not None and row.share][:MAX_CHART_SUITES]
    if len(shares) < 2:
        return None
    grouped = sorted(shares, key=lambda pair: not pair[0].phenomenon)
    points = [point(row, name=kept.suite, group=kept.phenomenon or kept.kind) for kept, row in grouped]
    return Figure(
        id="suites",
        draw=partial(charts.accuracy, points),
        title="Every suite",
        note="The headline of each suite with its 95% interval.",
        columns=("suite", "family", "check", "value", "interval", "n"),
        rows=tuple((k.suite, k.kind, s.name, s.text, s.interval, f"{s.n:,}") for k, s in grouped),
        records=tuple(
            {"suite": k.suite, "family": k.kind, "check": s.check, **record(point(s), "value")} for k, s in grouped
        ),
    )


def _summaries(request: Request) -> list[Summary]:
    reader = site_of(request).reader
    return reader.overview([reader.run(request.path_params["run"]).id])


def _failed_suites(summaries: Sequence[Summary], heads: Mapping[int, Mapping[str, Any]]) -> list[tuple[int, str, str]]:
    """Result, suite and reason of each suite that failed."""
    found = []
    for one in summaries:
        if one.status == "failed" and not one.fault:
            reasons = [text for text in heads[one.id]["warnings"] if text.startswith(FAILURE_PREFIX)]
            found.append((one.id, one.suite, "".join(reasons[-1:]).removeprefix(FAILURE_PREFIX)))
    return found


def _result(site: Site, id: int) -> Result:
    """A result, or an empty one if its row is damaged."""
    try:
        return site.reader.result(id)[0]
    except StoreError:
        return Result("", "", "", "failed", Signature(), 0, ())


def _estimate_rows(site: Site, summaries: Sequence[Summary]) -> Iterator[dict[str, Any]]:
    for one in summaries:
        if not one.fault:
            result, _ = site.reader.result(one.id)
            for estimate in result.estimates:
                yield {"suite": result.suite, **asdict(estimate)}
