"""What the terminal, the report and the site show of a test of plurals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.types import (
    EstimatesPart,
    ItemSample,
    ItemsView,
    ItemView,
    LabelledText,
    LinesPart,
    OutcomeRow,
    Result,
    Rows,
    TextPart,
    ViewPart,
    bits,
    carrier,
    group_figures,
    headlines,
    mark_differences,
    other_estimates,
)


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """The text of the test, the estimates, and a chart by ending."""
    yield TextPart("This is a wug. Now there are two …", lead=True)
    yield EstimatesPart(headlines(result) + other_estimates(result))
    yield from group_figures(result)


def items(result: Result, rows: Rows) -> ItemsView:
    """Every noun with both plurals, and a sample of the wrong ones by ending."""
    wrong = ItemSample("Wrong plurals", "plural", verb="wrong", group=lambda outcome: outcome.groups["ending"])
    return ItemsView("plural", _item, (wrong,), noun="noun")


def _item(row: OutcomeRow, outcomes: Sequence[OutcomeRow]) -> ItemView:
    """A noun: its plurals, with the letters in which they differ marked, and the surprisal of each."""
    detail = carrier(outcomes, "right").detail
    right, wrong = mark_differences(detail["right"], detail["wrong"])
    lines = (
        LabelledText("right", right, "ins", f"{bits(detail['bits_right'])} bits"),
        LabelledText("wrong", wrong, "del", f"{bits(detail['bits_wrong'])} bits"),
    )
    return ItemView(parts=(LinesPart(lines),))
