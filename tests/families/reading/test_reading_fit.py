"""Terms, folds and likelihoods, on rows worked out by hand and on simulated ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wug
from reading_tables import stories
from wug.errors import InputError
from wug.families.reading import regression
from wug.families.reading.terms import parse, spread, written

sm = pytest.importorskip("statsmodels.api")


def simulated(n: int = 4000, slope: float = 2.0, seed: int = 1) -> wug.Table:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(0, 1.5, n), rng.normal(0, 1, n)
    y = 300 + slope * x + rng.normal(0, 3, n)
    return wug.Table({"x": x.tolist(), "z": z.tolist(), "noise": rng.normal(size=n).tolist(), "y": y.tolist()})


def delta(found: wug.Reading, metric: str = "delta_ll") -> float:
    return float(next(row["value"] for row in found.estimates if row["metric"] == metric and row["measure"]))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a + b", "a + b"),
        ("a*b", "a + b + a:b"),
        ("a*b + a*c", "a + b + a:b + c + a:c"),
        ("a:b + b:a + a", "a:b + a"),
        ("a*b*c", "a + b + c + a:b + a:c + b:c + a:b:c"),
        ("s_GPTNeo_2.7B@1", "s_GPTNeo_2.7B@1"),
        ("a@1*b@1", "a@1 + b@1 + a@1:b@1"),
        ("1", "1"),
        ("`a+b` + c", "`a+b` + c"),
        ("reaction time", "reaction time"),
    ],
)
def test_terms_are_read_and_each_counts_once(text: str, terms: str) -> None:
    assert written(parse(text)) == terms
    assert parse(written(parse(text))) == parse(text)


@pytest.mark.parametrize("text", ["", "a +", "+ a", "a b + * c", "a@b", "a**b"])
def test_what_is_not_a_formula_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


def test_spillover_adds_every_term_of_earlier_words_but_not_the_position() -> None:
    assert written(spread(parse("a + a:b"), 2)) == "a + a:b + a@1 + a@1:b@1 + a@2 + a@2:b@2"
    assert written(spread(parse("a@1"), 1)) == "a@1 + a@2"
    assert written(spread(parse("a + pos + a:pos"), 1, "pos")) == "a + pos + a:pos + a@1 + a@1:pos@1"


def test_contiguous_folds_are_those_of_scikit_learn() -> None:
    assert regression.contiguous(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_cut_folds_are_those_of_r() -> None:
    # cut(seq(1, 11), breaks = 3): breaks at 1, 4.33, 7.67, 11; right ends included.
    assert regression.r_cut(11, 3).tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]
    # cut(seq(1, 7), breaks = 3): 1, 3, 5, 7; a row on a break belongs to the fold before it.
    assert regression.r_cut(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert regression.r_cut(1999, 10).tolist() != regression.contiguous(1999, 10).tolist()


def test_grouped_folds_have_whole_groups_in_order_of_first_appearance() -> None:
    groups = np.array([5, 5, 2, 2, 9, 5, 7, 7])
    assert regression.grouped(groups, 2).tolist() == [0, 0, 0, 0, 1, 0, 1, 1]
    assert regression.grouped(groups, 4).tolist() == [0, 0, 1, 1, 2, 0, 3, 3]


def test_random_folds_depend_on_the_seed_alone() -> None:
    first = regression.shuffled(20, 4, 7)
    assert first.tolist() == regression.shuffled(20, 4, 7).tolist() != regression.shuffled(20, 4, 8).tolist()
    assert np.bincount(first).tolist() == [5, 5, 5, 5]


@pytest.mark.parametrize("sigma", ["train", "train-ml", "test-sd"])
@pytest.mark.parametrize("split", ["contiguous", "cut", "random", "none"])
def test_delta_ll_is_that_of_separate_fits_by_statsmodels(split: str, sigma: str) -> None:
    table = simulated(500)
    found = wug.reading(table, "y", "z + noise", "x", split=split, folds=4, sigma=sigma, spillover=0)
    words = found.words
    folds, y = np.array(words["fold"]), np.array(table["y"])
    for name, columns in (("ll_baseline", ("z", "noise")), ("ll_target", ("z", "noise", "x"))):
        x = sm.add_constant(np.column_stack([table[column] for column in columns]))
        for fold in np.unique(folds):
            test = folds == fold
            train = np.ones(len(y), bool) if split == "none" else ~test
            fit = sm.OLS(y[train], x[train]).fit()
            left = y[test] - fit.predict(x[test])
            freedom = {"train": fit.df_resid, "train-ml": train.sum()}.get(sigma, 1)
            scale = left.std(ddof=1) if sigma == "test-sd" else math.sqrt(fit.ssr / freedom)
            expected = -0.5 * (left / scale) ** 2 - math.log(scale) - 0.5 * math.log(2 * math.pi)
            np.testing.assert_allclose(np.array(words[name])[test], expected, rtol=1e-10)


@pytest.mark.parametrize(("rows", "width", "folds"), [(331, 1, 2), (2999, 13, 7), (5003, 40, 3), (70_001, 2, 5)])
@pytest.mark.parametrize("shuffled", [False, True])
def test_every_shape_of_table_agrees_with_least_squares(rows: int, width: int, folds: int, shuffled: bool) -> None:
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-3, 4, width) + rng.normal(0, 50, width)
    y = rng.normal(250, 40, rows) + x[:, 0]
    where = regression.shuffled(rows, folds, 3) if shuffled else regression.contiguous(rows, folds)
    names = [f"x{place}" for place in range(width)]
    found = regression.Regression(x.copy(), y, where, names).validate(list(range(width)), "train")
    design = np.column_stack([np.ones(rows), x])
    for fold in range(folds):
        train, test = where != fold, where == fold
        slopes, (rss,), *_ = np.linalg.lstsq(design[train], y[train])
        scale = math.sqrt(rss / (train.sum() - width - 1))
        left = (y[test] - design[test] @ slopes) / scale
        expected = -0.5 * left**2 - math.log(scale) - 0.5 * math.log(2 * math.pi)
        np.testing.assert_allclose(found.loglik[test], expected, rtol=1e-9, atol=1e-10)


def test_coefficients_are_those_of_statsmodels() -> None:
    table = simulated(400)
    found = wug.reading(table, "y", "z*noise", "x", split="none", spillover=0)
    own = [row for row in found.coefficients if row["regression"] == "target"]
    z, noise = np.array(table["z"]), np.array(table["noise"])
    fit = sm.OLS(table["y"], sm.add_constant(np.column_stack([z, noise, z * noise, table["x"]]))).fit()
    for name, expected in (("estimate", fit.params), ("se", fit.bse), ("t", fit.tvalues), ("p", fit.pvalues)):
        np.testing.assert_allclose([row[name] for row in own], expected, rtol=1e-8, err_msg=name)
    np.testing.assert_allclose([(row["low"], row["high"]) for row in own], fit.conf_int(), rtol=1e-9)


def test_delta_ll_approaches_its_limit() -> None:
    found = wug.reading(simulated(60_000), "y", "1", "x", spillover=0)
    assert delta(found) == pytest.approx(0.5 * math.log(1 + 2.0**2 * 1.5**2 / 3**2), rel=0.02)


def test_a_random_predictor_has_a_mean_slightly_below_zero() -> None:
    values = [delta(wug.reading(simulated(300, seed=seed), "y", "x", "noise", spillover=0)) for seed in range(60)]
    assert -0.01 < np.mean(values) < 0


def test_delta_ll_does_not_depend_on_units_or_order_of_columns() -> None:
    table = simulated(600)
    nats = wug.Table({**{name: table[name] for name in table.names}, "w": [1.443 * value + 7 for value in table["x"]]})
    first = wug.reading(nats, "y", "z + noise", "x", spillover=0)
    assert delta(first) == pytest.approx(delta(wug.reading(nats, "y", "noise + z", "w", spillover=0)), abs=1e-12)
    turned = wug.Table({name: nats[name] for name in reversed(nats.names)})
    assert delta(first) == pytest.approx(delta(wug.reading(turned, "y", "z + noise", "x", spillover=0)), abs=1e-14)


def test_scaling_changes_slopes_and_not_delta_ll() -> None:
    table = simulated(600)
    plain = wug.reading(table, "y", "z", "x", spillover=0)
    scaled = wug.reading(table, "y", "z", "x", spillover=0, scale=True)
    assert delta(plain) == pytest.approx(delta(scaled), abs=1e-14)
    spread_of_x = float(np.std(table["x"], ddof=1))
    assert delta(scaled, "slope:x") == pytest.approx(delta(plain, "slope:x") * spread_of_x, rel=1e-10)


def test_partial_r2_is_on_the_same_rows() -> None:
    table = simulated(600)
    x, z, y = (np.array(table[name]) for name in ("x", "z", "y"))
    below = sm.OLS(y, sm.add_constant(z)).fit()
    above = sm.OLS(y, sm.add_constant(np.column_stack([z, x]))).fit()
    found = wug.reading(table, "y", "z", "x", spillover=0)
    assert delta(found, "partial_r2") == pytest.approx(100 * (1 - above.ssr / below.ssr), rel=1e-10)
    assert delta(found, "delta_ll_sum") == pytest.approx(600 * delta(found), rel=1e-12)


def test_columns_that_are_nearly_collinear_are_fitted_precisely() -> None:
    table = simulated(20_000)
    table = wug.Table(
        {
            **{n: table[n] for n in table.names},
            "near": [v + 1e-4 * w for v, w in zip(table["z"], table["noise"], strict=True)],
        }
    )
    found = wug.reading(table, "y", "z + near", "x", split="none", spillover=0, permutations=9)
    columns = np.column_stack([table[name] for name in ("z", "near", "x")])
    fit = sm.OLS(table["y"], sm.add_constant(columns)).fit()
    own = [row["estimate"] for row in found.coefficients if row["regression"] == "target"]
    np.testing.assert_allclose(own, fit.params, rtol=1e-9)


def test_the_p_value_counts_the_observed_difference() -> None:
    differences = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    assert regression.sign_flip_p(differences, None, 4999, 0) == pytest.approx(2 / 256, abs=0.004)
    assert regression.sign_flip_p(np.ones(30), None, 999, 0) == 0.001
    units = np.repeat(np.arange(4), 2)  # four units: p cannot be below 2/16
    assert regression.sign_flip_p(differences, units, 4999, 0) == pytest.approx(2 / 16, abs=0.02)


def test_the_signal_of_two_words_is_found_again() -> None:
    rows = stories()
    found = wug.reading(
        wug.Table.of_rows(rows), "rt", "length + log_frequency", "surp", text="story", position="position", spillover=1
    )
    slopes = {row["metric"]: row for row in found.estimates if row["metric"].startswith("slope:surp")}
    assert slopes["slope:surp"]["value"] == pytest.approx(4, abs=0.5)
    assert slopes["slope:surp@1"]["value"] == pytest.approx(2, abs=0.5)
    estimate = next(row for row in found.estimates if row["metric"] == "delta_ll" and row["measure"])
    assert estimate["low"] > 0
    assert estimate["p"] == 0.001
    assert estimate["method"] == "t, by source"
