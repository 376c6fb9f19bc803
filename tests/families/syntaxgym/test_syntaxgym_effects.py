"""Mean effects of predictions: which a formula has, and their values on published suites."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import wug
from case_selection import WHOLE
from reference import reference
from wug.evaluation.models import builtin_models
from wug.families.syntaxgym.formula import parse
from wug.families.syntaxgym.formula.tree import is_in_bits

A, B, C, D = (f"(2;%{name}%)" for name in "abcd")


def effects(source: str) -> list[tuple[str, bool, bool]]:
    return [(one.part, one.is_interaction, is_in_bits(one.relation)) for one in parse(source).effects()]


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


@pytest.fixture(scope="module")
def parity() -> ModuleType:
    """The benchmark that computes effects with plain transformers and numpy."""
    path = Path(__file__).resolve().parents[3] / "benchmarks" / "effect_parity.py"
    spec = importlib.util.spec_from_file_location("effect_parity", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["effect_parity"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_effects_on_all_published_suites_are_those_of_plain_transformers_and_numpy(parity: ModuleType) -> None:
    paths = sorted((reference("syntaxgym") / "suites").glob("*.json"))
    plain, names = parity.PlainModel(builtin_models()["wug-causal"]), []
    for path, result in zip(paths, wug.run(paths, "wug-causal", limit=8 if WHOLE else 5), strict=True):
        suite = json.loads(path.read_text(encoding="utf-8"))
        expected = parity.by_numpy(suite, plain, {outcome.item for outcome in result.outcomes})
        assert parity.difference(expected, parity.by_wug(result)) < parity.TOLERANCE, path.name
        names += expected
    assert (len(paths), len(names), sum("interaction" in name for name in names)) == (34, 74, 6)


def test_the_comparison_sees_a_wrong_value_or_name(parity: ModuleType) -> None:
    found = parity.mean_effect(np.array([1.0, 2.0, 4.0, 5.0, 9.0]))
    assert parity.difference({"effect_0": found}, {"effect_0": found}) == 0
    assert parity.difference({"effect_0": found}, {"effect_0": replace(found, value=found.value + 2.1)}) > 0.4
    assert math.isinf(parity.difference({"effect_0": found}, {"interaction_0": found}))
    assert math.isinf(parity.difference({"effect_0": found}, {"effect_0": replace(found, high=None)}))
