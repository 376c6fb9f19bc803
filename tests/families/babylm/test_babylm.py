"""The BabyLM protocol against the pipeline's own outputs, and its rules on made-up data."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import refused, wug
from reference import reference
from wug.errors import InputError
from wug.evaluation.models import builtin_models
from wug.families.babylm import read
from wug.families.babylm.tasks import rebuild
from wug.models import causal
from wug.models.spec import ModelSpec
from wug.outcomes import Outcome, Result
from wug.requests import Request

PARADIGMS = (
    *("passive_1", "determiner_noun_agreement_with_adjective_1", "irregular_past_participle_verbs"),
    *("principle_A_domain_3", "wh_questions_object_gap", "npi_present_2"),
)


def rows(path: Path, lines: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def without_bos(folder: Path) -> Path:
    """wug-causal with a tokenizer that adds no BOS token, as the reference outputs had it."""
    target = folder / "wug-causal"
    shutil.copytree(builtin_models()["wug-causal"], target)
    tokenizer = json.loads((target / "tokenizer.json").read_text())
    tokenizer["post_processor"] = None
    (target / "tokenizer.json").write_text(json.dumps(tokenizer))
    return target


def babylm(folder: Path, model: str) -> Result:
    said = wug("run", folder, "--protocol", "babylm", "--model", model, "--store", folder.parent / "st", "--no-cache")
    assert said.code == 0, said.err
    from wug.results.store import Store

    return Store(folder.parent / "st").results(1)[0]


@pytest.mark.parametrize("kind", ["bos", "no_bos"])
def test_1800_verdicts_and_log_probabilities_equal_those_of_the_pipeline(kind: str, tmp_path: Path) -> None:
    blimp, outputs = reference("pairs/blimp"), reference(f"exchange/babylm/pipeline_2025/{kind}")
    folder = tmp_path / "six_paradigms"
    folder.mkdir()
    for uid in PARADIGMS:
        source = next(blimp.glob(f"{uid}.jsonl*"))
        text = gzip.decompress(source.read_bytes()).decode() if source.suffix == ".gz" else source.read_text()
        (folder / f"{uid}.jsonl").write_text("\n".join(text.splitlines()[:300]) + "\n")
    model = "wug-causal" if kind == "bos" else f"causal:{without_bos(tmp_path)}"
    result = babylm(folder, model)
    ours: dict[str, list[Outcome]] = {}
    for outcome in result.outcomes:
        ours.setdefault(outcome.groups["paradigm"], []).append(outcome)
    theirs: dict[str, list[list[float]]] = {}
    for uid, values in json.loads(gzip.decompress((outputs / "logprobs.json.gz").read_bytes())):
        theirs.setdefault(uid, []).append(values)
    predictions = json.loads(gzip.decompress((outputs / "predictions.json.gz").read_bytes()))
    assert sum(map(len, ours.values())) == 1800
    for uid in PARADIGMS:
        for outcome, values, row in zip(ours[uid], theirs[uid], predictions[uid]["predictions"], strict=True):
            assert outcome.detail["logprobs"] == pytest.approx(values, abs=2e-4)
            if abs(values[0] - values[1]) > 1e-3:
                assert outcome.detail["options"][outcome.detail["chosen"] - 1] == row["pred"]
    macro = next(one.value for one in result.estimates if one.group == "macro=paradigms")
    report = (outputs / "best_temperature_report.txt").read_text().split()
    assert f"{100 * macro:.2f}" == report[-1]
    said = wug("export", "last", "--to", "babylm", "-o", tmp_path / "out", "--store", tmp_path / "st")
    assert said.code == 0, said.err
    made = next((tmp_path / "out").rglob("predictions.json"))
    assert made.relative_to(tmp_path / "out").parts == (
        *("wug-causal", "main", "zero_shot", "causal", "blimp", "six_paradigms", "predictions.json"),
    )
    assert json.loads(made.read_text()).keys() == predictions.keys()
    assert json.loads(made.read_text())["passive_1"]["predictions"][0]["id"] == "passive_1_0"


def test_the_vocabulary_filter_drops_the_same_lines_of_blimp_as_the_challenge(tmp_path: Path) -> None:
    blimp = reference("pairs/blimp")
    vocabulary = reference("exchange/babylm/vocab.txt.gz")
    dropped = json.loads(gzip.decompress(reference("exchange/babylm/blimp_filtered_dropped.json.gz").read_bytes()))
    kept = rebuild(blimp, vocabulary)
    assert len(kept) == 59_875
    numbers: dict[str, list[int]] = {}
    for item in kept:
        numbers.setdefault(item.uid, []).append(int(item.number or -1))
    for uid, lines in dropped.items():
        assert sorted(numbers[uid]) == sorted(set(range(1000)) - set(lines)), uid


def test_a_token_across_the_boundary_counts_whole_and_a_tie_is_won_by_the_first(
    tmp_path: Path, tiny_causal: Callable[..., Path]
) -> None:
    rows(tmp_path / "comps" / "comps_base.jsonl", [
        {"prefix_acceptable": "A robin", "prefix_unacceptable": "A robin", "property_phrase": "can fly."},
    ])  # fmt: skip
    folder = tiny_causal()
    result = babylm(tmp_path / "comps", f"causal:{folder}")
    outcome = result.outcomes[0]
    assert outcome.value is True
    assert outcome.groups["paradigm"] == "base"
    model = causal.load(ModelSpec("causal", str(folder), options={"bos": "tokenizer"}))
    scored = model.score([Request("A robin can fly.")])[0]
    start = len("A robin ")
    expected = sum(p for e, p in zip(scored.ends, scored.logprobs, strict=True) if p is not None and e > start)
    assert outcome.detail["logprobs"] == pytest.approx([expected, expected])
    assert any("tied, won by the first" in text for text in result.warnings)


def test_entity_tracking_has_the_mean_of_the_means_of_its_subsets(
    tmp_path: Path, tiny_causal: Callable[..., Path]
) -> None:
    folder = tmp_path / "entity_tracking"
    for name, counts in {"regular": (3, 2), "ambiref": (1,)}.items():
        rows(folder / f"{name}.jsonl", [
            {"input_prefix": f"Box {n} contains", "options": [f" the cup {n}.", " the pen.", " a."], "numops": ops}
            for ops, count in enumerate(counts) for n in range(count)
        ])  # fmt: skip
    result = babylm(folder, f"causal:{tiny_causal()}")
    shares = {one.group: one.value for one in result.estimates}
    regular = (shares["paradigm=regular_0_ops"] + shares["paradigm=regular_1_ops"]) / 2
    assert shares["macro=paradigms"] == pytest.approx((regular + shares["paradigm=ambiref_0_ops"]) / 2)
    assert any("6 items and not 9,483" in text for text in result.warnings)


def test_the_wug_test_is_the_rank_correlation_with_people(tmp_path: Path, tiny_causal: Callable[..., Path]) -> None:
    from scipy.stats import spearmanr

    ratios = (0.4, 0.1, 0.9, 0.6)
    rows(tmp_path / "wug_adj_nominalization" / "wug.jsonl", [
        {"sentences": f"It is {word}ity.\tIt is {word}ness.", "ratio": ratio}
        for word, ratio in zip(("a", "bb", "c", "dd"), ratios, strict=True)
    ])  # fmt: skip
    result = babylm(tmp_path / "wug_adj_nominalization", f"causal:{tiny_causal()}")
    rho = next(one.value for one in result.estimates if one.metric == "spearman")
    probabilities = [float(outcome.value or 0) for outcome in result.outcomes]
    assert rho == pytest.approx(spearmanr(probabilities, ratios).statistic)


def test_preferences_near_one_tie_as_in_the_pipelines_float32(tmp_path: Path, tiny_causal: Callable[..., Path]) -> None:
    texts = [f"The cat sleeps.\tThe cat sleeps.{' a' * n}" for n in (3, 4, 5)]
    rows(tmp_path / "wug_past_tense" / "wug.jsonl", [
        *({"sentences": text, "ratio": ratio} for text, ratio in zip(texts, (0.9, 0.2, 0.4), strict=True)),
        {"sentences": "The cat sleeps.\tThe cat sleeps.", "ratio": 0.1},
    ])  # fmt: skip
    outcomes = babylm(tmp_path / "wug_past_tense", f"causal:{tiny_causal()}").outcomes
    assert [one.value for one in outcomes] == [1.0, 1.0, 1.0, 0.5]


def test_the_ratings_of_people_are_in_the_checksum_and_are_numbers(tmp_path: Path) -> None:
    folder, checksums = tmp_path / "wug_past_tense", set()
    for ratio in (0.5, 0.6):
        rows(folder / "wug.jsonl", [{"sentences": "a\tb", "ratio": ratio}])
        checksums |= {suite.checksum for suite in read(folder, {})}
    assert len(checksums) == 2
    rows(folder / "wug.jsonl", [{"sentences": "a\tb", "ratio": float("nan")}])
    refused(wug("run", folder, "--protocol", "babylm", "--no-save"), "line 1", "nan is not a finite number")


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    refused(wug("run", tmp_path, "--protocol", "babylm", "--no-save"), "no task of BabyLM", "blimp_filtered")


def test_a_row_that_lacks_a_field_is_named_with_its_line(tmp_path: Path) -> None:
    rows(tmp_path / "ewok_filtered" / "x.jsonl", [{"Context1": "a", "Target1": "b", "Domain": "d"}])
    said = wug("run", tmp_path / "ewok_filtered", "--protocol", "babylm", "--no-save")
    refused(said, "x.jsonl, line 1", "Target2")


def test_the_signature_lists_the_rules_and_the_protocol(tmp_path: Path, tiny_causal: Callable[..., Path]) -> None:
    rows(tmp_path / "blimp_fast" / "a.jsonl", [{"sentence_good": "A b.", "sentence_bad": "B a."}])
    result = babylm(tmp_path / "blimp_fast", f"causal:{tiny_causal()}")
    for part in ("bos:tokenizer", "ties:first", "normalise:none", "temperature:1", "protocol:babylm-2025"):
        assert part in str(result.signature).split("|")


def test_the_name_babylm_runs_the_filtered_blimp_and_lists_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = tmp_path / "babylm" / "abc" / "vocab.txt"
    vocabulary.parent.mkdir(parents=True)
    vocabulary.write_text("the\ncat\nsleeps\nsleep\n.\n")
    pair = {"field": "syntax", "UID": "agreement", "linguistics_term": "t", "sentence_bad": "The cat sleep."}
    rows(tmp_path / "blimp" / "def" / "adjunct_island.jsonl", [
        {**pair, "sentence_good": "The cat sleeps.", "pairID": "0"},
        {**pair, "sentence_good": "The dog sleeps.", "pairID": "1"},
    ])  # fmt: skip
    [suite] = read(vocabulary, {})
    assert len(suite) == 1
    assert any("OSF ryjfm" in text and "comps" in text for text in suite.notices)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("here", "fast", "hint"), [("fast_eval", "no", "with --fast"), ("full_eval", "yes", "without")]
)
def test_the_other_version_of_the_data_is_named(here: str, fast: str, hint: str, tmp_path: Path) -> None:
    rows(tmp_path / here / "wug_past_tense" / "w.jsonl", [{"sentences": "a\tb", "ratio": 0.5}])
    with pytest.raises(InputError, match=f"only {here}: run it {hint}"):
        read(tmp_path, {"fast": fast})
