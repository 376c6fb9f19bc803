"""Published numbers that must come out, each at the agreement that the data allow."""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import devarda
import wug
from reference import reference
from wug.families.reading.milliseconds import measured_effect

scipy_stats = pytest.importorskip("scipy.stats")

PREDICTORS = (
    *("bigram", "trigram", "tetragram", "psg", "rnn", "s_GPT2", "s_GPT2_medium", "s_GPT2_large", "s_GPT2_xl"),
    *("s_GPTNeo_125M", "s_GPTNeo", "s_GPTNeo_large", "cloze_p_smoothed", "cloze_s", "rating_mean"),
)


def close(found: float, expected: str | float, relative: float, absolute: float = 0.0) -> bool:
    return abs(found - float(expected)) <= max(relative * abs(float(expected)), absolute)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_regressions_of_de_varda_in_sample(predictor: str) -> None:
    rows = [row for row in devarda.published("results_linear") if row["iv"] == predictor]
    assert len(rows) == 11
    found = devarda.fitted(rows, predictor, split="none", sigma="train-ml")
    sums = _by_measure(found)
    slopes = {row["measure"]: row for row in found.coefficients if row["term"] == devarda.column(predictor)}
    for row in rows:
        own, slope = sums[row["dv"]], slopes[row["dv"]]
        assert own["n"] == 1466
        for value, name in ((slope["estimate"], "b"), (slope["t"], "t"), (slope["p"], "p")):
            assert close(value, row[name], 4e-12), (row["dv"], name)
        for value, name in ((1466 * own["ll_target"], "llik"), (1466 * own["ll_baseline"], "llik_baseline")):
            assert close(value, row[name], 4e-12), (row["dv"], name)
        # The published differences are of rounded sums: they are exact to the last digit of the sums.
        rounding = 4e-16 * abs(float(row["llik"]))
        assert close(own["delta_ll_sum"], row["D_llik"], 4e-12, 3 * rounding), row["dv"]
        assert close(2 - 2 * own["delta_ll_sum"], row["D_AIC"], 4e-12, 6 * rounding), row["dv"]


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_cross_validation_of_de_varda(predictor: str) -> None:
    rows = [row for row in devarda.published("results_crossval") if row["iv"] == predictor]
    found = devarda.fitted(rows, predictor, split="contiguous", folds=5, sigma="test-sd")
    _check_folds(found, rows, 1466)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_spillover_of_de_varda(predictor: str) -> None:
    rows = [row for row in devarda.published("spillover_results")[:165] if row["iv"] == predictor]
    found = devarda.fitted(
        rows,
        predictor,
        baseline=re.sub(r"(\w+)(?=[*+ ]|$)", r"\1@1", devarda.BASELINE),
        predictors=f"{devarda.column(predictor)}@1",
        text="sent_id",
        position="context_length",
        order="text",
        split="contiguous",
        folds=5,
        sigma="test-sd",
    )
    _check_folds(found, rows, 1269)


def _by_measure(found: wug.Reading) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in found.estimates:
        if row["measure"]:
            made[row["measure"]] |= {row["metric"]: row["value"], "n": row["n"]}
    return made


def _check_folds(found: wug.Reading, rows: list[dict[str, str]], n: int) -> None:
    """Means over folds of fold sums, and Fisher's combination of the p-values of the folds."""
    words = found.words
    for row in rows:
        own = [place for place, measure in enumerate(words["measure"]) if measure == row["dv"]]
        assert len(own) == n
        folds = np.array([words["fold"][place] for place in own])
        sums = {
            name: np.array([math.fsum(np.array([words[name][p] for p in own])[folds == k]) for k in range(1, 6)])
            for name in ("ll_baseline", "ll_target")
        }
        difference = sums["ll_target"] - sums["ll_baseline"]
        chi = [scipy_stats.chi2.sf(2 * max(one, 0.0), 1) for one in difference]
        p = scipy_stats.chi2.sf(-2 * sum(map(math.log, chi)), 2 * len(chi))
        assert close(sums["ll_target"].mean(), row["ll_cv_model"], 1e-12)
        assert close(sums["ll_baseline"].mean(), row["ll_cv_baseline"], 1e-12)
        assert close(difference.mean(), row["D_ll_cv"], 1e-12, 1e-12)
        assert close(difference.std() / math.sqrt(5), row["ll_sd"], 1e-12, 1e-12)
        assert close(p, row["p"], 2e-11)


def test_correlations_of_de_varda() -> None:
    from wug.families.reading.table import read_words

    table = read_words(devarda.table())
    keep = table.fulfils(devarda.NO_PUNCTUATION)
    with gzip.open(reference("reading/devarda2023/df_corr.csv.gz"), "rt", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert len(rows) == len(header) - 1 == 31
    for name, *values in rows:
        for other, value in zip(header[1:], values, strict=True):
            x, y = (table.numbers(one)[keep] for one in (name, other))
            both = ~np.isnan(x) & ~np.isnan(y)
            assert close(float(np.corrcoef(x[both], y[both])[0, 1]), value, 0, 1e-13), (name, other)


def test_partial_r2_of_babylm_with_and_without_punctuation() -> None:
    measures = ["RTfirstfix", "RTfirstpass", "RTrightbound", "RTgopast"]
    for where, expected in ((["word =~ ."], 9.7675), ([devarda.NO_PUNCTUATION], 1.9951)):
        found = wug.reading(
            devarda.table(),
            measures,
            devarda.BASELINE,
            "s_GPT2",
            spillover=0,
            split="none",
            sigma="train-ml",
            where=where,
        )
        values = [row["value"] for row in found.estimates if row["metric"] == "partial_r2"]
        assert len(values) == 4
        assert float(np.mean(values)) == pytest.approx(expected, abs=5e-5)


@cache
def natural_stories() -> wug.Table:
    """Words with their item means, GPT-3 bits, length and log frequency, in the order of the stories."""
    folder = reference("reading/naturalstories")
    words = _tsv(folder / "all_stories.tok.gz")
    times = {(row["item"], row["zone"]): row["meanItemRT"] for row in _tsv(folder / "processed_wordinfo.tsv.gz")}
    counts = _counts(folder / "freqs-1.tsv.gz")
    rows = []
    for story in range(1, 11):
        own = [row for row in words if row["item"] == str(story)]
        surprisals = _bits(folder / "all_stories_gpt3.csv.gz", story, len(own))
        for row, bits in zip(own, surprisals, strict=True):
            key = (row["item"], row["zone"])
            count = counts.get(f"{story}.{row['zone']}.word")
            rows.append(
                {
                    "word": row["word"],
                    "item": story,
                    "zone": int(row["zone"]),
                    "meanItemRT": times.get(key),
                    "surprisal": bits,
                    "len": len(re.findall(r"\w", row["word"])),
                    "lf": None if count is None else math.log2(max(count, 1)),
                }
            )
    return wug.Table.of_rows(rows)


def _tsv(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _counts(path: Path) -> dict[str, int]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return {row[0]: int(row[3]) for row in rows if row[3] != "NA"}


def _bits(path: Path, story: int, words: int) -> list[float | None]:
    """Bits per word: a token belongs to the word of its first character that is not a space."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        tokens = [row for row in csv.DictReader(file) if int(row["story"]) == story - 1]
    text = "".join(token["token"] for token in tokens)
    starts = [found.start() for found in re.finditer(r"\S+", text)]
    assert len(starts) == words
    made: list[float | None] = [0.0] * words
    place = 0
    for token in tokens:
        first = place + len(token["token"]) - len(token["token"].lstrip())
        at = int(np.searchsorted(starts, min(first, len(text) - 1), side="right")) - 1
        value = made[at]
        made[at] = None if not token["logprob"] or value is None else value - float(token["logprob"]) / math.log(2)
        place += len(token["token"])
    return made


def computed() -> list[dict[str, str]]:
    with reference("reading/naturalstories/computed_delta_ll.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("place", range(8))
def test_natural_stories_with_gpt3(place: int) -> None:
    row = computed()[place]
    found = wug.reading(
        natural_stories(),
        "meanItemRT",
        "len + lf",
        "surprisal",
        text="item",
        position="zone",
        spillover=int(row["spillover"]),
        shift=int(row["shift"]),
        split="by:item",
        folds=10,
        cluster="none",
    )
    delta = next(one for one in found.estimates if one["metric"] == "delta_ll" and one["measure"])
    assert delta["n"] == int(row["n"])
    assert delta["value"] == pytest.approx(float(row["delta_ll"]), abs=1e-9)
    assert (delta["high"] - delta["low"]) / 2 == pytest.approx(1.9602 * float(row["se_words"]), rel=1e-3)


def test_effects_of_agreement_and_garden_paths_in_people() -> None:
    with reference("reading/sap2024/agreement_item_means.csv").open(encoding="utf-8") as file:
        means = list(csv.DictReader(file))
    with reference("reading/sap2024/agreement_effects_published.csv").open(encoding="utf-8") as file:
        effects = list(csv.DictReader(file))
    assert len(effects) == 6
    kinds = {"Agr": "AGREE", "GPE": "NPZ"}
    for effect in effects:
        own = [row for row in means if row["Type"] == kinds[effect["coef"]]]
        rows = [(r["item"], r["pGram"], int(r["ROI"]), float(r["mean_rt_corrected"])) for r in own]
        found = measured_effect(rows, ("U", "G"), int(effect["ROI"]))
        assert found.ms == pytest.approx(float(effect["mean"]), abs=1.6)
        assert found.low is not None
        assert found.high is not None
        assert found.low < found.ms < found.high
