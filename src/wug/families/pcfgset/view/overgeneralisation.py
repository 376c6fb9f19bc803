"""Overgeneralisation: exceptions read by the rules or as exceptions, over epochs or once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.families.pcfgset.view.figures import line, shares_figure, texts
from wug.rows import OutcomeRow, Rows
from wug.types import Result
from wug.views.grouped import by_field, counts_items, curve, curve_points, overall_of
from wug.views.parts import Figure, ItemSample, ItemsView, ItemView, LabelledText, LinesPart, ViewPart
from wug.views.text_display import marked, unmarked

METRIC = "overgeneralisation"
RULES, EXCEPTION, NEITHER = "by the rules", "as an exception", "otherwise"
SERIES = {METRIC: RULES, "memorisation": EXCEPTION}
WHAT = "share of exceptions"


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Charts over epochs, or of the answers of one model."""
    yield from _profile(result)
    yield from _shares(result)


def items(result: Result) -> ItemsView:
    """Every exception with the answer, by pair of functions."""
    answered = ItemSample(
        "Answers",
        METRIC,
        value=None,
        counted="true",
        verb=RULES,
        group=lambda outcome: outcome.groups.get("pair", ""),
    )
    return ItemsView(METRIC, exception, (answered,), size=20)


def exception(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> ItemView:
    """An exception with both of its readings, and which of them the answer is."""
    source, ruled, exceptional, answer = texts(judgements, "source", "original", "exception", "answer")
    how = RULES if answer == ruled else EXCEPTION if answer == exceptional else NEITHER
    found = marked(ruled, answer)[1] if how == NEITHER else unmarked(answer)
    lines = (line("source", source), line(RULES, ruled), line(EXCEPTION, exceptional), LabelledText("answer", found))
    return ItemView(f"answered {how}", fails=how == NEITHER, parts=(LinesPart(lines, symbols=True),))


def _profile(result: Result) -> Iterator[Figure]:
    points = [p for metric in SERIES for p in curve_points(by_field(result, metric).get("epoch", ()), metric)]
    if not points:
        return
    ruled = [p for p in points if p.series == METRIC and p.value > 0]
    # The first, if several are highest. A mean over runs has none: its highest value is not the mean of theirs.
    peak = max(ruled, key=lambda p: (p.value, -p.x)) if ruled and counts_items(result, METRIC) else None
    yield curve(
        "profile",
        "Exceptions over the epochs",
        points,
        note=(
            "Overgeneralisation is the share of exceptions that are answered by the rules, memorisation the share "
            "that are answered as exceptions."
        ),
        x="epoch",
        what=WHAT,
        peak=peak,
    )


def _shares(result: Result) -> Iterator[Figure]:
    """For all exceptions, those of two functions alone, and each pair: by the rules, as an exception, otherwise."""
    whole = {row.metric: row for row in overall_of(result, *SERIES)}
    if len(whole) < len(SERIES):
        return
    found = {"all exceptions": whole}
    for metric in SERIES:
        fields = by_field(result, metric)
        for row in fields.get("functions", ()):
            if row.group == "2":
                found.setdefault("of two functions", {})[metric] = row
        for row in fields.get("pair", ()):
            found.setdefault(row.group, {})[metric] = row
    values: dict[str, dict[str, float]] = {}
    for name, cells in found.items():
        values[name] = {label: cells[metric].value for metric, label in SERIES.items() if metric in cells}
        values[name][NEITHER] = max(0.0, 1 - sum(values[name].values()))
    items = counts_items(result, METRIC)
    yield shares_figure(
        values,
        {name: next(iter(cells.values())).n if items else None for name, cells in found.items()},
        title="How exceptions are answered",
        note="The published figures are those of exceptions of two functions.",
        what=WHAT,
        columns=("exceptions", "answered"),
    )
