"""The list of sweeps, and a sweep as learning curves and as a table of models by suites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import StoreError, WugError
from wug.identity import Group
from wug.results import run_admin
from wug.results.reader import RunReader
from wug.results.records import Run, Summary
from wug.results.sweep_curves import placed, sweep_curves
from wug.results.sweeps import Member, Sweep, counts, members, sweeps
from wug.views.parts import Figure
from wug.views.sweeps import default_scale, metric_names, step_unit, sweep_figures
from wug.web.downloads import figure_response, table_response
from wug.web.request_body import Form, form_endpoint
from wug.web.result_grid import GridCell, cell_of
from wug.web.result_view import summary_row
from wug.web.site import build_url, page_of, parse_page_number, site_of

MODELS_PER_PAGE, SUITES_PER_PAGE = 50, 24
MAX_INLINE_RUNS = 300
"""Runs whose curves are computed with the page; for more, the browser requests each chart."""
DEFERRED_CHARTS = 3
"""Charts that the browser requests then; those that do not exist are left out."""
SCALES = ("linear", "log")
MAX_LINES, MAX_MODELS_BY_FIELD = 100, 4
"""More lines of suites, or more models by field, are not drawn at once: only the first suite, or the first model."""
WILDCARD = "*"
"""In an address, all suites or models."""
COLUMNS = ("model", "run", "status", "suite", "metric", "value", "low", "high", "n", "result")


class SweepRow(NamedTuple):
    """A model in the table."""

    model: str
    run: Run | None
    cells: tuple[GridCell | None, ...]


@dataclass(frozen=True, slots=True)
class ChosenLines:
    """The lines of the charts, as the reader chose them or as fits."""

    by: str
    scale: str
    suite: str
    model: str
    models: Sequence[str]
    """All models, without their training steps."""
    steps: Sequence[float]

    @classmethod
    def of(cls, request: Request, sweep: Sweep, all_members: Sequence[Member]) -> ChosenLines:
        """What the address chooses, and defaults for the rest."""
        query = request.query_params
        checkpoints = placed([member.run for member in all_members if member.run is not None])
        models = list(dict.fromkeys(checkpoint.training for checkpoint in checkpoints))
        by, scale = query.get("by", ""), query.get("scale", "")
        suite, model = query.get("suite", ""), query.get("model", "")
        if suite not in sweep.suites:
            is_small_enough = by or suite == WILDCARD or len(sweep.suites) * len(models) <= MAX_LINES
            suite = WILDCARD if is_small_enough else sweep.suites[0]
        if model not in models:
            is_small_enough = not by or model == WILDCARD or len(models) <= MAX_MODELS_BY_FIELD
            model = WILDCARD if is_small_enough else models[0]
        return cls(
            by, scale if scale in SCALES else "", suite, model, models, [checkpoint.step for checkpoint in checkpoints]
        )

    def figures(self, reader: RunReader, sweep: Sweep) -> list[Figure]:
        """The charts of these lines."""
        unit = step_unit(str(model) for model in sweep.models)
        suites = () if self.suite == WILDCARD else (escape(self.suite),)
        trainings = () if self.model == WILDCARD else (self.model,)
        try:
            curves = sweep_curves(reader, [sweep], suites=suites, by=self.by, trainings=trainings)
        except WugError:
            return []
        return sweep_figures(curves, self.scale, unit)


def _list(request: Request) -> Response:
    site = site_of(request)
    return site.render(request, "sweeps.html", sweeps=sweeps(site.reader), statuses=site.reader.sweep_statuses())


def _page(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    sweep = _find_sweep(request)
    all_members = members(site.reader, sweep)
    page = page_of(all_members, parse_page_number(query.get("page", "")), MODELS_PER_PAGE)
    columns = page_of(sweep.suites, parse_page_number(query.get("columns", "")), SUITES_PER_PAGE)
    suites, rows = columns.rows, list(_rows(site.reader, page.rows, columns.rows))
    lines = ChosenLines.of(request, sweep, all_members)
    return site.render(
        request,
        "sweep.html",
        sweep=sweep,
        tally=counts(all_members),
        suites=suites,
        rows=rows,
        values=metric_names(suites, ([cell.headline if cell else None for cell in row.cells] for row in rows)),
        page=page.page,
        pages=page.pages,
        columns=columns.page,
        column_pages=columns.pages,
        url=lambda **changed: build_url(f"/sweeps/{sweep.id}", {**dict(query), **changed}),
        figures=_figures(site.reader, sweep, lines),
        lines=lines,
        scale=lines.scale or default_scale(lines.steps),
        scales=SCALES,
        all=WILDCARD,
        figure_query=build_url("", {key: query[key] for key in ("by", "scale", "suite", "model") if query.get(key)}),
        fields=_group_fields(site.reader, all_members),
    )


def _rename(request: Request, form: Form) -> str:
    """Rename a sweep."""
    sweep = _find_sweep(request)
    with site_of(request).open_store() as store:
        run_admin.rename_sweep(store, sweep.id, form.get("name", [""])[0])
    return f"/sweeps/{sweep.id}"


def _figure(request: Request) -> Response:
    name, suffix = request.path_params["name"], request.path_params.get("suffix", "vl.json")
    reader, sweep = site_of(request).reader, _find_sweep(request)
    figures = ChosenLines.of(request, sweep, members(reader, sweep)).figures(reader, sweep)
    figure = next((figure for figure in figures if figure.id == name), None)
    return figure_response(figure, suffix, f"sweep-{sweep.id}-{name}", is_optional=True)


def _table(request: Request) -> Response:
    sweep = _find_sweep(request)
    all_members = members(site_of(request).reader, sweep)
    by_run = _summaries(site_of(request).reader, all_members)
    rows = (
        {**summary_row(summary), "model": str(member.model)}
        for member in all_members
        if member.run is not None
        for summary in by_run.get(member.run.id, {}).values()
    )
    return table_response(request.path_params["suffix"], f"sweep-{sweep.id}", COLUMNS, rows)


ROUTES: list[BaseRoute] = [
    Route("/sweeps", _list),
    Route("/sweeps/{number:number}", _page),
    Route("/sweeps/{number:number}", form_endpoint(_rename), methods=["POST"]),
    Route("/sweeps/{number:number}/figure/{name}.vl.json", _figure),
    Route("/sweeps/{number:number}/figure/{name}.{suffix}", _figure),
    Route("/sweeps/{number:number}.{suffix}", _table),
]


def _find_sweep(request: Request) -> Sweep:
    number = request.path_params["number"]
    sweep = next((sweep for sweep in sweeps(site_of(request).reader) if sweep.id == number), None)
    if sweep is None:
        raise HTTPException(404, f"There is no sweep {number} in this store.")
    return sweep


def _rows(reader: RunReader, shown_members: Sequence[Member], suites: Sequence[str]) -> Iterator[SweepRow]:
    by_run, warnings = _summaries(reader, shown_members), reader.warnings()
    for member in shown_members:
        by_suite = {} if member.run is None else by_run.get(member.run.id, {})
        cells = {suite: cell_of(summary, warnings.get(summary.id, ())) for suite, summary in by_suite.items()}
        yield SweepRow(str(member.model), member.run, tuple(map(cells.get, suites)))


def _summaries(reader: RunReader, shown_members: Sequence[Member]) -> dict[int, dict[str, Summary]]:
    """Results by run and suite."""
    by_run: dict[int, dict[str, Summary]] = {}
    runs = [member.run.id for member in shown_members if member.run is not None]
    for summary in reader.overview(runs) if runs else ():
        by_run.setdefault(summary.run, {})[summary.suite] = summary
    return by_run


def _figures(reader: RunReader, sweep: Sweep, lines: ChosenLines) -> Sequence[Figure | dict[str, Any]]:
    """The learning curves, or placeholders for charts that the browser requests."""
    if len(set(lines.steps)) < 2:
        return []
    if len(lines.steps) <= MAX_INLINE_RUNS:
        return lines.figures(reader, sweep)
    placeholder = {"title": "Over training", "note": "", "columns": (), "rows": ()}
    return [{"id": f"curve-{number}", **placeholder} for number in range(DEFERRED_CHARTS)]


def _group_fields(reader: RunReader, all_members: Sequence[Member]) -> list[str]:
    """The group fields of the first complete run."""
    run = next((member.run for member in all_members if member.run and member.run.status == "complete"), None)
    with suppress(StoreError):
        results = [] if run is None else [stored_result.result for stored_result in reader.stored(run.id)]
        groups = (Group.parse(estimate.group) for result in results for estimate in result.estimates)
        return list(dict.fromkeys(group.field for group in groups if not group.is_overall))
    return []
