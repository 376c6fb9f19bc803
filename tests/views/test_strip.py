"""A strip of dots: the position of each item."""

from __future__ import annotations

from wug.views.parts import ItemMargin
from wug.views.templating import STRIP_EDGE_PX, STRIP_WIDTH_PX, strip


def test_dots_run_from_the_least_margin_to_the_greatest_with_0_between() -> None:
    found = strip([ItemMargin("a", 0, -1.0, False), ItemMargin("b", 1, 3.0, True)])
    assert found is not None
    assert [dot.x for dot in found.dots] == [STRIP_EDGE_PX, STRIP_WIDTH_PX - STRIP_EDGE_PX]
    assert found.zero == STRIP_EDGE_PX + (STRIP_WIDTH_PX - 2 * STRIP_EDGE_PX) / 4
    assert (found.low, found.high) == ("−1.00", "3.00")
    assert found.dots[0].text == "item a: −1.00 bits, fails"


def test_items_of_one_margin_stand_above_each_other() -> None:
    found = strip([ItemMargin(str(number), number, 2.0, True) for number in range(40)])
    assert found is not None
    assert len({dot.y for dot in found.dots}) == 40
    assert all(0 <= dot.y <= found.height for dot in found.dots)


def test_0_is_on_the_strip_where_all_items_hold() -> None:
    found = strip([ItemMargin("a", 0, 2.0, True)])
    assert found is not None
    assert found.zero == STRIP_EDGE_PX


def test_without_margins_there_is_no_strip() -> None:
    assert strip([]) is None
