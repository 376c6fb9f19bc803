"""`wug reading` as researchers write it, and its results as ordinary runs."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import devarda
import wug
from browsing import client_of
from command_line import refused
from command_line import wug as command
from reading_tables import stories, write
from reference import reference
from wug import data
from wug.data.folder import folder_of
from wug.evaluation.models import builtin_models
from wug.results.store import Store
from wug.web.site import Site

KEYS = ("--word", "word", "--text", "story", "--position", "position")
STORY = """The old man walked to the house . He saw a dog near the door . The dog was very old and it looked sad .
The man gave the dog some food and water . They sat down and the sun went down behind the hill .""".split()


def told(count: int = 4, seed: int = 0) -> list[dict[str, Any]]:
    """Stories of real words, in another order each, with times that have no effect of surprisal."""
    rng = np.random.default_rng(seed)
    rows = []
    for story in range(1, count + 1):
        sentences = " ".join(STORY).split(" . ")
        words = " . ".join(sentences[place] for place in rng.permutation(len(sentences))).split()
        for position, word in enumerate(words, 1):
            rows.append(
                {
                    "story": story,
                    "position": position,
                    "word": word,
                    "log_frequency": float(rng.normal(5, 1)),
                    "rt": float(rng.normal(300, 30)),
                }
            )
    return rows


def value(result: dict[str, Any], metric: str) -> float:
    return float(next(e["value"] for e in result["estimates"] if e["metric"] == metric and "=" in e["group"]))


def test_columns_that_exist_with_r_row_names_and_missing_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table of MECO: several models below one another, NA and Inf, rows in the order of the file."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for model in ("mgpt_sc", "monot_all"):
        for place in range(300):
            row: dict[str, Any] = {"": len(rows) + 1, "trialid": place // 100, "ianum": place % 100, "model": model}
            for name in ("freq", "len", "surp"):
                for earlier in ("", "prev_", "prev2_"):
                    row[f"{earlier}{name}"] = round(float(rng.gamma(3, 2)), 4)
            row |= {"ent": 1.5 if place % 50 else "NA", "ia": "null", "lang": "en"}
            row["gaze_rt"] = 200 + 5 * row["surp"] + float(rng.normal(0, 30))
            if place == 7:
                row["freq"] = "Inf"
            if place == 8:
                row["prev2_freq"] = 0
            if place == 9:
                row["gaze_rt"] = "NA"
            rows.append(row)
    write(tmp_path / "en.csv", rows)
    monkeypatch.chdir(tmp_path)
    said = command(
        *("reading", "en.csv", "--measure", "gaze_rt", "--where", "model = monot_all", "--where", "freq > 0"),
        *("--where", "prev_freq > 0", "--where", "prev2_freq > 0"),
        *("--baseline", "freq + len + prev_freq + prev_len + prev2_freq + prev2_len"),
        *("--predictors", "surp + prev_surp + prev2_surp", "--spillover", "0", "--split", "cut", "--folds", "10"),
        *("--sigma", "train", "--complete", "all", "--format", "json"),
    )
    (result,) = said.results
    assert (result["suite"], result["kind"]) == ("en", "reading")
    assert result["model"] == "surp + prev_surp + prev2_surp"
    assert result["n"] == 300 - 3 - 6
    keys = {"metric", "group", "value", "n", "low", "high", "method"}
    assert all(keys <= set(e) for e in result["estimates"])
    delta = next(e for e in result["estimates"] if e["metric"] == "delta_ll" and e["group"] == "measure=gaze_rt")
    assert 0 < delta["p"] <= 1
    assert delta["low"] < delta["value"] < delta["high"]
    metrics = {e["metric"] for e in result["estimates"]}
    assert {"delta_ll", "delta_ll_sum", "ll_baseline", "ll_target", "partial_r2", "slope:surp"} <= metrics
    for field in ("measure", "predictors", "baseline", "spillover", "rows", "dropped", "split", "folds", "order"):
        assert f"|{field}:" in result["signature"], field
    for field in ("sigma", "complete", "transform", "scale", "cluster", "frequency"):
        assert f"|{field}:" in result["signature"], field


def test_a_model_and_a_table_of_stories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "stories.csv", told())
    monkeypatch.chdir(tmp_path)
    said = command(
        *("reading", "stories.csv", "--model", "wug-causal", "--word", "word", "--text", "story"),
        *("--position", "position", "--measure", "rt", "--baseline", "length + log_frequency", "--spillover", "2"),
        *("--split", "by:story", "--folds", "4", "--format", "json"),
    )
    (result,) = said.results
    assert result["model"].startswith("causal/wug-causal@")
    assert value(result, "delta_ll") < 0.01
    assert {"slope:surprisal", "slope:surprisal@1", "slope:surprisal@2"} <= {e["metric"] for e in result["estimates"]}
    assert any("single sentences" in text for text in result["warnings"])
    assert "|length" not in result["signature"].partition("baseline:")[2][:6]


def test_the_surprisals_are_those_of_wug_surprisal(tmp_path: Path) -> None:
    rows = told(2)
    given: dict[str, Any] = {"word": "word", "text": "story", "position": "position", "split": "contiguous", "folds": 2}
    found = wug.reading(
        wug.Table.of_rows(rows), "rt", "length", models=["wug-causal", "wug-lstm"], spillover=0, lags=False, **given
    )
    texts = [" ".join(row["word"] for row in rows if row["story"] == story) for story in (1, 2)]
    table = wug.surprisal(texts, ["wug-causal", "wug-lstm"])
    path = tmp_path / "bits.csv"
    table.write(path)
    joined = wug.reading(wug.Table.of_rows(rows), "rt", "length", surprisals=path, spillover=0, **given)
    first, second = ([r["value"] for r in one.estimates if r["metric"] == "delta_ll"] for one in (found, joined))
    assert first == pytest.approx(second, abs=1e-7)
    assert [result.model for result in joined.results] == [result.model for result in found.results]
    assert [result.n for result in found.results] == [len(rows)] * 2
    perplexity = next(r["value"] for r in found.estimates if r["metric"] == "perplexity")
    bits = [value for value, model in zip(table["surprisal"], table["model"], strict=True) if "causal" in model]
    assert perplexity == pytest.approx(2 ** np.mean(bits))


def test_boundary_corrected_and_plain_surprisal_are_side_by_side() -> None:
    given: dict[str, Any] = {"word": "word", "text": "story", "position": "position", "split": "contiguous", "folds": 2}
    found = wug.reading(
        wug.Table.of_rows(told(3)),
        "rt",
        "length",
        models="wug-causal",
        use=["surprisal", "surprisal_boundary", "surprisal + entropy"],
        spillover=0,
        **given,
    )
    assert [result.model.partition("?")[2] for result in found.results] == [
        "use=surprisal",
        "use=surprisal_boundary",
        "use=surprisal + entropy",
    ]
    assert len({result.n for result in found.results}) == 1
    slopes = [row["metric"] for row in found.estimates if row["metric"].startswith("slope:")]
    assert slopes[-3:] == ["slope:surprisal", "slope:entropy", "slope:length"]


def test_a_masked_model_is_scored_with_a_warning() -> None:
    given: dict[str, Any] = {"word": "word", "text": "story", "position": "position", "split": "contiguous", "folds": 2}
    found = wug.reading(wug.Table.of_rows(told(2)), "rt", "length", models="wug-masked", spillover=0, **given)
    assert any("both sides" in text for text in found.results[0].warnings)


def test_columns_of_de_varda_as_written() -> None:
    said = command(
        *("reading", devarda.table(), "--where", "word !~ [.,']", "--measure", "N400", "--baseline", devarda.BASELINE),
        *("--predictors", "s_GPT2", "--spillover", "0", "--split", "none", "--sigma", "train-ml", "--format", "json"),
    )
    (result,) = said.results
    row = next(r for r in devarda.published("results_linear") if (r["dv"], r["iv"]) == ("N400", "s_GPT2"))
    assert (result["suite"], result["n"]) == ("all_measures", 1466)
    assert value(result, "delta_ll_sum") == pytest.approx(float(row["D_llik"]), rel=1e-11)
    assert value(result, "slope:s_GPT2") == pytest.approx(float(row["b"]), rel=1e-11)


def test_wug_run_is_the_same_computation(tmp_path: Path) -> None:
    table = write(tmp_path / "stories.csv", told())
    shared = ("--model", "wug-causal", "--format", "json")
    first = command(
        *("reading", table, *KEYS, "--measure", "rt", "--split", "by:story", "--folds", 4, "--spillover", 1, *shared)
    )
    options = ("measure=rt", "word=word", "text=story", "position=position", "split=by:story", "folds=4", "spillover=1")
    second = command("run", table, "--kind", "reading", *(part for o in options for part in ("-S", o)), *shared)
    third = command("run", table, *(part for o in options for part in ("-S", o)), *shared)
    own = [(e["metric"], e["group"], e["value"]) for e in first.results[0]["estimates"]]
    for other in (second, third):
        ran = [(e["metric"], e["group"], e["value"]) for e in other.results[0]["estimates"] if e["metric"] != "p"]
        assert own == ran


def test_results_are_ordinary_runs(tmp_path: Path) -> None:
    table = write(tmp_path / "spr.csv", [{**row, "noise": float(place % 7)} for place, row in enumerate(stories())])
    base = ("reading", table, *KEYS, "--measure", "rt", "--baseline", "length + log_frequency", "--lags")
    said = command(*base, "--predictors", "gpt2=surp", "--predictors", "noise=noise")
    assert said.code == 0, said.err
    assert "ΔLL" in said.out
    assert "slope at t, t-1" in said.out
    assert "runs 1 2 saved" in said.err
    shown = command("show", 1)
    assert shown.code == 0
    assert "ΔLL" in shown.out
    compared = command("compare", 1, 2, "--format", "json")
    assert compared.code == 0, compared.err
    assert "delta_ll" in compared.out
    page = tmp_path / "page.html"
    assert command("report", 1, 2, "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    for title in (
        "ΔLL by measure",
        "Slope by lag",
        "Calibration: rt",
        "ΔLL of each word alone",
        "(rt per unit of surp)",
    ):
        assert title in text, title
    with closing(Store(Path(os.environ["WUG_STORE"]))) as store:
        client = client_of(Site(store=store, cache=tmp_path / "answers.db", folders=()))
        listed = client.get("/")
        assert listed.status_code == 200
        shown_page = client.get("/result/1")
        assert shown_page.status_code == 200
        assert "ΔLL by measure" in shown_page.text
        for page_of in ("items", "part/calibration-rt", "figure/slopes.vl.json", "outcome/3"):
            assert client.get(f"/result/1/{page_of}").status_code == 200, page_of
    exported = command("export", 1, "--to", "csv")
    assert exported.code == 0, exported.err
    assert exported.out.count("\n") > 600


def test_a_sweep_over_twelve_checkpoints_is_a_learning_curve(tmp_path: Path) -> None:
    """Twelve checkpoints of a small training: here, copies of one model whose weights shrink to those it began with."""
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    source = builtin_models()["wug-causal"]
    weights = safetensors.load_file(source / "model.safetensors")
    generator = torch.Generator().manual_seed(0)
    for step in range(1, 13):
        folder = tmp_path / "run" / f"checkpoint-{step * 100}"
        shutil.copytree(source, folder)
        made = {
            name: (value * step / 12 + torch.randn(value.shape, generator=generator) * 0.02 * (12 - step)).contiguous()
            for name, value in weights.items()
        }
        safetensors.save_file(made, folder / "model.safetensors", {"format": "pt"})
    table = write(tmp_path / "stories.csv", told())
    options = ("measure=rt", "word=word", "text=story", "position=position", "spillover=0", "folds=4")
    said = command(
        *("run", table, "--kind", "reading", *(part for o in options for part in ("-S", o))),
        *("--model", f"causal:{tmp_path}/run/checkpoint-*", "--sweep", "training"),
    )
    assert said.code == 0, said.err
    shown = command("show", "sweep:training", "--format", "json")
    assert shown.code == 0, shown.err
    chart = tmp_path / "curve.svg"
    curve = command("compare", "--curve", *range(1, 13), "--format", "json")
    assert curve.code == 0, curve.err
    points = json.loads(curve.out)["curves"][0]["points"]
    assert [point["step"] for point in points] == [100.0 * step for step in range(1, 13)]
    assert command("compare", "--curve", *range(1, 13), "-o", chart).code == 0
    with closing(Store(Path(os.environ["WUG_STORE"]))) as store:
        page = client_of(Site(store=store, cache=tmp_path / "answers.db", folders=())).get("/sweeps/1")
    assert page.status_code == 200
    assert "ΔLL" in page.text
    assert "delta ll" not in page.text
    assert chart.stat().st_size > 1000


def _fetched(name: str, source: Path) -> None:
    """A file of a published set where `wug data get` would put it."""
    chosen = data.find(name)
    path = folder_of(chosen.set) / chosen.files[0].name
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.decompress(source.read_bytes()))


def test_published_sets_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(data.FOLDER, str(tmp_path))
    _fetched("prediction-resource/all_measures", devarda.table())
    said = command("reading", "prediction-resource", "--predictors", "s_GPT2", "--format", "json")
    (result,) = said.results
    assert (result["suite"], result["n"]) == ("all_measures", 1252)
    assert "|position:context_length|" in result["signature"]
    _fetched("naturalstories/processed_wordinfo", reference("reading/naturalstories/processed_wordinfo.tsv.gz"))
    given = ("reading", "naturalstories", "--predictors", "nItem", "--format", "json", "--baseline", "length")
    shipped, moved = command(*given).results[0], command(*given, "--shift", 1).results[0]
    assert any("one word late" in text for text in shipped["warnings"])
    assert any("1 further on" in text for text in moved["warnings"])
    refused(command("reading", "naturalstories-maze", "--predictors", "x"), "naturalstories-maze")


def test_the_words_file_and_the_figure(tmp_path: Path) -> None:
    table = write(tmp_path / "spr.csv", stories())
    words, figure = tmp_path / "words.csv", tmp_path / "figure.svg"
    said = command(
        *("reading", table, *KEYS, "--measure", "rt", "--predictors", "surp", "--words", words, "--plot", figure),
        *("--format", "json"),
    )
    with words.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == said.results[0]["n"]
    assert {"story", "position", "word", "y", "fold", "ll_baseline", "ll_target", "delta_ll"} <= set(rows[0])
    mean = np.mean([float(row["delta_ll"]) for row in rows])
    assert mean == pytest.approx(value(said.results[0], "delta_ll"), abs=1e-12)
    assert figure.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("kind", ["delta_ll", "slopes", "lags", "calibration"])
def test_python_draws_every_figure(kind: Any) -> None:
    table = wug.Table.of_rows(stories())
    given: dict[str, Any] = {"text": "story", "position": "position", "lags": True}
    found = wug.reading(table, "rt", "length + log_frequency", {"gpt2": "surp"}, **given)
    assert found.plot(kind).to_dict()["data"] is not None or found.plot(kind).to_dict()["layer"]


def test_delta_ll_against_perplexity_needs_two_models() -> None:
    given: dict[str, Any] = {"word": "word", "text": "story", "position": "position", "split": "contiguous", "folds": 2}
    table = wug.Table.of_rows(told(2))
    found = wug.reading(table, "rt", "length", models=["wug-causal", "wug-lstm"], spillover=0, **given)
    drawn = found.plot("perplexity").to_dict()["layer"][0]
    assert drawn["encoding"]["color"]["scale"]["domain"] == ["table"]
    assert found.results.plot("perplexity").to_dict()["layer"][0]["encoding"] == drawn["encoding"]
    with pytest.raises(wug.WugError, match="two models"):
        wug.reading(table, "rt", "length", models="wug-causal", spillover=0, **given).plot("perplexity")


def test_the_estimates_are_a_data_frame() -> None:
    found = wug.reading(wug.Table.of_rows(stories()), "rt", "length", "surp", text="story", position="position")
    frame = found.to_pandas()
    assert {"measure", "predictors", "model", "metric", "value", "low", "high", "p", "n"} <= set(frame.columns)
    assert frame[frame.metric == "delta_ll"].p.notna().all()


def test_length_and_frequency_are_made_of_the_words() -> None:
    pytest.importorskip("wordfreq")
    rows = [{**row, "word": f"“{row['word']},”"} for row in stories()]
    table = wug.Table.of_rows([{k: v for k, v in r.items() if k not in ("length", "log_frequency")} for r in rows])
    found = wug.reading(table, "rt", predictors="surp", frequency="wordfreq:en", word="word", spillover=0)
    assert "wordfreq 3.1.1:en" in str(found.results[0].signature)
    slopes = {row["metric"]: row["value"] for row in found.estimates}
    assert slopes["slope:length"] == pytest.approx(5, abs=2)
    assert "slope:log_frequency" in slopes


def test_r_gets_the_same_rows_folds_and_formulas(tmp_path: Path) -> None:
    rows = [{**row, "subject": f"p{place % 3}"} for place, row in enumerate(stories())]
    table = write(tmp_path / "spr.csv", rows)
    said = command(
        *("reading", table, *KEYS, "--measure", "rt", "--predictors", "surp", "--spillover", 1, "--folds", 4),
        *("--split", "by:story", "--r", tmp_path / "r", "--format", "json"),
    )
    delta = value(said.results[0], "delta_ll")
    script = (tmp_path / "r" / "rt_1.R").read_text(encoding="utf-8")
    for part in ("lm(", "lme4::lmer(", "gam(", "REML = FALSE", 's(surp, bs = "cr", k = 20)', "sigma(fit)"):
        assert part in script, part
    assert "y ~ length + log_frequency + length_1 + log_frequency_1 + surp + surp_1" in script
    with (tmp_path / "r" / "rt_1.csv").open(encoding="utf-8") as file:
        data = list(csv.DictReader(file))
    assert len(data) == said.results[0]["n"]
    assert _by_statsmodels(data) == pytest.approx(delta, abs=1e-12)
    if shutil.which("Rscript"):
        ran = subprocess.run(["Rscript", "rt_1.R"], cwd=tmp_path / "r", capture_output=True, text=True, check=True)
        assert float(ran.stdout.partition("delta_ll ")[2].split()[0]) == pytest.approx(delta, abs=1e-10)


@pytest.mark.parametrize("predictors", ["surp", "surp:length"])
def test_a_table_without_groups_has_a_script_that_runs_to_its_end(tmp_path: Path, predictors: str) -> None:
    found = wug.reading(wug.Table.of_rows(stories()), "rt", "length", predictors, spillover=0, folds=3)
    script = found.to_r(tmp_path)[1]
    assert "| item)" not in script.read_text(encoding="utf-8")
    if shutil.which("Rscript"):
        ran = subprocess.run(["Rscript", script.name], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.count("smooth minus linear") in (0, 3)  # without mgcv, or for each fold


def test_columns_of_the_table_do_not_clash_with_those_of_the_export(tmp_path: Path) -> None:
    rows = [{**row, "y": row["surp"], "word": "NA"} for row in stories(count=2)]
    found = wug.reading(wug.Table.of_rows(rows), "rt", "length", "y", spillover=0, word="word")
    data, script = found.to_r(tmp_path)
    assert data.read_text(encoding="utf-8").startswith("item,text,subject,word,fold,y,length,x_y\n")
    assert "y ~ length + x_y" in script.read_text(encoding="utf-8")
    assert 'na.strings = ""' in script.read_text(encoding="utf-8")


def _by_statsmodels(data: list[dict[str, str]]) -> float:
    sm = pytest.importorskip("statsmodels.api")
    norm = pytest.importorskip("scipy.stats").norm
    y, folds = (np.array([float(row[name]) for row in data]) for name in ("y", "fold"))
    sums = []
    for sign, names in ((-1, 4), (1, 6)):
        columns = list(data[0])[6 : 6 + names]
        x = sm.add_constant(np.array([[float(row[name]) for name in columns] for row in data]))
        for fold in np.unique(folds):
            test = folds == fold
            fit = sm.OLS(y[~test], x[~test]).fit()
            sums.append(sign * norm.logpdf(y[test], fit.predict(x[test]), np.sqrt(fit.scale)).sum())
    return float(sum(sums)) / len(y)


PUBLISHED = ("urbach_2010_exp1", "ainsworthdarnell_1998", "urbach_2010_exp2")


@pytest.mark.parametrize(("stimuli", "model"), [(s, m) for s in PUBLISHED for m in ("grnn", "jrnn")][:5])
def test_exported_data_give_the_published_mixed_models(tmp_path: Path, stimuli: str, model: str) -> None:
    """Michaelov & Bergen 2020: crossed random intercepts, maximum likelihood."""
    folder = reference("reading/michaelov2020")
    with (folder / "published_lme4.csv").open(encoding="utf-8") as file:
        published = [r for r in csv.DictReader(file) if (r["stimuli"], r["model"]) == (stimuli, model)]
    with (folder / f"{stimuli}.stimuli.csv").open(encoding="utf-8-sig") as file:
        design = list(csv.DictReader(file))
    with (folder / f"{stimuli}.{model}.csv").open(encoding="utf-8-sig") as file:
        scored = {row["Sentence"].strip(): row for row in csv.DictReader(file, delimiter=";")}
    coded = [r["term"] for r in published[1:]]
    rows = []
    for place, stimulus in enumerate(design):
        score = scored.get(stimulus["Sentence"].strip())
        if score is None:  # a word that the model does not know
            continue
        dummies = {term: float(any(f"{name}{given}" == term for name, given in stimulus.items())) for term in coded}
        rows.append({"frame": stimulus["SentenceFrame"], "word": score["TargetWord"], "place": place} | dummies)
        rows[-1]["bits"] = float(score["Surprisal"])
    crossed = "TargetWord" in published[0]["formula"]
    found = wug.reading(
        wug.Table.of_rows(rows),
        "bits",
        "1",
        " + ".join(coded),
        text="frame",
        position="place",
        split="none",
        spillover=0,
        **({"word": "word"} if crossed else {}),
    )
    data, script = found.to_r(tmp_path)
    assert f"(1 | text){' + (1 | word)' * crossed}" in script.read_text(encoding="utf-8")
    with data.open(encoding="utf-8") as file:
        exported = list(csv.DictReader(file))
    y = np.array([float(row["y"]) for row in exported])
    x = np.array([[1.0, *(float(row[name]) for name in coded)] for row in exported])
    groups = [[row[name] for row in exported] for name in (["text", "word"] if crossed else ["text"])]
    estimates, errors = _mixed(x, y, groups)
    np.testing.assert_allclose(estimates, [float(row["estimate"]) for row in published], rtol=0, atol=1e-5)
    np.testing.assert_allclose(errors, [float(row["se"]) for row in published], rtol=0, atol=5e-6)


def _mixed(x: Any, y: Any, groups: list[list[str]]) -> tuple[Any, Any]:
    """Maximum likelihood of crossed random intercepts: fixed effects and their standard errors, as of lme4."""
    optimize = pytest.importorskip("scipy.optimize")
    shared = [np.equal.outer(np.array(some), np.array(some)).astype(float) for some in groups]
    n = len(y)

    def solve(theta: Any) -> tuple[float, Any, Any]:
        covariance = np.eye(n) + sum(t**2 * one for t, one in zip(theta, shared, strict=True))
        lower = np.linalg.cholesky(covariance)
        left, right = np.linalg.solve(lower, x), np.linalg.solve(lower, y)
        values = np.linalg.lstsq(left, right, rcond=None)[0]
        variance = float(np.square(right - left @ values).sum()) / n
        deviance = 2 * float(np.log(np.diag(lower)).sum()) + n * np.log(variance)
        return deviance, values, np.sqrt(variance * np.diag(np.linalg.inv(left.T @ left)))

    start = np.ones(len(shared))
    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    best = optimize.minimize(lambda theta: solve(theta)[0], start, method="Nelder-Mead", options=options)
    _, values, errors = solve(best.x)
    return values, errors


def test_garden_paths_in_milliseconds(tmp_path: Path) -> None:
    """The predicted effect is the sum over lags of slope times difference in surprisal."""
    table = wug.Table.of_rows(stories())
    fillers = wug.reading(table, "rt", "length + log_frequency", "surp", text="story", position="position", spillover=1)
    rows: list[dict[str, Any]] = []
    for item in range(1, 9):
        for condition, extra in (("ambiguous", 3.0 + 0.1 * item), ("unambiguous", 0.0)):
            for region, bits in enumerate((5.0, 6.0 + 0.5 * extra, 8.0 + extra), 1):
                rows.append({"item": item, "condition": condition, "region": region, "surprisal": bits})
    human = [{**row, "rt": 400 + 40 * (row["condition"] == "ambiguous") + row["item"]} for row in rows]
    effects = fillers.effects(wug.Table.of_rows(rows), ("ambiguous", "unambiguous"), 3, wug.Table.of_rows(human))
    predicted, people = effects.to_dicts()
    slopes = {row["metric"]: row["value"] for row in fillers.estimates if row["metric"].startswith("slope:surp")}
    more = float(np.mean([3.0 + 0.1 * item for item in range(1, 9)]))
    expected = slopes["slope:surp"] * more + slopes["slope:surp@1"] * 0.5 * more
    assert predicted["effect"] == pytest.approx(expected, rel=1e-9)
    assert predicted["low"] < predicted["effect"] < predicted["high"]
    assert predicted["bits"] == pytest.approx(more)
    assert (people["source"], people["effect"], people["items"]) == ("people", 40.0, 8)
    with pytest.raises(wug.WugError, match="Did you mean 'ambiguous'"):
        fillers.effects(wug.Table.of_rows(rows), ("ambigous", "unambiguous"), 3)


def test_a_suite_of_syntaxgym_in_milliseconds() -> None:
    given: dict[str, Any] = {"word": "word", "text": "story", "position": "position", "split": "contiguous", "folds": 2}
    fillers = wug.reading(wug.Table.of_rows(told(4)), "rt", "length", models="wug-causal", spillover=1, **given)
    results = wug.run("wug_agreement_pp", "wug-causal", limit=10)
    (row,) = fillers.effects(results, ("sing_mismatch", "sing_match"), 4).to_dicts()
    assert row["items"] == 10
    assert row["bits"] > 0
    assert row["low"] < row["effect"] < row["high"]
