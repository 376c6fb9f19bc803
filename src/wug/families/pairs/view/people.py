"""Judgements by people beside the model's: both correlations, and a dot for each pair."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wug.families.pairs.view.judged import CHECK, SCORES, TEXTS, judged
from wug.families.pairs.view.margins import RIGHT, WRONG
from wug.families.sampling import spread
from wug.rows import Filter, Rows
from wug.types import Result
from wug.views import charts
from wug.views.grouped import overall_of
from wug.views.numbers import finite, number
from wug.views.parts import Figure, Later, Numbers, Part

CORRELATIONS = ("pearson", "spearman")
DOTS, TABLE = 2000, 1000
"""Pairs that the chart holds, and its table."""
TITLE = "Judgements by people"
NOTE = "How much better people judge the grammatical one of a pair, and by how much it is ahead for the model."


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """The correlations and their chart; nothing where nobody was asked."""
    if shown := overall_of(result, *CORRELATIONS):
        yield Numbers(tuple(shown))
        yield Later("people", TITLE, partial(_figure, rows), note=NOTE)


def _figure(rows: Rows) -> Figure | None:
    found = []
    for row in rows.each(Filter(CHECK), keys=("human", *SCORES, *TEXTS)):
        human, pair = finite(row.outcome.detail.get("human")), judged(row.outcome)
        if human is not None and pair.margin is not None and pair.value is not None:
            found.append(charts.Dot(row.outcome.item, human, pair.margin, RIGHT if pair.value else WRONG))
    if not found:
        return None
    drawn = spread(found, DOTS)
    some = f" The chart has {len(drawn):,} of {len(found):,} pairs, spread evenly." if len(drawn) < len(found) else ""
    some += f" The table has the first {TABLE:,}." if len(found) > TABLE else ""
    return Figure(
        id="people",
        draw=partial(
            charts.scatter, drawn, x="people's judgement", y="the model's margin", colours={RIGHT: 1, WRONG: 2}
        ),
        title=TITLE,
        note=f"{NOTE}{some}",
        columns=("pair", "people's judgement", "the model's margin"),
        rows=tuple((dot.name, number(dot.x), number(dot.y)) for dot in found[:TABLE]),
        records=tuple({"pair": dot.name, "people's judgement": dot.x, "the model's margin": dot.y} for dot in found),
    )
