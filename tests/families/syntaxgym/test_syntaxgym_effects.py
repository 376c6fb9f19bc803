"""Mean effects of predictions: which a formula has, and their values on published suites."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wug
from reference import reference
from wug.families.syntaxgym.formula import parse

A, B, C, D = (f"(2;%{name}%)" for name in "abcd")


def effects(source: str) -> list[tuple[str, bool, bool]]:
    return [(one.part, one.is_interaction, one.is_in_bits) for one in parse(source).effects()]


@pytest.mark.parametrize("source", [f"{A} < {B}", f"{A} >= {B} + 1", f"{A} + (1;%a%) < {B} + (1;%b%)"])
def test_an_inequality_has_one_effect(source: str) -> None:
    assert effects(source) == [("", False, True)]


@pytest.mark.parametrize(
    "source",
    [
        f"{A} - {B} > {C} - {D}",
        f"({A} - {B}) - ({C} - {D}) > 0",
        f"0 < ({A} - {B}) - ({C} - {D})",
        f"({A} + (3;%a%)) - ({B} + (3;%b%)) < {C} - {D}",
    ],
)
def test_a_difference_of_differences_of_four_conditions_is_an_interaction(source: str) -> None:
    assert effects(source) == [("", True, True)]


@pytest.mark.parametrize(
    "source",
    [
        f"{A} - {B} > {A} - {C}",  # three conditions
        f"{A} - {B} > 1 - {C}",
        f"({A} - {B}) + ({C} - {D}) > 0",  # a sum of differences, as in the suites of clefts
        f"{A} + {D} > {B} + {C}",
        f"{A} - {B} > 0",
    ],
)
def test_other_inequalities_are_not(source: str) -> None:
    assert effects(source) == [("", False, True)]


def test_a_conjunction_has_the_effects_of_its_inequalities() -> None:
    assert effects(f"{A} < {B} & {A} - {B} < {C} - {D}") == [("a", False, True), ("b", True, True)]
    assert effects(f"{A} = {B} & {C} < {D}") == [("", False, True)]


@pytest.mark.parametrize(
    "source", [f"{A} = {B}", f"{A} < {B} | {C} < {D}", f"~({A} < {B})", f"({A} < {B}) = ({C} < {D})"]
)
def test_other_predictions_have_none(source: str) -> None:
    assert effects(source) == []


@pytest.mark.parametrize("source", [f"{A} / {B} < 1", f"log({A}) < {B}", f"{A} * {B} < {C}"])
def test_a_ratio_is_not_in_bits(source: str) -> None:
    assert effects(source) == [("", False, False)]


def test_two_times_a_surprisal_is_in_bits() -> None:
    assert effects(f"2 * {A} < {B} / 2") == [("", False, True)]


def evaluated(formula: str, regions: dict[tuple[int, str], float]) -> list[float]:
    """The effects of a prediction by string replacement and Python's own arithmetic."""
    found = []
    for part in formula.replace("[", "(").replace("]", ")").split("&"):
        numbers = re.sub(r"\((\d+);%([^%]+)%\)", lambda m: repr(regions[int(m[1]), m[2]]), part)
        numbers = numbers.strip()
        while numbers.startswith("(") and numbers.endswith(")") and numbers.count("(") == numbers.count(")"):
            inner = numbers[1:-1]
            depths = np.cumsum([(c == "(") - (c == ")") for c in inner])
            if depths.min(initial=0) < 0:
                break
            numbers = inner
        left, sign, right = re.split("([<>])", numbers)
        found.append((eval(right) - eval(left)) * (1 if sign == "<" else -1))
    return found


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("npz_ambig", ["effect_0a", "effect_0b", "interaction_0c"]),
        ("number_prep", ["effect_0a", "effect_0b"]),
        ("cleft", ["effect_0"]),
        ("center_embed", ["effect_0"]),
    ],
)
def test_effects_on_published_suites_are_those_of_plain_arithmetic(name: str, metrics: list[str]) -> None:
    path: Path = reference("syntaxgym") / "suites" / f"{name}.json"
    [result] = wug.run(path, "wug-causal", limit=7)
    [prediction] = json.loads(path.read_text(encoding="utf-8"))["predictions"]
    rows = []
    for outcome in result.outcomes:
        if outcome.metric == "all_predictions":
            conditions: dict[str, Any] = outcome.detail["conditions"]
            regions = {
                (region["number"], condition): sum(bits for _, bits in region["tokens"] if bits is not None)
                for condition, found in conditions.items()
                for region in found["regions"]
            }
            rows.append(evaluated(prediction["formula"], regions))
    values = np.array(rows)
    whole = {one.metric: one for one in result.estimates if one.group == "all"}
    assert [metric for metric in whole if re.match("effect|interaction", metric)] == metrics
    for column, metric in enumerate(metrics):
        items = values[:, column]
        assert whole[metric].value == pytest.approx(items.mean(), abs=1e-9)
        assert whole[f"standardised_{metric}"].value == pytest.approx(items.mean() / items.std(ddof=1), abs=1e-9)
        assert (whole[metric].n, whole[metric].method) == (7, "bootstrap-t")
        holds = [outcome.value for outcome in result.outcomes if outcome.metric == "prediction_0"]
        if len(metrics) == 1:
            assert holds == (items > 0).tolist()
