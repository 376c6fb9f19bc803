"""The result has the description of each metric, and every view takes it from there."""

from __future__ import annotations

from dataclasses import replace

from wug.outcomes import Estimate, Metric, Outcome, Result, Signature

SHARE = Estimate("exact_match", "all", 0.5, 2, 0.09, 0.91, "wilson")
DISTANCE = Estimate("edit_distance", "all", 1.5, 2, 0.0, 3.0, "t")
BLEU = Estimate("bleu", "all", 31.4, 2)
METRICS = (
    Metric("bleu", "score"),
    Metric("edit_distance", "tokens", "lower"),
    Metric("exact_match", headline=False, meaning="the tokens are equal"),
)
RESULT = Result("s", "cogs", "m", "complete", Signature.read("wug:0"), 2, (SHARE, DISTANCE, BLEU), metrics=METRICS)


def test_the_first_check_for_a_first_look_stands_for_the_result() -> None:
    assert RESULT.headline == BLEU
    assert RESULT.headlines == [DISTANCE, BLEU]


def test_a_check_of_one_column_or_metric_is_like_the_check() -> None:
    assert RESULT.metric("exact_match:lstm") == Metric(
        "exact_match:lstm", headline=False, meaning="the tokens are equal"
    )
    assert RESULT.metric("edit_distance/mean").unit == "tokens"


def test_what_nobody_said_is_distinguished_from_the_values() -> None:
    outcomes = (Outcome("1", "judged", True), Outcome("1", "measured", 2.5))
    estimates = (Estimate("judged", "all", 1.0, 1), Estimate("measured", "all", 2.5, 1), SHARE, BLEU)
    told = replace(RESULT, estimates=estimates, outcomes=outcomes, metrics=())
    units = {metric.name: metric.unit for metric in told.metrics}
    assert units == {"judged": "share", "measured": "score", "exact_match": "share", "bleu": "score"}


def test_a_result_without_estimates_has_no_headline() -> None:
    assert replace(RESULT, estimates=()).headline is None
