"""A stored result as the pages show it, without its outcomes, which are read page by page."""

from __future__ import annotations

import functools
from collections import Counter
from typing import NamedTuple

from starlette.requests import Request

from wug.formatting import FormattedEstimate, headline_estimate
from wug.labels import short_names
from wug.outcomes import Result, phenomenon_of
from wug.results.records import Run, Summary
from wug.results.sweep_curves import result_of as result_of_summary
from wug.rows import Rows
from wug.views.family_views import items_of, option_pages_of, parts_of
from wug.views.parts import ItemsView, OptionPage, ViewPart
from wug.web.site import Site, site_of

MAX_RELATED_RESULTS = 100
"""Results of other runs on the same suite that a page offers."""
MAX_CACHED_HEADLINES = 16_384
"""Headlines and cells that are kept for the next page."""


class ResultView(NamedTuple):
    """A result, its run, and access to its outcomes."""

    id: int
    result: Result
    run: Run
    rows: Rows
    items: ItemsView
    counts: dict[str, int]
    """Number of items by value of the summary metric: `true`, `false`, `none`, and "" for all."""
    name: str
    """Short name of the model, unique in the store."""

    @property
    def parts(self) -> list[ViewPart]:
        """The parts of the result's page, in order."""
        return list(parts_of(self.result, self.rows))

    @property
    def option_pages(self) -> list[OptionPage]:
        """Pages that compare it with results of other options."""
        return option_pages_of(self.result)

    @property
    def phenomenon(self) -> str:
        """The phenomenon that the suite tests; empty if it names none."""
        return phenomenon_of(self.result.meta)

    @property
    def file_name(self) -> str:
        """Beginning of the names of downloaded files: suite and model."""
        return f"{self.result.suite}-{self.name}"

    @property
    def url(self) -> str:
        """Path of the result's page."""
        return f"/result/{self.id}"


def load_result(site: Site, id: int) -> ResultView:
    """Load a result; StoreError if it is missing or damaged."""
    result, run = site.reader.result(id)
    rows = site.reader.rows(id, keep=True)
    items = items_of(result, rows)
    name = model_names(site).get(result.model, result.model)
    return ResultView(id, result, run, rows, items, rows.tally(items.metric), name)


def result_of(request: Request) -> tuple[Site, ResultView]:
    """The site and the result that a request is for."""
    site = site_of(request)
    return site, load_result(site, request.path_params["result"])


def model_names(site: Site) -> dict[str, str]:
    """Short names of the models in the store, by model id."""
    return short_names(site.reader.models())


class RelatedResult(NamedTuple):
    """A result of another run on the same suite."""

    id: int
    name: str
    """Short name of the model, with the run if the model has several."""


def related_results(site: Site, view: ResultView) -> list[RelatedResult]:
    """Results of other runs on the same suite, newest first."""
    siblings = site.reader.siblings(view.id)[:MAX_RELATED_RESULTS]
    names, models = model_names(site), Counter([view.result.model, *(sibling.model for sibling in siblings)])
    suffixes = [f" (run {sibling.run})" * (models[sibling.model] > 1) for sibling in siblings]
    return [RelatedResult(one.id, names[one.model] + end) for one, end in zip(siblings, suffixes, strict=True)]


@functools.lru_cache(maxsize=MAX_CACHED_HEADLINES)
def summary_headline(summary: Summary) -> FormattedEstimate | None:
    """The headline estimate of a result; None if it has none."""
    return headline_estimate(result_of_summary(summary))


def summary_row(summary: Summary) -> dict[str, object]:
    """A result as a row of a downloaded table."""
    headline, names = summary_headline(summary), ("run", "model", "status", "suite", "kind", "n")
    row: dict[str, object] = {**{name: getattr(summary, name) for name in names}, "result": summary.id}
    if headline is not None:
        method = next((estimate.method for estimate in summary.estimates if estimate.metric == headline.metric), None)
        row |= {name: getattr(headline, name) for name in ("metric", "value", "low", "high", "n")} | {"method": method}
    return row
