"""Surprisal by region: the measured sentences of items, and a chart of their means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from wug.families.syntaxgym.suite import SUMMARY
from wug.families.syntaxgym.view import region_chart
from wug.formatting import finite_or_none, number, plural
from wug.outcomes import Outcome, Result
from wug.rows import Filter, Rows
from wug.stats import mean_interval
from wug.views.parts import Figure, FigurePair, OtherResult

TITLE = "Surprisal region by region"
ENOUGH = 5
"""Minimum number of items for an interval: with two, Student's t makes it 25 times the standard error."""


Tokens: TypeAlias = tuple[tuple[str | None, float | None], ...]
"""Tokens with their bits; None for a further part of the preceding character."""


class ShownRegion(NamedTuple):
    """A region of a sentence with its tokens."""

    number: int
    content: str
    value: float | None
    """Bits; None if undefined or infinite."""
    tokens: Tokens
    unknown: tuple[str, ...]


Conditions: TypeAlias = dict[str, tuple[ShownRegion, ...]]


def conditions(outcome: Outcome) -> Conditions:
    """The sentences of an outcome; empty if it has none."""
    by_condition = outcome.detail.get("conditions")
    if not isinstance(by_condition, Mapping):
        return {}
    return {
        str(name): tuple(sorted(map(_region, condition.get("regions", ())), key=lambda region: region.number))
        for name, condition in by_condition.items()
    }


def measured(rows: Rows, *, limit: int | None = None) -> dict[str, Conditions]:
    """The sentences of every item, or of the first `limit`."""
    outcomes = rows.each(Filter(SUMMARY), keys=("conditions",), limit=limit)
    return {row.outcome.item: sentences for row in outcomes if (sentences := conditions(row.outcome))}


def names_of(result: Result, items: Iterable[Conditions]) -> dict[int, str]:
    """Names by number, for every region that is named or occurs."""
    named_regions = result.meta.get("regions") or {}
    names = {int(region): str(name) for region, name in named_regions.items() if str(region).isdecimal()}
    met = {region.number for item in items for regions in item.values() for region in regions}
    return {region: names.get(region, "") for region in sorted(names.keys() | met)}


def metric_of(result: Result) -> str:
    """The metric of the regions' values: the first of the suite."""
    metrics = result.meta.get("metric") or "sum"
    return str(metrics if isinstance(metrics, str) else next(iter(metrics)))


def region_means(
    items: Collection[Conditions], names: Mapping[int, str], model: str = ""
) -> list[region_chart.RegionMean]:
    """The mean of every region in every condition over items, with its 95% t interval if there are enough."""
    samples: dict[tuple[str, int], list[float]] = {}
    for item in items:
        for condition, regions in item.items():
            for region in regions:
                if region.value is not None:
                    samples.setdefault((condition, region.number), []).append(region.value)
    means = []
    for (condition, region_number), sample in samples.items():
        interval = mean_interval(sample) if len(sample) >= ENOUGH else None
        low, high = (interval.low, interval.high) if interval else (None, None)
        mean, name = sum(sample) / len(sample), names.get(region_number, "")
        means.append(region_chart.RegionMean(condition, region_number, name, mean, low, high, len(sample), model))
    return means


def mean_figure(
    result: Result, rows: Rows, marked: Collection[int], items: Mapping[str, Conditions] | None = None
) -> Figure | None:
    """The chart of all items, which may have been read already; None if no region has a value."""
    items = measured(rows) if items is None else items
    names = names_of(result, items.values())
    figure = _figure(result, region_means(items.values(), names), marked, _note(len(items)))
    if figure is None:
        return None
    alone, beside = partial(item_figure, result, rows, marked), partial(_figure_pair, result, rows, marked)
    return replace(figure, items=tuple(items), item_figure=alone, pair=beside, question=question(result))


def item_figure(result: Result, rows: Rows, marked: Collection[int], item: str) -> Figure | None:
    """The chart of one item with its words; None if it does not exist or has no values."""
    outcomes = rows.each(Filter(SUMMARY, text=item), keys=("conditions",))
    sentences = next((conditions(row.outcome) for row in outcomes if row.outcome.item == item), {})
    means = region_means([sentences], names_of(result, [sentences]))
    return _figure(result, means, marked, f"Item {item}.", words=_words(sentences))


def _figure_pair(result: Result, rows: Rows, marked: Collection[int], name: str, other: OtherResult) -> FigurePair:
    """The charts of two models, side by side and together."""
    sides = []
    for model, its_result, its in ((name, result, rows), (other.name, other.result, other.rows)):
        items = measured(its)
        sides.append((model, region_means(items.values(), names_of(its_result, items.values()), model), len(items)))
    both = [mean for _, means, _ in sides for mean in means]
    top = region_chart.ceiling(both)
    draw = partial(_figure, result, marked=marked)
    first, second = (
        draw([region_mean._replace(model="") for region_mean in means], note=_note(n), top=top) for _, means, n in sides
    )
    said = f"{name}: solid lines and full points; {other.name}: dashed lines and hollow points. {_note(sides[0][2])}"
    return FigurePair(first, second, draw(both, note=said))


def _figure(
    result: Result,
    means: Sequence[region_chart.RegionMean],
    marked: Collection[int],
    note: str,
    *,
    words: Mapping[int, str] | None = None,
    top: float | None = None,
) -> Figure | None:
    if not means:
        return None
    region_metric, over = metric_of(result), "" if words else "mean "
    unit = "surprisal (bits)" if region_metric == "sum" else f"{region_metric} of token surprisals (bits)"
    tinted = " Tinted: what the predictions compare." if marked else ""
    models = len({mean.model for mean in means}) > 1
    rows, records = [], []
    for mean in sorted(means, key=lambda mean: mean.number):
        interval = "–" if mean.low is None or mean.high is None else f"[{number(mean.low)}, {number(mean.high)}]"
        model = (mean.model,) if models else ()
        name = f"{mean.number} {mean.name}".strip()
        rows.append((*model, name, mean.condition, number(mean.value), interval, str(mean.n)))
        record = {"region": mean.number, "name": mean.name, "condition": mean.condition, "bits": mean.value}
        bounds = {"low": mean.low, "high": mean.high, "items": mean.n}
        records.append({**({"model": mean.model} if models else {}), **record, **bounds})
    draw = partial(region_chart.regions, means, highlight=marked, title=f"{over}{unit}", words=words, ceiling_bits=top)
    columns = ("region", "condition", "bits" if words else "mean (bits)", "95% interval", "items")
    return Figure(
        id="regions",
        draw=draw,
        title=TITLE,
        note=f"{note}{tinted}",
        columns=("model", *columns) if models else columns,
        rows=tuple(rows),
        records=tuple(records),
    )


def _note(items: int) -> str:
    few = f" (fewer than {ENOUGH}, so without intervals)" if items < ENOUGH else " with 95% t intervals"
    return f"Means over {plural(items, 'item')}{few}."


def question(result: Result) -> str:
    """The first prediction as a question, and the number of further ones."""
    texts = [str(known.get("english") or "") for known in result.meta.get("formulas") or ()]
    if not texts or not texts[0]:
        return ""
    simple = re.fullmatch(r"((?:(?! is ).)+) is ((?:more|less) surprising in \S+ than in \S+)", texts[0])
    asked = f"Is {simple[1]} {simple[2]}?" if simple else f"Does it hold that {texts[0]}?"
    more = len(texts) - 1
    return f"{asked} And {plural(more, 'further prediction')}, below." if more else asked


def _words(sentences: Conditions) -> dict[int, str]:
    contents_by_region: dict[int, dict[str, None]] = {}
    for regions in sentences.values():
        for region in regions:
            if region.content:
                contents_by_region.setdefault(region.number, {})[region.content] = None
    return {number: " / ".join(contents) for number, contents in contents_by_region.items()}


def _region(detail: Mapping[str, Any]) -> ShownRegion:
    return ShownRegion(
        number=int(detail["number"]),
        content=str(detail.get("content") or "").strip(),
        value=finite_or_none(detail.get("value")),
        tokens=tuple(
            (None if text is None else str(text), finite_or_none(surprisal))
            for text, surprisal in detail.get("tokens") or ()
        ),
        unknown=tuple(map(str, detail.get("oovs") or ())),
    )


def split_regions(sentences: Conditions, marked: Collection[int]) -> dict[int, dict[str, int]]:
    """Regions whose number of tokens depends on the condition, with these numbers by condition."""
    counts: dict[int, dict[str, int]] = {}
    for condition, regions in sentences.items():
        for region in regions:
            if region.number in marked and region.tokens:
                counts.setdefault(region.number, {})[condition] = len(region.tokens)
    return {number: tokens for number, tokens in counts.items() if len(set(tokens.values())) > 1}


def item_note(sentences: Conditions, marked: Collection[int]) -> str:
    """A sentence about each region of an item that is split differently; empty without one."""
    said = []
    for region, counts in split_regions(sentences, marked).items():
        by_count: dict[int, list[str]] = {}
        for condition, count in counts.items():
            by_count.setdefault(count, []).append(condition)
        parts = [f"{plural(count, 'token')} in {', '.join(names)}" for count, names in sorted(by_count.items())]
        said.append(f"Region {region} has {' and '.join(parts)}.")
    return " ".join(said)


def result_note(items: Iterable[Conditions], marked: Collection[int]) -> str:
    """For how many items a compared region is split differently; empty if for none."""
    by_item = list(items)
    split = sum(bool(split_regions(sentences, marked)) for sentences in by_item)
    if not split:
        return ""
    return (
        f"In {split:,} of {plural(len(by_item), 'item')}, a compared region has more tokens in one condition than in "
        "another. Its surprisal is that of all its tokens, so part of a difference may come from how words are split."
    )
