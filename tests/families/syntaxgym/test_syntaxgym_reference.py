"""Parity with SyntaxGym's published suites, surprisals and verdicts."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fake_models import FakeScorer
from reference import reference
from wug.alignment import align
from wug.evaluation.checking import check_file
from wug.families import syntaxgym
from wug.families.syntaxgym.commands import read_evaluated
from wug.families.syntaxgym.lint import lint
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.families.syntaxgym.write import evaluated_json, to_json
from wug.families.syntaxgym.write import surprisals as surprisals_of_syntaxgym
from wug.outcomes import Notice, Outcome, Result, Signature, SuiteOutput
from wug.requests import LN2, Scored

SCHEMA = json.loads((Path(syntaxgym.__file__).parent / "schema.json").read_text(encoding="utf-8"))
METRICS = ("sum", "mean", "median", "range", "max", "min")
CASES = [("test", "test_", model) for model in ("grnn", "transformer-xl")]
CASES += [("test-unk", "", model) for model in ("grnn", "transformer-xl")]


def hash_scored(text: str) -> Scored:
    """Surprisals that depend on nothing but the text up to the end of each word."""
    places = [match.span() for match in re.finditer(r"\S+", text)]
    digests = [hashlib.blake2b(text[:end].encode(), digest_size=2).digest() for _, end in places]
    logprobs = tuple(-int.from_bytes(digest, "big") / 4096 for digest in digests)
    return Scored(text, tuple(s for s, _ in places), tuple(e for _, e in places), logprobs)


def data(relative: str) -> Path:
    return reference(f"syntaxgym/{relative}")


def suite_names() -> list[str]:
    names = sorted(path.name for path in data("suites").glob("*.json"))
    assert len(names) == 34
    return names


def published(folder: str, prefix: str, model: str) -> FakeScorer:
    """A scorer with published token surprisals."""
    base = data(f"reference_cases/data/{folder}")
    surprisals: dict[int, list[tuple[str, float]]] = defaultdict(list)
    with (base / f"{prefix}surp_{model}.txt").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            surprisals[int(row["sentence_id"])].append((row["token"], float(row["surprisal"])))
    sentences = (base / f"{prefix}sentences.txt").read_text(encoding="utf-8").splitlines()

    def scored(text: str) -> Scored:
        tokens, bits = zip(*surprisals[sentences.index(text) + 1], strict=True)
        starts, ends = zip(*align(text, tokens), strict=True)
        return Scored(text, starts, ends, tuple(-b * LN2 for b in bits), tokens)

    return FakeScorer(scored, "published")


@pytest.mark.parametrize(("folder", "prefix", "model"), CASES)
def test_token_surprisals_give_the_published_region_values(folder: str, prefix: str, model: str) -> None:
    base = data(f"reference_cases/data/{folder}")
    suite = syntaxgym.read(base / f"{prefix}in.json", {"eos": "last_region", "metric": "all"})[0]
    rows = [row for row in suite.run(published(folder, prefix, model)) if isinstance(row, Outcome)]
    found = evaluated_json(
        Result(
            suite.name, suite.kind, model, "complete", Signature.read(""), 1, (), outcomes=tuple(rows), meta=suite.meta
        )
    )
    expected = json.loads((base / f"{prefix}out_{model}.json").read_text(encoding="utf-8"))
    compared = 0
    for item, published_item in zip(found["items"], expected["items"], strict=True):
        for condition, published_condition in zip(item["conditions"], published_item["conditions"], strict=True):
            for region, one in zip(condition["regions"], published_condition["regions"], strict=True):
                assert region["content"] == one["content"]
                for metric in METRICS:
                    assert abs(region["metric_value"][metric] - one["metric_value"][metric]) < 1e-9
                    compared += 1
    assert compared == 144


def test_the_unknown_word_of_the_published_sentences_is_named() -> None:
    suite = syntaxgym.read(data("reference_cases/data/test-unk/in.json"), {"eos": "last_region"})[0]
    rows = list(suite.run(published("test-unk", "", "grnn")))
    assert (
        Notice("1 word is unknown to the model; the first is 'WEIRDSCARYWORD' in item 1, condition what, region 6")
        in rows
    )


def test_the_published_verdicts_are_reproduced() -> None:
    with data("expected_results.tsv").open(encoding="utf-8", newline="") as lines:
        expected = list(csv.DictReader(lines, delimiter="\t"))
    assert len(expected) == 51
    for row in expected:
        path = data("reference_cases") / row["file"].removeprefix("syntaxgym-core/")
        index = row["prediction_id"]
        if "extracted" in row["file"]:
            evaluated = read_evaluated(_with_formula(path, row["formula"]), None, row["metric"])
            index = "0"
        else:
            gold = path.parent / ("test_in.json" if path.parent.name == "test" else "in.json")
            evaluated = read_evaluated(path, gold, row["metric"])
        verdicts = {
            (outcome.item, outcome.metric): outcome.value
            for outcome in evaluated.rows()
            if isinstance(outcome, Outcome)
        }
        assert evaluated.suite.name == row["suite"]
        assert verdicts[row["item_number"], f"prediction_{index}"] is (row["result"] == "True"), row


@pytest.fixture(autouse=True)
def _scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _with_formula(path: Path, formula: str) -> Path:
    document = json.loads(path.read_text(encoding="utf-8"))
    document["predictions"] = [formula]
    made = Path("with_formula.json")
    made.write_text(json.dumps(document), encoding="utf-8")
    return made


def test_an_evaluated_suite_makes_the_published_table() -> None:
    evaluated = read_evaluated(data("reference_cases/extracted/dummy_suite_evaluated.json"))
    outcomes = tuple(row for row in evaluated.rows() if isinstance(row, Outcome))
    columns, rows = surprisals_of_syntaxgym(
        [Result("s", "syntaxgym", "m", "complete", Signature.read(""), 1, (), outcomes=outcomes)]
    )
    cells = [["" if cell is None else str(cell) for cell in row[1:]] for row in (columns, *rows)]
    with data("reference_cases/extracted/dummy_suite_as_dataframe.csv").open(encoding="utf-8", newline="") as lines:
        assert cells == list(csv.reader(lines))


def _rows(suite: SyntaxGymSuite) -> list[SuiteOutput]:
    return list(suite.run(FakeScorer(hash_scored, "hashed")))


def test_both_editions_of_every_suite_mean_the_same() -> None:
    holds = []
    for name in suite_names():
        round_brackets = syntaxgym.read(data("suites") / name, {})[0]
        square_brackets = syntaxgym.read(data("suites_square_brackets") / name, {})[0]
        assert [p.formula.canonical() for p in round_brackets.predictions] == [
            p.formula.canonical() for p in square_brackets.predictions
        ]
        assert round_brackets.checksum == square_brackets.checksum
        here, there = _rows(round_brackets), _rows(square_brackets)
        outcomes = [row for row in here if isinstance(row, Outcome)]
        assert outcomes == [row for row in there if isinstance(row, Outcome)]
        holds += [row.value for row in outcomes if row.metric == "all_predictions"]
    assert set(holds) == {True, False}  # the made-up surprisals decide both ways: equal results are not an accident


def test_every_suite_is_as_the_inventory_says() -> None:
    with data("suite_inventory.tsv").open(encoding="utf-8", newline="") as lines:
        inventory = list(csv.DictReader(lines, delimiter="\t"))
    assert sum(int(row["predictions"]) for row in inventory) == 36
    for row in inventory:
        suite = syntaxgym.read(data("suites_square_brackets") / f"{row['suite']}.json", {})[0]
        regions = [region for item in suite.items for c in item.conditions for region in c.regions]
        assert (suite.name, len(suite), len(suite.regions)) == (row["suite"], int(row["items"]), int(row["regions"]))
        assert len(suite.predictions) == int(row["predictions"])
        assert len([r for r in regions if not r.text]) == int(row["empty_regions"])
        stray = len([r for r in regions if r.content != r.text])
        assert stray == int(row["regions_with_lead_or_trail_space"])
        spoken = [problem.message for problem in lint(suite) if "spaces around" in problem.message]
        assert len(spoken) == (1 if stray else 0)


def test_the_circuits_are_those_of_the_paper() -> None:
    circuits: dict[str | None, int] = defaultdict(int)
    for name in suite_names():
        circuits[syntaxgym.read(data("suites") / name, {})[0].circuit] += 1
    assert circuits == {
        "Agreement": 3,
        "Center Embedding": 2,
        "Garden-Path Effects": 6,
        "Gross Syntactic State": 4,
        "Licensing": 10,
        "Long-Distance Dependencies": 8,
        None: 1,  # nn-nv-rpl, which the paper leaves out
    }


@pytest.mark.parametrize("name", ["mvrr", "mvrr_mod"])
def test_the_item_with_the_same_sentence_twice_is_pointed_out_and_false(name: str) -> None:
    path = data(f"suites/{name}.json")
    message = "so prediction 1 is always false there"
    assert any(p.place == "item 5" and message in p.message for p in check_file(path, "syntaxgym"))
    rows = _rows(syntaxgym.read(path, {})[0])
    verdicts = {row.item: row.value for row in rows if isinstance(row, Outcome) and row.metric == "prediction_0"}
    assert verdicts["5"] is False
    assert any(isinstance(row, Notice) and row.text.startswith("item 5:") for row in rows)


def test_condition_order_does_not_matter() -> None:
    path = data("suites/number_prep.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert len({tuple(c["condition_name"] for c in item["conditions"]) for item in document["items"]}) > 1
    for item in document["items"]:
        item["conditions"].sort(key=lambda condition: str(condition["condition_name"]))
    Path("sorted.json").write_text(json.dumps(document), encoding="utf-8")

    def verdicts(file: Path) -> dict[tuple[str, str], Any]:
        rows = _rows(syntaxgym.read(file, {})[0])
        return {(row.item, row.metric): row.value for row in rows if isinstance(row, Outcome)}

    assert verdicts(path) == verdicts(Path("sorted.json"))


@pytest.mark.parametrize("name", ["npz_obj", "number_prep", "fgd_subject"])
def test_the_csv_form_has_the_sentences_of_the_json_form(name: str) -> None:
    table = syntaxgym.read(data(f"suites_csv/{name}.csv"), {})[0]
    suite = syntaxgym.read(data(f"suites_square_brackets/{name}.json"), {})[0]
    assert table.name == suite.name
    assert table.regions == suite.regions
    assert {request.text for request in table.requests()} == {request.text for request in suite.requests()}


def test_every_suite_comes_back_from_json_and_csv() -> None:
    for name in suite_names():
        path = data("suites_square_brackets") / name
        suite = syntaxgym.read(path, {})[0]
        assert to_json(suite) == json.loads(path.read_text(encoding="utf-8"))
        syntaxgym.convert(path, Path(name).with_suffix(".csv"), {})
        table = syntaxgym.read(Path(name).with_suffix(".csv"), {})[0]
        assert (table.items, table.regions, table.name) == (suite.items, suite.regions, suite.name)


def test_real_suites_satisfy_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    paths = [data(folder) / name for folder in ("suites", "suites_square_brackets") for name in suite_names()]
    paths += [data("reference_cases/docs/sample_suite.json"), data("reference_cases/data/test/test_in.json")]
    paths += [data("reference_cases/data/test-unk/in.json")]
    paths += [data("reference_cases/extracted/dummy_suite_evaluated.json")]
    for path in paths:
        validator.validate(json.loads(path.read_text(encoding="utf-8")))


def test_the_example_of_the_document_is_a_suite() -> None:
    text = reference("../seeds/syntaxgym_suite_json.rst").read_text(encoding="utf-8")
    document: dict[str, Any] = {}
    for block in re.findall(r"^\.\. code-block:: json\n(?:    :.*\n)*((?:    .*\n|\n)+)", text, flags=re.MULTILINE):
        for key, value in json.loads(block).items():
            document.setdefault(key, value)
    jsonschema.validate(document, SCHEMA)
    Path("example.json").write_text(json.dumps(document), encoding="utf-8")
    suite = syntaxgym.read(Path("example.json"), {})[0]
    assert {metric.name: metric.meaning for metric in suite.metrics}["prediction_0"] == (
        "region 2 (verb) is more surprising in number_mismatch than in number_match"
    )
    assert [request.text for request in suite.requests()] == ["The boy swims today.", "The boy swim today."]
