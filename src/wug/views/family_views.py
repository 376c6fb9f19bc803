"""The views of results: by the family's own module `view`, or by `grouped` for families without one."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import NamedTuple, TypeVar

from wug import registry
from wug.formatting import format_estimate, percent
from wug.identity import ModelId
from wug.interfaces import implemented
from wug.outcomes import IntervalMethod, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import grouped as grouped
from wug.views import provenance
from wug.views.grouped import result_chance
from wug.views.parts import (
    DeferredPart,
    Figure,
    ItemSample,
    ItemsView,
    ItemView,
    LabelledText,
    LinesPart,
    OptionPage,
    ViewPart,
)
from wug.views.text_display import single_piece

Row = TypeVar("Row")
Key = TypeVar("Key")
MAX_EXAMPLE_LINES = 4
HALF = 0.5


@dataclass(frozen=True)
class FamilyView:
    """What there is to see of results, in the module `view` of a family."""

    parts: Callable[[Result, Rows], Iterable[ViewPart]]
    """The parts of a result's page, in reading order."""
    items: Callable[[Result, Rows], ItemsView]
    """How its items are shown."""
    question: Callable[[Result], str] | None = None
    """The question that the test asks; by default, that of the family's docstring."""
    example: Callable[[Result, Rows], LinesPart | None] | None = None
    """An example at the top of the page; by default, the first item."""
    verdict: Callable[[Result], str] | None = None
    """The verdict at the top of the page; by default, from the chance level."""
    across: Callable[[Sequence[Result]], Iterable[Figure]] | None = None
    """Figures of several models' results."""
    word_probabilities: Callable[[Result], Iterable[str]] | None = None
    """Lines of `wug run --print-word-probs`."""
    OPTION_PAGES: Sequence[OptionPage] = ()
    """Pages of the site that compare results which differ in one option of the model."""


@dataclass(frozen=True, slots=True)
class SampledGroup:
    """Sampled items of one group."""

    name: str
    title: str
    count: int
    """Items that match, as in `12 of 40 wrong`."""
    total: int
    items: tuple[tuple[OutcomeRow, ItemView], ...]
    remainder: int
    """Items of the group that are left out."""


def parts_of(result: Result, rows: Rows) -> Iterable[ViewPart]:
    """The parts of a result's view, in reading order; some are deferred."""
    parts = view_of(result.kind).parts(result, rows)
    return chain(provenance.imported_note(result), parts, provenance.final_parts(result))


def items_of(result: Result, rows: Rows) -> ItemsView:
    """How the items of a result are shown."""
    return view_of(result.kind).items(result, rows)


def option_pages_of(result: Result) -> list[OptionPage]:
    """The family's pages about options that the model's backend has."""
    names = {option.name for option in registry.backend_of(ModelId.parse(result.model)).OPTIONS}
    return [page for page in view_of(result.kind).OPTION_PAGES if page.option in names]


def computed_parts(parts: Iterable[ViewPart]) -> Iterator[ViewPart]:
    """All parts, with deferred ones computed."""
    for part in parts:
        computed_part = part.make() if isinstance(part, DeferredPart) else part
        if computed_part is not None:
            yield computed_part


def figures_of(result: Result, rows: Rows) -> Iterator[Figure]:
    """Every chart of a result."""
    return (part for part in computed_parts(parts_of(result, rows)) if isinstance(part, Figure))


def across_figures(results: Sequence[Result]) -> Iterator[Figure]:
    """The charts of several models that a family's view has (`across`)."""
    for kind in dict.fromkeys(result.kind for result in results):
        if draw := view_of(kind).across:
            yield from draw([result for result in results if result.kind == kind])


def sampled_groups(items: ItemsView, sample: ItemSample, rows: Rows, limit: int) -> list[SampledGroup]:
    """A deterministic sample of at most `limit` items from all groups."""
    counts, sizes = Counter[str](), Counter[str]()
    candidates: list[tuple[int, str]] = []
    for example, positions in rows.kinds(sample.metric):
        group = sample.group(example)
        word = str(example.value).lower()
        sizes[group] += len(positions) * (example.value is not None)
        counts[group] += len(positions) * (word == sample.counted_value)
        if sample.value is None or word == sample.value:
            candidates += zip(positions, repeat(group))
    candidates.sort()
    candidate_counts = Counter(group for _, group in candidates)
    sample_by_group = spread_sample(candidates, limit, lambda pair: pair[1])
    groups = []
    for name in dict.fromkeys((*sample.titles, *sample_by_group)):
        if name in sample_by_group:
            members = rows.read([position for position, _ in sample_by_group[name]])
            shown = zip(members, rows.same_items(members), strict=True)
            groups.append(
                SampledGroup(
                    name=sample.heading(name),
                    title=sample.titles.get(name, ""),
                    count=counts[name],
                    total=sizes[name],
                    items=tuple((row, items.show(row, judgements)) for row, judgements in shown),
                    remainder=candidate_counts[name] - len(members),
                )
            )
    return groups


@functools.cache
def view_of(kind: str) -> FamilyView:
    """The view of a family; `grouped` has what its module `view` leaves out."""
    family = registry.family_of(kind)
    return implemented(FamilyView, family.submodule("view") or family.module, grouped)


def spread_sample(rows: Iterable[Row], limit: int, group: Callable[[Row], str]) -> dict[str, list[Row]]:
    """At most `limit` rows by group, as equal in number as possible and evenly spaced.

    Groups are in order of appearance; if there are more groups than `limit`, they are evenly spaced, too.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group(row), []).append(row)
    counts = allocate_rows({name: len(members) for name, members in groups.items()}, limit)
    return {name: _evenly(members, counts[name]) for name, members in groups.items() if counts[name]}


def allocate_rows(sizes: Mapping[Key, int], limit: int) -> dict[Key, int]:
    """The number of rows per group, as equal as possible; small groups leave more for others."""
    counts = dict.fromkeys(sizes, 0)
    remaining_count = min(limit, sum(sizes.values()))
    while remaining_count > 0:
        open_groups = [name for name in sizes if counts[name] < sizes[name]]
        share = remaining_count // len(open_groups)
        for name in open_groups if share else _evenly(open_groups, remaining_count):
            increment = min(max(1, share), sizes[name] - counts[name])
            counts[name] += increment
            remaining_count -= increment
    return counts


def _evenly(rows: list[Row], count: int) -> list[Row]:
    """`count` evenly spaced rows, the first included."""
    return [rows[index * len(rows) // count] for index in range(count)]


class Intro(NamedTuple):
    """The first lines about a result; each may be empty."""

    question: str
    example: LinesPart | None
    note: str
    """What the numbers of the example are."""
    verdict: str


def intro_of(result: Result, rows: Rows, items: ItemsView) -> Intro:
    """The first lines about a result, by the family's module `view` or by defaults."""
    view = view_of(result.kind)
    question = view.question(result) if view.question else ""
    if not question:
        question, mark, _ = registry.family_of(result.kind).title.partition(": ")[2].partition("?")
        question = f"{question[:1].upper()}{question[1:]}?" if mark else ""
    example = view.example(result, rows) if view.example else _first_item(rows, items)
    family_verdict = view.verdict(result) if view.verdict else ""
    has_numbers = example is not None and any(line.value for line in example.lines)
    note = items.samples[0].note if has_numbers and items.samples else ""
    return Intro(question, example, note, family_verdict or verdict(result))


def verdict(result: Result) -> str:
    """Whether the headline is above chance or, if it has no chance level, whether most items pass.

    Empty if it is not a proportion, has no interval, or higher values are not better.
    """
    if not result.measurable:
        return "Not measurable: the items do not distinguish anything, as the warnings say."
    estimate = result.headline
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    if IntervalMethod.parse(estimate.method).is_deviation:
        return ""
    metric, chance = result.metric(estimate.metric), result_chance(result, estimate.metric)
    if metric.unit != "share" or metric.better != "higher":
        return ""
    interval = f"its 95% interval {format_estimate(result, estimate).interval}"
    if chance is None:
        if estimate.low <= HALF <= estimate.high:
            return f"It is not clear whether most items pass: 50% is in {interval}."
        return f"{'Most' if estimate.low > HALF else 'Few'} items pass: 50% is outside {interval}."
    if estimate.low <= chance <= estimate.high:
        return f"Not distinguishable from chance ({percent(chance)}), which is in {interval}."
    side = "Above" if estimate.low > chance else "Below"
    return f"{side} chance ({percent(chance)}), which is outside {interval}."


def _first_item(rows: Rows, items: ItemsView) -> LinesPart | None:
    for row in rows.each(Filter(items.metric), limit=1):
        item = items.show(row, rows.same_item(row))
        for part in item.parts:
            if isinstance(part, LinesPart):
                text_lines = [line for line in part.lines if line.side is None]
                return LinesPart(tuple(text_lines[:MAX_EXAMPLE_LINES]), part.symbols)
        if item.sentence:
            return LinesPart((LabelledText(items.noun, single_piece(item.sentence)),))
    return None
