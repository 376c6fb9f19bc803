"""Overgeneralisation: exceptions read by the rules or as exceptions, over epochs or once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.families.pcfgset.view.answers import line, texts
from wug.families.pcfgset.view.figures import shares_figure
from wug.rows import Placed, Rows
from wug.types import Result
from wug.views.grouped import by_field, counts_items, curve, curve_points, overall_of
from wug.views.marked import marked, unmarked
from wug.views.parts import Figure, Item, Items, Line, Lines, Part, Sample

CHECK = "overgeneralisation"
RULES, EXCEPTION, NEITHER = "by the rules", "as an exception", "otherwise"
SERIES = {CHECK: RULES, "memorisation": EXCEPTION}
WHAT = "share of exceptions"


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Charts of the course over epochs, or of what one model answers."""
    yield from _profile(result)
    yield from _shares(result)


def items(result: Result) -> Items:
    """Every exception with the answer, by pair of functions."""
    answered = Sample(
        "Answers",
        CHECK,
        value=None,
        counted="true",
        verb=RULES,
        group=lambda outcome: outcome.groups.get("pair", ""),
    )
    return Items(CHECK, exception, (answered,), size=20)


def exception(row: Placed, judgements: Sequence[Placed]) -> Item:
    """An exception with both of its readings, and which of them the answer is."""
    source, ruled, exceptional, answer = texts(judgements, "source", "original", "exception", "answer")
    how = RULES if answer == ruled else EXCEPTION if answer == exceptional else NEITHER
    found = marked(ruled, answer)[1] if how == NEITHER else unmarked(answer)
    lines = (line("source", source), line(RULES, ruled), line(EXCEPTION, exceptional), Line("answer", found))
    return Item(f"answered {how}", fails=how == NEITHER, parts=(Lines(lines, symbols=True),))


def _profile(result: Result) -> Iterator[Figure]:
    """Both shares over the epochs, with the peak of overgeneralisation."""
    points = [p for check in SERIES for p in curve_points(by_field(result, check).get("epoch", ()), check)]
    if not points:
        return
    ruled = [p for p in points if p.series == CHECK and p.value > 0]
    # The first, where several are highest. A mean over runs has none: its highest value is not the mean of theirs.
    peak = max(ruled, key=lambda p: (p.value, -p.x)) if ruled and counts_items(result, CHECK) else None
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
    whole = {row.check: row for row in overall_of(result, *SERIES)}
    if len(whole) < len(SERIES):
        return
    found = {"all exceptions": whole}
    for check in SERIES:
        fields = by_field(result, check)
        for row in fields.get("functions", ()):
            if row.group == "2":
                found.setdefault("of two functions", {})[check] = row
        for row in fields.get("pair", ()):
            found.setdefault(row.group, {})[check] = row
    values: dict[str, dict[str, float]] = {}
    for name, cells in found.items():
        values[name] = {label: cells[check].value for check, label in SERIES.items() if check in cells}
        values[name][NEITHER] = max(0.0, 1 - sum(values[name].values()))
    items = counts_items(result, CHECK)
    yield shares_figure(
        values,
        {name: next(iter(cells.values())).n if items else None for name, cells in found.items()},
        title="How exceptions are answered",
        note="The published figures are those of exceptions of two functions.",
        what=WHAT,
        columns=("exceptions", "answered"),
    )
