"""BabyLM's ages of acquisition against the pipeline's own arithmetic, and its files."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import curve_fit
from scipy.stats import pearsonr

from command_line import refused, wug
from run_factory import keep, result
from wug.families.babylm.submission import CHECKPOINTS
from wug.families.babylm.suite import (
    age_correlation,
    child_age,
    child_ages,
    model_age,
    read_children,
    word_ages,
    words_seen,
)
from wug.outcomes import Outcome

Floats = npt.NDArray[np.float64]

WORDS = tuple(f"word{n}" for n in range(12))
MONTHS: Floats = np.arange(16.0, 31.0)
STEPS = CHECKPOINTS[:19]


def sigmoid(x: Floats, a: float, b: float, c: float, d: float) -> Floats:
    curve: Floats = a / (1 + np.exp(-b * (x - c))) + d
    return curve


def known(number: int) -> Floats:
    """The proportion of children who know a word, which is learnt the later the larger its number is."""
    noise = np.random.default_rng(number).normal(0, 0.01, 15)
    return np.clip(sigmoid(MONTHS, 1.0, 0.4, 18 + number, 0.0) + noise, 0, 1)


def surprisals(number: int) -> list[tuple[str, float]]:
    """Two contexts at each checkpoint: surprisal falls from 16 to 4 nats."""
    random = np.random.default_rng(100 + number)
    middle = 6.3 + 0.1 * ((number * 5) % 12)
    seen = [float(step.removeprefix("chck_").removesuffix("M")) * 1e6 for step in STEPS]
    return [
        (step, 16 - 12 / (1 + math.exp(-4 * (math.log10(words + 1) - middle))) + float(random.normal(0, 0.2)))
        for step, words in zip(STEPS, seen, strict=True)
        for _ in range(2)
    ]


def published_child_age(proportions: Floats) -> float | None:
    """compute_child_aoa of the pipeline."""
    valid = ~np.isnan(proportions)
    if valid.sum() < 3:
        return None
    ages, shares = MONTHS[valid], proportions[valid]
    try:
        (a, b, c, d), _ = curve_fit(
            sigmoid, ages, shares, p0=[1.0, 0.1, np.mean(ages), 0.0], maxfev=1000,
            bounds=([0, 0, ages[0], -0.5], [2.0, 1.0, ages[-1], 0.5]),
        )  # fmt: skip
    except (RuntimeError, ValueError):
        return None
    if b <= 0 or a <= 0 or d >= 0.5 or a + d <= 0.5:
        return None
    age = float(c - np.log(a / (0.5 - d) - 1) / b)
    return age if ages[0] <= age <= ages[-1] else None


def published_model_age(points: list[tuple[str, float]]) -> float | None:
    """compute_model_aoa of the pipeline."""
    steps = np.array([float(step[5:-1]) * 1e6 for step, _ in points])
    values = np.array([value for _, value in points])
    chance = np.log2(300_000)
    threshold = -(chance - 0.5 * (chance - values.min()))
    x, y = np.log10(steps + 1), -values
    try:
        (a, b, c, d), _ = curve_fit(sigmoid, x, y, p0=[np.max(y) - np.min(y), 1.0, np.mean(x), np.min(y)], maxfev=1000)
    except RuntimeError:
        return None
    if b <= 0 or a <= 0 or threshold <= d or threshold >= a + d:
        return None
    age = float(c - np.log(a / (threshold - d) - 1) / b)
    return age if steps[0] <= 10**age - 1 <= steps[-1] else None


def points() -> Mapping[str, list[tuple[str, float]]]:
    return {word: surprisals(number) for number, word in enumerate(WORDS)}


def expected() -> tuple[float, int]:
    """The correlation of the pipeline, and its number of words."""
    pairs = [
        (model, child)
        for number, word in enumerate(WORDS)
        if (model := published_model_age(points()[word])) is not None
        and (child := published_child_age(known(number))) is not None
    ]
    return float(pearsonr(*zip(*pairs, strict=True)).statistic), len(pairs)


@pytest.fixture
def aoa(tmp_path: Path) -> Path:
    """A folder of the task with two contexts per word, and the ages of children."""
    folder = tmp_path / "evaluation_data" / "full_eval" / "aoa"
    folder.mkdir(parents=True)
    contexts = {word: [{"context": "The cat saw the"}, {"context": " A "}] for word in WORDS}
    (folder / "cdi_childes.json").write_text(json.dumps({**contexts, "I": [{"context": "too short"}]}))
    rows = [",".join([word, *(f"{value:.6f}" for value in known(n))]) for n, word in enumerate(WORDS)]
    (folder / "cdi_human.csv").write_text(
        "\n".join([",".join(["word", *(f"{month:.0f}" for month in MONTHS)]), *rows]) + "\n"
    )
    return folder


def test_ages_of_children_and_models_are_those_of_the_pipeline() -> None:
    for number, word in enumerate(WORDS):
        assert child_age(known(number)) == pytest.approx(published_child_age(known(number)))
        ours = model_age([(words_seen(step) or 0.0, value) for step, value in points()[word]])
        assert ours == pytest.approx(published_model_age(points()[word]))


def test_the_score_is_the_pipelines_correlation_over_words_with_both_ages(aoa: Path) -> None:
    found = age_correlation(word_ages(points(), child_ages(read_children(aoa))))
    value, words = expected()
    assert words > 5
    assert found.n == words
    assert found.value == pytest.approx(value, abs=1e-4)


def test_fewer_than_three_words_give_zero() -> None:
    assert age_correlation(word_ages({"a": surprisals(1)}, {"a": 20.0})).value == 0.0


def test_a_word_that_no_curve_fits_has_no_age() -> None:
    assert model_age([(1e6, 5.0), (2e6, 5.0), (3e6, math.nan)]) is None
    assert child_age(np.full(15, np.nan)) is None
    assert child_age(np.full(15, 0.9)) is None
    flat = [1, *(2, 2), *(4, 4), 5, 7, 9, 10, 20, 30, *(40, 40), 50, 60, 80, 90, 100]
    outliers = {1: 24.0, 2: 29.0, 12: 30.0, 13: 23.0}  # the fitted curve reaches the threshold at 10**1000 words
    assert model_age([(1e6 * step, outliers.get(place, 27.0)) for place, step in enumerate(flat)]) is None


def test_the_number_of_words_is_read_from_the_name_of_a_checkpoint() -> None:
    assert [words_seen(name) for name in ("chck_1M", "chck_900M", "step 2K", "500", "main")] == [
        *(1e6, 9e8, 2e3, 500.0, None),
    ]  # fmt: skip


def test_a_run_of_the_task_has_the_surprisal_of_each_context(
    aoa: Path, tmp_path: Path, tiny_causal: Callable[..., Path]
) -> None:
    said = wug(
        "run",
        aoa,
        "--protocol",
        "babylm",
        "--model",
        f"causal:{tiny_causal()}",
        "--store",
        tmp_path / "s",
        "--no-cache",
        "--format",
        "json",
    )
    [found] = said.results
    assert (found["suite"], found["n"]) == ("aoa", 24)
    assert any("need all checkpoints" in text for text in found["warnings"])
    assert any("24 items and not 8,005" in text for text in found["warnings"])


def checkpoints(store: Path) -> list[int]:
    """A run of the task per checkpoint, latest first."""
    runs = []
    for place, step in reversed([*enumerate(STEPS)]):
        rows = [
            Outcome(f"{word}/{n}", "surprisal", surprisals(number)[2 * place + n][1], {"paradigm": word},
                    {"context": "c", "child_age": child_age(known(number))})
            for number, word in enumerate(WORDS) for n in range(2)
        ]  # fmt: skip
        about = {"task": "aoa", "folder": "aoa"}
        runs.append(keep(store, result("aoa", f"causal/baby@{place}f", rows, kind="babylm", meta=about), revision=step))
    return runs


def test_runs_of_all_checkpoints_become_one_file_with_the_correlation(
    aoa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    again = checkpoints(tmp_path / "s")
    runs = [*checkpoints(tmp_path / "s"), *again]
    said = wug("export", *runs, "--to", "babylm", "-o", tmp_path / "o", "--store", tmp_path / "s")
    value, words = expected()
    assert f"aoa: Pearson's r = {value:.3f} ({words} words, 19 checkpoints)" in said.out + said.err
    path = tmp_path / "o" / "baby" / "main" / "zero_shot" / "causal" / "AoA_word" / "surprisal.json"
    rows = json.loads(path.read_text())["results"]
    assert [one["step"] for one in rows[:: 2 * len(WORDS)]] == list(STEPS)
    first = {"step": "chck_1M", "word_count": 1_000_000, "target_word": "word0", "context_id": 0, "context": "c"}
    assert rows[0] == {**first, "surprisal": surprisals(0)[0][1]}
    refused(wug("import", path, "--store", tmp_path / "i"), "wug data get babylm")
    target = tmp_path / "sets" / "babylm" / "evaluation_data" / "full_eval"
    from wug import data

    target = data.adopted("babylm") / "full_eval"
    target.mkdir(parents=True)
    aoa.rename(target / "aoa")
    [imported] = wug("import", path, "--store", tmp_path / "i", "--format", "json").results
    assert imported["model"] == "imported/baby"
    found = next(one for one in imported["estimates"] if one["metric"] == "pearson")
    assert (found["value"], found["n"]) == (pytest.approx(value, abs=1e-4), words)
    for form in ("eee", "lm-eval"):
        said = wug("export", "last", "--to", form, "-o", tmp_path / form, "--store", tmp_path / "i")
        assert said.code == 0, said.err
        [samples] = (tmp_path / form).rglob("*samples*.jsonl")
        assert len(samples.read_text().splitlines()) == words


DAMAGED = {
    "cdi_childes.json": {
        '{"word0": [{"context": "a"}': "not JSON (",
        '{"word0": "a"}': "not a list of contexts",
        '{"word0": [{"text": "a"}]}': "context",
        '{"word0": ["a"]}': "not an object",
        "[]": "not an object",
        "": "not JSON",
    },
    "cdi_human.csv": {
        "word,16\nword0,many\n": "many",
        "word,a\nword0,1\n": "no columns 16 to 30",
        "a,16\nb,1\n": "'word'",
        "": "empty",
    },
}
"""Files of contexts and of children's ages, with what their errors say."""


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [(name, content, part) for name, files in DAMAGED.items() for content, part in files.items()],
)
def test_damaged_files_are_refused_with_their_place(name: str, content: str, part: str, aoa: Path) -> None:
    (aoa / name).write_text(content)
    refused(wug("run", aoa, "--protocol", "babylm", "--no-save"), name, part)


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ("x", "results is not a list"),
        (["x"], "result 0"),
        ([{"target_word": "word0", "step": "chck_1M", "surprisal": "1"}], "surprisal"),
        ([{"target_word": "word0", "step": "chck_1M"}], "surprisal"),
    ],
)
def test_damaged_surprisals_are_not_imported(
    rows: object, part: str, aoa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "sets"))
    from wug import data

    target = data.adopted("babylm") / "full_eval"
    target.mkdir(parents=True)
    aoa.rename(target / "aoa")
    path = tmp_path / "baby" / "main" / "zero_shot" / "causal" / "AoA_word" / "surprisal.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"metadata": {"use_bos_only": False}, "results": rows}))
    refused(wug("import", path, "--store", tmp_path / "i"), "surprisal.json", part)


def test_folders_of_checkpoints_are_exported_as_the_checkpoints_of_one_model(
    aoa: Path, tmp_path: Path, tiny_causal: Callable[..., Path]
) -> None:
    for step in STEPS[:2]:
        shutil.copytree(tiny_causal(), tmp_path / "baby" / step)
    options = ("--store", tmp_path / "s", "--no-cache", "--sweep", "baby")
    wug("run", aoa, "--protocol", "babylm", "--model", f"causal:{tmp_path}/baby/chck_*", *options)
    said = wug("export", "sweep:baby", "--to", "babylm", "-o", tmp_path / "o", "--store", tmp_path / "s")
    assert "2 checkpoints" in said.out + said.err, said
    path = tmp_path / "o" / "baby" / "main" / "zero_shot" / "causal" / "AoA_word" / "surprisal.json"
    assert {row["step"] for row in json.loads(path.read_text())["results"]} == {*STEPS[:2]}
