"""What there is to see of a test of plurals; terminal, report and pages draw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.formatting import bits, headlines, other_estimates
from wug.rows import OutcomeRow, Rows
from wug.types import Result
from wug.views.grouped import group_figures
from wug.views.parts import (
    EstimatesPart,
    ItemSample,
    ItemsView,
    ItemView,
    LabelledText,
    LinesPart,
    TextPart,
    ViewPart,
    carrier,
)
from wug.views.text_display import mark_differences


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Where it comes from, the numbers, a chart for each ending."""
    yield TextPart("This is a wug. Now there are two …", lead=True)
    yield EstimatesPart(headlines(result) + other_estimates(result))
    yield from group_figures(result)


def items(result: Result, rows: Rows) -> ItemsView:
    """Every noun with both plurals."""
    wrong = ItemSample("Wrong plurals", "plural", verb="wrong", group=lambda outcome: outcome.groups["ending"])
    return ItemsView("plural", _item, (wrong,), noun="noun")


def _item(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> ItemView:
    detail = carrier(judgements, "right").detail
    right, wrong = mark_differences(detail["right"], detail["wrong"])
    lines = (
        LabelledText("right", right, "ins", f"{bits(detail['bits_right'])} bits"),
        LabelledText("wrong", wrong, "del", f"{bits(detail['bits_wrong'])} bits"),
    )
    return ItemView(parts=(LinesPart(lines),))
