"""A number as every medium prints it."""

from __future__ import annotations

import pytest

from wug.formatting import interval_text, number, percent, signed_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.04, "0.04"),
        (0.00041235, "0.0004124"),
        (1 / 3, "0.3333"),
        (99.99951, "100"),
        (12.3456, "12.35"),
        (-9.70549, "−9.705"),
        (999.96, "1000"),
        (12345.6, "12346"),
        (-20000.0, "−20000"),
        (1e20, "1e+20"),
        (float("nan"), "–"),
        (float("inf"), "–"),
    ],
)
def test_a_number_has_four_figures_and_all_before_its_point(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.0"), (-0.0, "0.0"), (-0.0001, "0.0"), (0.5, "50.0"), (0.9999, "100.0"), (1.0, "100.0"), (-0.25, "−25.0")],
)
def test_a_share_is_in_per_cent_with_one_decimal(value: float, text: str) -> None:
    assert percent(value) == f"{text}%"


def test_an_interval_is_in_the_unit_of_its_value() -> None:
    assert interval_text(0.25, 0.75, "wilson", share=True) == "[25.0, 75.0]"
    assert interval_text(-1.5, 12345.6, "t", share=False) == "[−1.5, 12346]"


def test_a_deviation_between_runs_is_half_of_what_it_spans() -> None:
    assert interval_text(0.6, 1.4, "population sd of shares", share=True) == "± 40.0"
    assert interval_text(2.5, 3.5, "sd", share=False) == "± 0.5"


def test_where_no_interval_holds_it_says_so() -> None:
    assert interval_text(None, None, "none: all values are 0", share=False) == "no interval"
    assert interval_text(None, None, None, share=True) == ""


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [
        (0.125, True, "+12.5"),
        (-0.03, True, "−3.0"),
        (0.0, True, "0.0"),
        (0.0001, True, "0.0"),
        (-0.0001, True, "0.0"),
        (2.5, False, "+2.5"),
        (-0.0, False, "0"),
        (10.0, False, "+10"),
    ],
)
def test_a_difference_has_its_sign_unless_it_is_none(value: float, share: bool, text: str) -> None:
    assert signed_text(value, share=share) == text
