"""What a person sees at a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from wug.outcomes import Estimate, Metric, Result, Signature
from wug.views.result_tables import cells
from wug.views.terminal import across_suites, show


def shown(*results: Result, by: Sequence[str] | None = None) -> str:
    out = io.StringIO()
    show(results, Console(file=out, width=120), by)
    return out.getvalue()


def result(estimates: Sequence[Estimate], **more: object) -> Result:
    made = Result("words", "pairs", "m", "complete", Signature.read("wug:1|suite:words|model:m"), 9, tuple(estimates))
    return replace(made, **more)  # type: ignore[arg-type]


def share(metric: str, group: str, value: float) -> Estimate:
    return Estimate(metric, group, value, 9, 0.0, 1.0, "wilson")


def test_groups_stand_below_their_check_field_by_field_with_numbers_in_order() -> None:
    groups = ["depth=10", "function=copy", "depth=2", "function=append"]
    found = result([share("accuracy", "all", 0.5), *(share("accuracy", group, 0.5) for group in groups)])
    text = shown(found, by=["all"])
    places = [text.index(group) for group in ("depth=2", "depth=10", "function=copy", "function=append")]
    assert places == sorted(places)


def test_a_field_of_one_value_says_nothing_more_than_all() -> None:
    assert "type=" not in shown(result([share("accuracy", "all", 0.5), share("accuracy", "type=nonce", 0.5)]))


def test_a_field_of_many_groups_is_shown_on_request_only() -> None:
    names = [share("accuracy", f"paradigm=p{n}", 0.5) for n in range(67)]
    found = result([share("accuracy", "all", 0.5), *names])
    assert "paradigm=" not in shown(found)
    assert "also by paradigm: --by paradigm" in shown(found)
    assert shown(found, by=["paradigm"]).count("paradigm=") == 67


def test_of_many_checks_only_the_first_is_broken_down() -> None:
    metrics = [share(metric, group, 0.5) for metric in ("one", "two", "six") for group in ("all", "n=1", "n=2")]
    text = shown(result(metrics))
    assert text.count("n=1") == 1
    assert "more metrics and groups: --format csv" in text


def test_a_suite_may_say_which_checks_are_headlines() -> None:
    found = result([share("good", "all", 0.5), share("obscure", "all", 0.5)])
    found = replace(found, metrics=(Metric("good"), Metric("obscure", headline=False)))
    assert "obscure" not in shown(found)
    assert "more metrics and groups" in shown(found)
    assert "obscure" not in shown(*[found] * 4)


def test_a_deviation_over_runs_comes_after_a_plus_minus_sign() -> None:
    runs = Estimate("accuracy", "all", 0.8, 3, 0.79, 0.81, "population sd of shares")
    epochs = Estimate("peak_epoch", "all", 3.0, 3, 2.5, 3.5, "sd")
    found = replace(result([runs, epochs]), metrics=(Metric("accuracy"), Metric("peak_epoch", "count")))
    assert cells(found, runs) == ("80.0%", "± 1.0")
    assert cells(found, epochs) == ("3", "± 0.5")


def test_proportions_by_source_are_percentages_and_a_mean_at_a_bound_has_no_interval() -> None:
    share = Estimate("consistency", "all", 0.9, 8, 0.5, 1.0, "wilson, by source")
    mean = Estimate("edit_distance", "all", 0.04, 50, method="none: only 1 of 50 values differ from 0")
    bleu = Estimate("bleu", "all", 99.0, 50)
    found = replace(
        result([share, mean, bleu]),
        metrics=(Metric("consistency"), Metric("edit_distance", "tokens", "lower"), Metric("bleu", "score")),
    )
    assert cells(found, share) == ("90.0%", "[50.0, 100.0]")
    assert cells(found, mean) == ("0.04", "no interval")
    assert cells(found, bleu) == ("99", "")


def test_a_check_of_fewer_items_than_the_result_has_shows_its_n() -> None:
    some = replace(share("accuracy", "all", 0.5), n=6)
    found = replace(
        result([some, share("other", "all", 0.5)]), metrics=(Metric("accuracy", meaning="m"), Metric("other"))
    )
    assert "m (n = 6)" in shown(found)
    assert shown(found).count("n = ") == 1


def test_a_result_without_a_judged_item_says_so_whatever_its_family() -> None:
    found = result([], n=0, warnings=("4 of 4 pairs not judged: no token begins in one of the sentences",))
    assert "0 items · m" in shown(found)
    assert "no item was judged" in shown(found)
    assert "predictions" not in shown(found)
    assert "4 of 4 pairs not judged" in shown(found)


def test_many_suites_end_with_the_means_of_the_field_that_their_family_declares() -> None:
    """SyntaxGym: the mean over suites for each circuit, then the mean of the circuits: (75 + 50) / 2."""
    values = [("a", "Agreement", 1.0), ("b", "Agreement", 0.5), ("c", "Licensing", 0.5)]
    results = [
        Result(name, "syntaxgym", "causal/x@1", "complete", Signature(), 4, (
            Estimate("all_predictions", "all", value, 4), Estimate("all_predictions", f"circuit={circuit}", value, 4),
        ))
        for name, circuit, value in values
    ]  # fmt: skip
    out = io.StringIO()
    show(results, Console(file=out, width=100))
    rows = [line.split() for line in out.getvalue().splitlines()]
    assert ["circuit", "mean", "of", "suites", "suites"] in rows
    assert ["Agreement", "75.0%", "2"] in rows
    assert ["Licensing", "50.0%", "1"] in rows
    assert ["macro", "average", "62.5%", "3"] in rows


def test_a_family_that_declares_no_such_field_has_no_table_of_means() -> None:
    result = Result("a", "unknown", "m", "complete", Signature(), 1, (Estimate("x", "circuit=A", 1.0, 1),))
    assert list(across_suites([result, result])) == []


def test_values_with_warnings_are_marked_in_a_table() -> None:
    found = [result([share("accuracy", "all", 0.5)], suite=f"s{n}", warnings=("odd",) * (n == 1)) for n in range(4)]
    lines = shown(*found).splitlines()
    assert [line.split()[0] for line in lines if "50.0% !" in line] == ["s1"]
    assert "! 1 warning about 1 of 4 results" in lines


def test_a_result_of_ties_is_not_measurable() -> None:
    warning = "all 9 pairs tied, counted as failures: the accuracy is not measurable"
    text = shown(result([share("accuracy", "all", 0.0)], warnings=(warning,), measurable=False))
    assert "accuracy    not measurable" in text
    assert "0.0%" not in text
