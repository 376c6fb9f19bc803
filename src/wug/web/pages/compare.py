"""Comparison of runs item by item, and all models on one suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import escape
from typing import Any, NamedTuple, TypeAlias

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wug.errors import InputError, StoreError, UnknownName
from wug.formatting import FormattedEstimate, local_time, plural
from wug.identity import ModelId
from wug.labels import caption, short_names
from wug.results.average import SEED, without_seed
from wug.results.comparison import ComparisonSettings, compare, side_label
from wug.results.contrasts import RunComparison
from wug.results.learning_curves import learning_curves, step_in
from wug.results.records import Run, Summary
from wug.views.comparison import table
from wug.views.comparison_charts import figures
from wug.views.grouped import chance_level, estimate_figure, point
from wug.views.parts import Figure
from wug.views.sweeps import curve_figures
from wug.web.downloads import figure_response, table_response, tabular_response
from wug.web.jobs import scoring_models
from wug.web.result_view import model_names, summary_headline, summary_row
from wug.web.site import NavLink, Site, build_url, parse_page_number, site_of

NAV = NavLink("Compare", "/compare", 10)
MAX_CONTRAST_ITEMS = 20
"""Differing items listed per contrast."""
ITEMS_PER_PAGE = 50
"""Differing items per page of all of them."""
MAX_CURVE_SUITES = 8
"""Suites whose learning curves are drawn; the user can choose another."""
MAX_RANKED_MODELS = 60
COLUMNS = ("run", "model", "status", "metric", "value", "low", "high", "n", "result")
MAX_SIDES = 12
MAX_RUN_CHOICES = 400
"""Runs to choose from, newest first."""


RankedResult: TypeAlias = tuple[Summary, FormattedEstimate]
"""The result of a model on a suite, and its headline."""


class ComparisonSide(NamedTuple):
    """A run, several pooled runs, the newest results of a model, or a sweep."""

    value: str
    """As in the URL: `7`, `1,2,3`, `model:ID` or `sweep:4`."""
    runs: tuple[int, ...]
    """For a sweep in the order of its training steps."""
    is_sweep: bool = False

    @property
    def is_model(self) -> bool:
        """Whether the newest result of the runs on each suite is compared."""
        return self.value.startswith("model:")

    @property
    def compared_runs(self) -> list[int]:
        """The runs whose items are compared: for a sweep, its last model's."""
        return list(self.runs[-1:] if self.is_sweep else self.runs)


class ComparisonOptions:
    """The runs of a store as sides to choose from."""

    def __init__(self, site: Site, suite: str = "") -> None:
        self._runs = [run for run in site.reader.runs() if run.suites]
        self._by_id = {run.id: run for run in self._runs}
        self._suites: dict[int, set[str]] = {}
        for summary in site.reader.overview():
            self._suites.setdefault(summary.run, set()).add(summary.suite)
        self._names = short_names(run.model for run in self._runs)
        self._sweeps = site.reader.sweep_names()
        self._suite = suite

    @property
    def suites(self) -> list[str]:
        """All suites with results."""
        return sorted({suite for run_suites in self._suites.values() for suite in run_suites})

    @property
    def choices(self) -> dict[str, list[tuple[str, str]]]:
        """Values and labels of choices under their headings: pooled runs first, then model by model."""
        runs_with_suite = [run for run in self._runs if self._has_suite(run)]
        pooled_choices = []
        for name, runs in self._seeds(runs_with_suite).items():
            few = f"runs {', '.join(str(run.id) for run in runs)}"
            described = few if len(runs) <= 6 else f"{len(runs)} runs, {runs[0].id} to {runs[-1].id}"
            pooled_choices.append((_joined_ids(runs), f"{name}, {len(runs)} seeds ({described})"))
        pooled_choices += [
            (f"sweep:{id}", f"{name}, {len(self._sweep_runs(id))} models")
            for id, name in self._sweeps.items()
            if any(self._has_suite(self._by_id[run]) for run in self._sweep_runs(id))
        ]
        counts = Counter(run.model for run in runs_with_suite if run in self._model_runs(run.model))
        pooled_choices += [
            (f"model:{model}", f"{self._names[model]}, newest of {count} runs on each suite")
            for model, count in counts.items()
            if count > 1
        ]
        groups: dict[str, list[tuple[str, str]]] = {"several runs together": pooled_choices} if pooled_choices else {}
        for run in [run for run in runs_with_suite if run.sweep not in self._sweeps][:MAX_RUN_CHOICES]:
            name, suites = self._names[run.model], plural(run.suites, "suite")
            run_name = f" · {run.name}" if run.name else ""
            label = f"{name} · {local_time(run.started)} · {suites} · run {run.id}{run_name}"
            groups.setdefault(name, []).append((str(run.id), label))
        return groups

    def sides(self, query: QueryParams) -> list[ComparisonSide]:
        """The sides in the query parameters `run`, `side` and `model`, each of which may be repeated."""
        texts = [*query.getlist("run"), *query.getlist("side"), *(f"model:{name}" for name in query.getlist("model"))]
        sides = [side for text in texts if text.strip() and (side := self._parse_side(text)) is not None]
        if len(sides) > MAX_SIDES:
            raise HTTPException(400, f"A page compares at most {MAX_SIDES} runs, not {len(sides)}.")
        return sides

    def pooling_links(self, sides: Sequence[ComparisonSide], query: Mapping[str, str]) -> list[tuple[str, str, str]]:
        """Label, text and URL for the sides that are one seed of several, or several seeds."""
        seeds = self._seeds(self._runs)
        filters = {key: query[key] for key in ("suite", "metric", "pairs", "pool") if query.get(key)}
        links = []
        for index, side in enumerate(sides):
            runs = [self._by_id[id] for id in side.runs if id in self._by_id]
            name = _without_seed(runs[0].model) if runs else ""
            siblings = seeds.get(name, [])
            if side.is_sweep or side.is_model or len(siblings) < 2:
                continue
            is_pooled = len(side.runs) > 1
            value = str(side.runs[0]) if is_pooled else _joined_ids(siblings)
            values = tuple(value if at == index else other_side.value for at, other_side in enumerate(sides))
            text = f"take run {side.runs[0]} alone" if is_pooled else f"pool all {len(siblings)} seeds of {name}"
            links.append((side_label(index), text, build_url("/compare", {"side": values, **filters})))
        return links

    def _parse_side(self, text: str) -> ComparisonSide | None:
        kind, colon, name = text.partition(":")
        if colon and kind == "model":
            run_ids = tuple(run.id for run in self._model_runs(name))
            if not run_ids:
                raise HTTPException(404, f"No run of {name!r} has a result.")
            return ComparisonSide(text if len(run_ids) > 1 else str(run_ids[0]), run_ids)
        if colon and kind == "sweep" and name.isdecimal() and len(name) < 12:
            runs = self._sweep_runs(int(name))
            if not runs:
                raise HTTPException(404, f"There is no sweep {name} with results.")
            return ComparisonSide(text, tuple(runs), is_sweep=True)
        ids = [part.strip() for part in text.split(",") if part.strip()]
        if not all(part.isdecimal() and len(part) < 12 for part in ids):
            raise HTTPException(400, f"{text!r} is not the number of a run, or several separated by commas.")
        return ComparisonSide(",".join(ids), tuple(map(int, ids))) if ids else None

    def _sweep_runs(self, sweep: int) -> list[int]:
        """Complete runs of a sweep in the order of their training steps."""
        runs = [run for run in self._runs if run.sweep == sweep and run.status == "complete"]
        steps = {run.id: step_in(run) or 0.0 for run in runs}
        return [run.id for run in sorted(runs, key=lambda run: (steps[run.id], run.id))]

    def _model_runs(self, model: str) -> list[Run]:
        """The finished runs of a model, newest first; those of drafts and sweeps only if there are no others."""
        finished_runs = [run for run in self._runs if run.model == model and run.status != "running"]
        return [run for run in finished_runs if not run.is_draft and run.sweep not in self._sweeps] or finished_runs

    def _seeds(self, runs: Sequence[Run]) -> dict[str, list[Run]]:
        """For each model with several seeds, the newest run of each seed."""
        runs_by_name: dict[str, dict[str, Run]] = {}
        for run in runs:
            if SEED.search(run.model) and run.status == "complete" and run.sweep not in self._sweeps:
                runs_by_name.setdefault(_without_seed(run.model), {}).setdefault(run.model, run)
        return {
            name: sorted(by_model.values(), key=lambda run: run.id)
            for name, by_model in runs_by_name.items()
            if len(by_model) > 1
        }

    def _has_suite(self, run: Run) -> bool:
        return not self._suite or self._suite in self._suites.get(run.id, ()) or "*" in self._suite


def _page(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    options = ComparisonOptions(site, query.get("suite", ""))
    sides = options.sides(query)
    context: dict[str, Any] = {"comparison": None, "fault": ""}
    if len(sides) > 1:
        try:
            comparison = _comparison(request, sides)
            curves = _learning_curves(request, sides)
            context |= {"comparison": comparison, "figures": figures(comparison), "curves": curves}
        except (InputError, StoreError) as error:
            context["fault"] = str(error)
    return site.render(
        request,
        "compare.html",
        status=400 if context["fault"] else 200,
        options=options,
        scoring_models=scoring_models(site.models),
        sides=sides,
        pooling_links=options.pooling_links(sides, query),
        **context,
    )


def _differing_items(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    page = parse_page_number(query.get("page", ""))
    sides = ComparisonOptions(site).sides(query)
    suites, metrics = ([escape(query.get(name, ""))] for name in ("suite", "metric"))
    with site.open_store() as store:
        settings = ComparisonSettings(
            suites, metrics, items=ITEMS_PER_PAGE, skip=(page - 1) * ITEMS_PER_PAGE, newest=_model_places(sides)
        )
        comparison = compare(store, [side.compared_runs for side in sides], settings)
    return site.render(
        request,
        "compare_items.html",
        contrast=comparison.contrasts[0],
        page=page,
        size=ITEMS_PER_PAGE,
        sides=sides,
    )


def _table(request: Request) -> Response:
    comparison = _comparison(request, ComparisonOptions(site_of(request)).sides(request.query_params))
    return tabular_response(request.path_params["suffix"], "comparison", table(comparison))


def _figure(request: Request) -> Response:
    name, suffix = request.path_params["name"], request.path_params.get("suffix", "vl.json")
    sides = ComparisonOptions(site_of(request)).sides(request.query_params)
    candidates = _learning_curves(request, sides) if name.startswith("curve-") else figures(_comparison(request, sides))
    return figure_response(next((figure for figure in candidates if figure.id == name), None), suffix, name)


def _suite(request: Request) -> Response:
    name, rows = _ranking(request)
    if not rows:
        raise HTTPException(404, f"No run has a suite called {name!r}.")
    return site_of(request).render(
        request,
        "suite.html",
        name=name,
        rows=rows,
        figure=_ranking_figure(name, rows),
        names=model_names(site_of(request)),
    )


def _suite_table(request: Request) -> Response:
    name, rows = _ranking(request)
    return table_response(request.path_params["suffix"], name, COLUMNS, (summary_row(summary) for summary, _ in rows))


def _suite_figure(request: Request) -> Response:
    name, rows = _ranking(request)
    figure = _ranking_figure(name, rows) if rows else None
    about = caption([name], short_names(summary.model for summary, _ in rows).values())
    return figure_response(figure, request.path_params["suffix"], name, about=about)


ROUTES: list[BaseRoute] = [
    Route("/compare", _page),
    Route("/compare/items", _differing_items),
    Route("/compare/figure/{name}.vl.json", _figure),
    Route("/compare/figure/{name}.{suffix}", _figure),
    Route("/compare.{suffix}", _table),
    Route("/suite", _suite),
    Route("/suite.{suffix}", _suite_table),
    Route("/suite/figure.{suffix}", _suite_figure),
]


def _comparison(request: Request, sides: Sequence[ComparisonSide]) -> RunComparison:
    query = request.query_params
    settings = ComparisonSettings(
        suites=list(filter(None, query.getlist("suite"))),
        metrics=list(filter(None, query.getlist("metric"))),
        all_pairs=query.get("pairs") == "all",
        pool=query.get("pool") == "yes",
        items=MAX_CONTRAST_ITEMS,
        newest=_model_places(sides),
    )
    with site_of(request).open_store() as store:
        return compare(store, [side.compared_runs for side in sides], settings)


def _model_places(sides: Sequence[ComparisonSide]) -> list[int]:
    return [index for index, side in enumerate(sides) if side.is_model]


def _learning_curves(request: Request, sides: Sequence[ComparisonSide]) -> list[Figure]:
    """One chart per suite with the curves of all models, if the runs are checkpoints with known steps."""
    suite_names = list(filter(None, request.query_params.getlist("suite")))
    runs = list(dict.fromkeys(run for side in sides for run in side.runs[: 1 if side.is_model else None]))
    try:
        with site_of(request).open_store() as store:
            curves = learning_curves(store, runs, suites=suite_names)
    except (InputError, UnknownName):
        return []
    figures: list[Figure] = []
    for suite in list(dict.fromkeys(curve.suite for curve in curves.curves))[:MAX_CURVE_SUITES]:
        curves_of_suite = replace(curves, curves=tuple(curve for curve in curves.curves if curve.suite == suite))
        figures += (replace(figure, title=f"{suite} over training") for figure in curve_figures(curves_of_suite))
    return [replace(figure, id=f"curve-{number}") for number, figure in enumerate(figures)]


def _ranking(request: Request) -> tuple[str, list[RankedResult]]:
    """The suite in the query, and every model's result on it, best first."""
    suite = request.query_params.get("name", "")
    rows = [
        (summary, headline)
        for summary in site_of(request).reader.overview()
        if summary.suite == suite and not summary.error and (headline := summary_headline(summary)) is not None
    ]
    return suite, sorted(rows, key=lambda row: -row[1].goodness)


def _ranking_figure(suite: str, rows: Sequence[RankedResult]) -> Figure:
    has_repeats = len({summary.model for summary, _ in rows}) < len(rows)
    names = short_names(summary.model for summary, _ in rows[:MAX_RANKED_MODELS])
    top_rows = [
        (
            point(
                row,
                name=names[summary.model] + f" (run {summary.run})" * has_repeats,
                chance=chance_level(summary.kind, row.metric, summary.estimates),
            ),
            {"run": str(summary.run), "model": summary.model, "status": summary.status, "metric": row.metric},
            row,
        )
        for summary, row in rows[:MAX_RANKED_MODELS]
    ]
    name, share = rows[0][1].name, all(row.share for _, _, row in top_rows)
    limit_note = f" The first {len(top_rows)} of {len(rows)}." if len(top_rows) < len(rows) else ""
    note = f"{name.capitalize()} with 95% intervals, the best first.{limit_note}"
    return estimate_figure("suite", f"Every model on {suite}", note, top_rows, axis=name, share=share)


def _without_seed(model: str) -> str:
    """A model's name without backend, seed and fingerprint."""
    return without_seed(ModelId.parse(model).name)


def _joined_ids(runs: Sequence[Run]) -> str:
    return ",".join(str(run.id) for run in runs)
