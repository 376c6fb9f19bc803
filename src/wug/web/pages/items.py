"""The items of a result, page by page, and single items."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from wug.formatting import finite_or_none, metric_label, spaced_name
from wug.identity import Group
from wug.outcomes import Outcome, Value
from wug.rows import Filter, OutcomeRow
from wug.views.parts import DeferredPart, Figure, ItemView, SortKey, SortOption, sort_by
from wug.web.downloads import content_disposition, table_response
from wug.web.editor import default_editor
from wug.web.result_view import ResultView, load_result, model_names, result_of
from wug.web.site import JsonResponse, Site, build_url, page_of, parse_page_number

MAX_OTHER_MODELS = 24
"""Other models whose outcome on an item is shown."""
BATCH_ROWS = 1_000
"""Rows of a download that are read together."""
COLUMNS = ("position", "item", "metric", "value", "groups", "detail")
MAX_GROUP_CHOICES = 400
VALUE_LABELS = {"": "all", "true": "passing", "false": "failing", "none": "not judged"}
SAMPLED_ROWS = 20
"""Rows that are read to find out which details can be sorted by."""
MAX_CACHED_ORDERS = 24
"""Sorted results in memory, so that the next page needs no sorting."""


class OtherOutcome(NamedTuple):
    """The same item in another run."""

    name: str
    """Short name of the model."""
    model: str
    url: str
    value: Value
    note: str


class ItemQuery(NamedTuple):
    """Query parameters of a page of items."""

    metric: str
    value: str
    group: str
    """`field=value`."""
    text: str
    default_metric: str
    """The metric that a URL without one means."""
    sort: str = ""
    """Id of a sort option, descending with `-` in front; empty for the order of the suite."""

    @classmethod
    def parse(cls, view: ResultView, query: Mapping[str, str]) -> ItemQuery:
        """Parse query parameters; invalid values are ignored."""
        value = query.get("value", "")
        return cls(
            metric=query.get("metric") or view.items.metric,
            value=value if value in VALUE_LABELS else "",
            group=query.get("group", ""),
            text=query.get("q", "").strip(),
            default_metric=view.items.metric,
            sort=query.get("sort", ""),
        )

    @property
    def filter(self) -> Filter:
        """The filter for the outcomes."""
        group = Group.parse(self.group)
        return Filter(
            metric=self.metric or None,
            value=self.value or None,
            group=(group.field, group.value) if "=" in self.group else None,
            text=self.text or None,
        )

    def url(self, path: str, **changes: object) -> str:
        """The URL of this query with some parameters changed."""
        metric = "" if self.metric == self.default_metric else self.metric
        parameters = {"metric": metric, "value": self.value, "group": self.group, "q": self.text, "sort": self.sort}
        return build_url(path, {**parameters, **changes})


def _list(request: Request) -> Response:
    site, view, query = _parse(request)
    page_number = parse_page_number(request.query_params.get("page", ""))
    page = page_of(ordered_positions(site, view, query), page_number, view.items.size)
    rows = view.rows.read(page.rows)
    items = [view.items.show(row, judgements) for row, judgements in zip(rows, view.rows.same_items(rows), strict=True)]
    return site.render(
        request,
        "items.html",
        result_view=view,
        item_query=query,
        values=VALUE_LABELS,
        item_page=page,
        rows=list(zip(rows, items, strict=True)),
        metrics=view.rows.metrics(),
        groups=group_choices(view, query.metric),
        sorts=sort_options(view, query.metric),
        others=site.reader.siblings(view.id)[:1],
        tab="items",
        whole=False,
    )


def _item_page(request: Request) -> Response:
    site, view, query = _parse(request)
    row = view.rows.at(request.path_params["place"])
    before, after = (
        None if position is None else view.rows.at(position)
        for position in neighbours(ordered_positions(site, view, query), row.position)
    )
    return site.render(
        request,
        "item.html",
        result_view=view,
        item_query=query,
        row=row,
        item=_item(view, row),
        judgements=view.rows.same_item(row),
        chart=next((part for part in view.parts if isinstance(part, Figure | DeferredPart) and part.item_figure), None),
        before=before,
        after=after,
        other_outcomes=list(_other_outcomes(site, view, row)),
        file_name=view.file_name,
        others=(),
        tab="items",
        whole=True,
    )


def _named_item(request: Request) -> Response:
    """The page of an item by its name, or its outcomes as a table with `.csv` or `.json` after the name."""
    _, view, query = _parse(request)
    name = request.path_params["name"]
    stem, _, suffix = name.rpartition(".")
    for item, ending in ((name, ""), (stem, f".{suffix}")):
        if judgements := view.rows.of_item(item) if item else ():
            row = next((one for one in judgements if one.outcome.metric == query.metric), judgements[0])
            return RedirectResponse(query.url(f"{view.url}/outcome/{row.position}{ending}"), status_code=303)
    raise HTTPException(404, f"This result has no item {name!r}.")


def _item_as_suite(request: Request) -> Response:
    view, row = _row_of(request)
    suite = default_editor().suite_of_item(view.result, view.rows.same_item(row), _item(view, row))
    if suite is None:
        raise HTTPException(404, "This item has no sentences that the editor could open.")
    name = f"{view.result.suite}-item-{row.outcome.item}"
    return JsonResponse(suite, headers={"content-disposition": content_disposition(name, "json")})


def _table(request: Request) -> Response:
    site, view, query = _parse(request)
    positions = ordered_positions(site, view, query)
    # A slow client must not hold a cursor open.
    batches = (positions[start : start + BATCH_ROWS] for start in range(0, len(positions), BATCH_ROWS))
    rows = chain.from_iterable(map(view.rows.read, batches))
    return table_response(request.path_params["suffix"], f"{view.file_name}-items", COLUMNS, map(_fields, rows))


def _item_table(request: Request) -> Response:
    view, row = _row_of(request)
    rows = map(_fields, view.rows.same_item(row))
    return table_response(request.path_params["suffix"], f"{view.file_name}-item-{row.outcome.item}", COLUMNS, rows)


ROUTES: list[BaseRoute] = [
    Route("/result/{result:number}/items", _list),
    Route("/result/{result:number}/items.{suffix}", _table),
    Route("/result/{result:number}/item/{name:path}", _named_item),
    Route("/result/{result:number}/outcome/{place:number}", _item_page),
    Route("/result/{result:number}/outcome/{place:number}.{suffix}", _item_table),
    Route("/result/{result:number}/outcome/{place:number}/suite.json", _item_as_suite),
]


def _parse(request: Request) -> tuple[Site, ResultView, ItemQuery]:
    site, view = result_of(request)
    return site, view, ItemQuery.parse(view, request.query_params)


def _row_of(request: Request) -> tuple[ResultView, OutcomeRow]:
    _, view = result_of(request)
    return view, view.rows.at(request.path_params["place"])


def _item(view: ResultView, row: OutcomeRow) -> ItemView:
    return view.items.show(row, view.rows.same_item(row))


def _other_outcomes(site: Site, view: ResultView, row: OutcomeRow) -> Iterator[OtherOutcome]:
    """The outcomes of other models on an item and metric, each from the model's newest run."""
    names = model_names(site)
    newest_results = {sibling.model: sibling for sibling in reversed(site.reader.siblings(view.id))}
    for sibling in list(newest_results.values())[:MAX_OTHER_MODELS]:
        judgements = site.reader.rows(sibling.id).same_item(row)
        judgement = next((one for one in judgements if one.outcome.metric == row.outcome.metric), None)
        if judgement is not None and sibling.model != view.result.model:
            item = view.items.show(judgement, judgements)
            failures = ", ".join(metric_label(metric, view.result.kind) for metric in item.failed_metrics)
            note = " · ".join(filter(None, (item.note, failures and f"fails {failures}")))
            url = f"/result/{sibling.id}/outcome/{judgement.position}"
            yield OtherOutcome(names[sibling.model], sibling.model, url, judgement.outcome.value, note)


def _fields(row: OutcomeRow) -> dict[str, Any]:
    outcome = row.outcome
    fields = (row.position, outcome.item, outcome.metric, outcome.value, dict(outcome.groups), dict(outcome.detail))
    return dict(zip(COLUMNS, fields, strict=True))


def group_choices(view: ResultView, metric: str) -> dict[str, list[str]]:
    """Groups that the items of a metric can be filtered by: field → values."""
    values_by_field: dict[str, list[str]] = {}
    groups = (Group.parse(estimate.group) for estimate in view.result.estimates if estimate.metric == metric)
    for group in islice((group for group in groups if group.has_items), MAX_GROUP_CHOICES):
        values_by_field.setdefault(group.field, []).append(group.value)
    # A group of all items filters nothing.
    return {field: values for field, values in values_by_field.items() if len(values) > 1}


def sort_options(view: ResultView, metric: str) -> list[SortOption]:
    """Sort options for the items of a metric: those of the family, numeric details, length, groups, name."""
    outcomes = [row.outcome for row in islice(view.rows.each(Filter(metric), limit=SAMPLED_ROWS), SAMPLED_ROWS)]
    sorts = {sort.id: sort for sort in view.items.sorts}

    def offer(id: str, label: str, key: Callable[[Outcome], SortKey], *details: str) -> None:
        sorts.setdefault(id, sort_by(id, label, key, *details))

    if any(isinstance(outcome.value, float) for outcome in outcomes):
        offer("value", metric_label(metric, view.result.kind), lambda outcome: finite_or_none(outcome.value))
    for name in dict.fromkeys(
        name
        for outcome in outcomes
        for name, value in outcome.detail.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ):
        offer(name, spaced_name(name), partial(_detail, name=name), name)
    texts = view.items.texts
    if any(isinstance(outcome.detail.get(name), str) for outcome in outcomes for name in texts):
        offer("length", "length (words)", partial(_word_count, names=texts), *texts)
    for field in group_choices(view, metric):
        offer(f"group:{field}", spaced_name(field), partial(_group, field=field))
    offer("item", f"name of the {view.items.noun}", lambda outcome: _number_or_text(outcome.item))
    return list(sorts.values())


def ordered_positions(site: Site, view: ResultView, query: ItemQuery) -> Sequence[int]:
    """Positions of all items that match a query, in its order."""
    if view.run.status != "complete":  # it may grow
        return _order(view, query)
    return _cached_order(site, site.reader.identity(), view.id, query)


@functools.lru_cache(maxsize=MAX_CACHED_ORDERS)
def _cached_order(site: Site, store: tuple[int, int], id: int, query: ItemQuery) -> Sequence[int]:
    return _order(load_result(site, id), query)


def neighbours(positions: Sequence[int], position: int) -> tuple[int | None, int | None]:
    """The previous and the next position; None at the ends, or if the position is not among them."""
    try:
        index = positions.index(position)
    except ValueError:
        return None, None
    return positions[index - 1] if index else None, positions[index + 1] if index + 1 < len(positions) else None


def sorted_positions(values: Iterable[tuple[int, SortKey]], *, descending: bool) -> Iterator[int]:
    """Positions sorted by value: numbers, then texts, then those without a value; the sort is stable."""
    numbers: list[tuple[Any, int]] = []
    texts: list[tuple[Any, int]] = []
    rest: list[tuple[Any, int]] = []
    for position, value in values:
        kind = rest if value is None else texts if isinstance(value, str) else numbers
        kind.append((value, position))
    for pairs in (numbers, texts):
        pairs.sort(key=lambda pair: pair[0], reverse=descending)
    return (position for _, position in (*numbers, *texts, *rest))


def _order(view: ResultView, query: ItemQuery) -> Sequence[int]:
    name, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    sort = next((option for option in sort_options(view, query.metric) if option.id == name), None) if name else None
    if sort is None:
        return view.rows.positions(query.filter)
    values = sort.values(view.rows, query.filter)
    return array("q", sorted_positions(values, descending=descending))


def _detail(outcome: Outcome, name: str) -> SortKey:
    return finite_or_none(outcome.detail.get(name))


def _group(outcome: Outcome, field: str) -> SortKey:
    return _number_or_text(outcome.groups.get(field))


def _word_count(outcome: Outcome, names: Sequence[str]) -> SortKey:
    text = next((text for name in names if isinstance(text := outcome.detail.get(name), str)), None)
    return None if text is None else float(len(text.split()))


def _number_or_text(text: str | None) -> SortKey:
    try:
        return text if text is None else finite_or_none(float(text))
    except ValueError:
        return text
