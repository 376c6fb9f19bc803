"""Scores by phenomenon: groups of a suite that belong together, whatever their names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wug.outcomes import Estimate, Metric, Result, Signature
from wug.results.schema import phenomenon_scores
from wug.stats import wilson


def blimp(*groups: tuple[str, float, int]) -> Result:
    """Minimal pairs with an accuracy over all, and one per group."""
    estimates = [Estimate("accuracy", group, value, n, 0.0, 1.0, "wilson") for group, value, n in groups]
    whole = Estimate("accuracy", "all", 0.5, 30, 0.3, 0.7, "wilson")
    return Result(
        "blimp", "pairs", "causal/x@1", "complete", Signature(), 30, (whole, *estimates), metrics=(Metric("accuracy"),)
    )


def test_groups_of_one_phenomenon_are_pooled_by_their_items() -> None:
    result = blimp(
        ("phenomenon=subject_verb_agreement", 0.9, 10),
        ("phenomenon=determiner-noun agreement", 0.6, 20),
        ("phenomenon=island_effects", 0.5, 10),
        ("paradigm=anaphor_gender_agreement", 1.0, 10),
    )
    agreement, islands = phenomenon_scores(result)
    assert (agreement.group, agreement.n) == ("Agreement", 30)
    assert agreement.value == pytest.approx(21 / 30)
    assert (agreement.low, agreement.high) == (wilson(21, 30).low, wilson(21, 30).high)
    assert (islands.group, islands.n) == ("Long-Distance Dependencies", 10)


def test_patterns_stand_in_for_phenomena_and_unknown_groups_have_none() -> None:
    found = phenomenon_scores(blimp(("pattern=obj_rel_across_anim", 0.5, 10), ("pattern=anything", 1.0, 10)))
    assert [(one.group, one.value) for one in found] == [("Agreement", 0.5)]
    assert phenomenon_scores(blimp(("pattern=anything", 1.0, 10))) == []


def test_ties_on_every_item_say_nothing_about_a_phenomenon() -> None:
    tied = replace(blimp(("pattern=subj_rel", 0.0, 10)), measurable=False)
    assert phenomenon_scores(tied) == []
