"""What there is to see of a test of plurals; terminal, report and pages draw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.rows import Placed, Rows
from wug.types import Result
from wug.views.generic import group_figures
from wug.views.marked import marked
from wug.views.numbers import bits, headlines, others
from wug.views.parts import Item, Items, Line, Lines, Numbers, Part, Prose, Sample, carrier


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Where it comes from, the numbers, a chart for each ending."""
    yield Prose("This is a wug. Now there are two …", lead=True)
    yield Numbers(headlines(result) + others(result))
    yield from group_figures(result)


def items(result: Result, rows: Rows) -> Items:
    """Every noun with both plurals."""
    wrong = Sample("Wrong plurals", "plural", verb="wrong", group=lambda outcome: outcome.groups["ending"])
    return Items("plural", _item, (wrong,), noun="noun")


def _item(row: Placed, judgements: Sequence[Placed]) -> Item:
    detail = carrier(judgements, "right").detail
    right, wrong = marked(detail["right"], detail["wrong"])
    lines = (
        Line("right", right, "ins", f"{bits(detail['bits_right'])} bits"),
        Line("wrong", wrong, "del", f"{bits(detail['bits_wrong'])} bits"),
    )
    return Item(parts=(Lines(lines),))
