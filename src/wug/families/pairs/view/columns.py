"""Scores that others published, column by column: how each fares, and the pairs that most of them fail."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from wug.families.pairs.view.judged import CHECK, TEXTS, Judged, judgements
from wug.identity import Group
from wug.rows import Rows
from wug.types import Result
from wug.views.grouped import dots, point
from wug.views.marked import Piece, shortened
from wug.views.numbers import Shown, percent, shown
from wug.views.parts import Cell, Column, Figure, Row, Table

MOST = 200
"""Pairs that the table has."""


def columns_figure(result: Result) -> Figure | None:
    """The accuracy of every column; None where there are not several."""
    rows: dict[str, Shown] = {}
    types: dict[str, dict[str, str]] = {}
    for estimate in result.estimates:
        check, colon, column = estimate.check.partition(":")
        if check != CHECK or not colon:
            continue
        group = Group.parse(estimate.group)
        if group.is_overall:
            rows[column] = shown(result, estimate)
        elif group.field == "type":
            types.setdefault(group.value, {})[column] = percent(estimate.value)
    if len(rows) < 2:
        return None
    figure = dots(
        "columns",
        "Accuracy of every column",
        [point(rows[column], name=column) for column in sorted(rows, key=lambda column: -rows[column].value)],
        note="Each column of the file is a model. Dots with 95 % intervals.",
        what="accuracy",
        first="column",
    )
    cells = tuple((*row, *(of.get(row[0], "–") for of in types.values())) for row in figure.rows)
    return replace(figure, columns=(*figure.columns, *types), rows=cells)


def hardest(rows: Rows, title: str) -> Table | None:
    """The pairs that the most columns fail; None where all are right in all of them."""
    failed, columns = Counter[str](), Counter[str]()
    known: dict[str, Judged] = {}
    for item, judged in judgements(rows, TEXTS):
        known.setdefault(item, judged)
        columns[item] += judged.value is not None
        failed[item] += judged.value is False
    ranked = sorted((item for item in known if failed[item]), key=lambda item: -failed[item] / columns[item])
    if not ranked:
        return None
    heads = (
        *(Column(name) for name in ("pair", "grammatical", "ungrammatical")),
        *(Column(name, numeric=True) for name in ("fail", "columns")),
    )
    cells = tuple(
        Row(
            (
                Cell(item),
                _text(known[item].good, "ins"),
                _text(known[item].bad, "del"),
                Cell(f"{failed[item]}"),
                Cell(f"{columns[item]}"),
            )
        )
        for item in ranked[:MOST]
    )
    left = len(ranked) - len(cells)
    note = f"{left:,} more that some column fails {'is' if left == 1 else 'are'} left out." if left else ""
    return Table("hardest", title, heads, (("", cells),), note=note)


def _text(text: str, mark: str) -> Cell:
    return Cell(pieces=(Piece(shortened(text), differs=True),) if text else (), mark=mark)
