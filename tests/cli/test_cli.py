"""The command line as a user meets it: results, formats, errors, exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from command_line import refused, results, run_python, wug
from reference import reference
from wug.evaluation.suites import builtin_suites

Maker = Callable[..., Path]
AGREEMENT = builtin_suites()["wug_agreement_pp"]


@pytest.fixture
def model(tiny_causal: Maker) -> str:
    return f"causal:{tiny_causal()}"


def suite(tmp_path: Path, **changes: object) -> Path:
    """A file with the built-in agreement suite, some of it changed."""
    document = json.loads(AGREEMENT.read_text(encoding="utf-8")) | changes
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_help_lists_every_command_with_an_example() -> None:
    output = wug("--help")
    commands = ["check", "convert", "demo", "export", "list", "make", "report", "run", "schema", "score", "show"]
    assert output.code == 0
    for name in commands:
        assert f"  {name} " in output.out
        assert f"wug {name}" in wug(name, "--help").out


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from wug.cli.main import cli\n"
        "try: cli.main(['--help'], standalone_mode=False)\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'scipy', 'altair', 'numpy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    output = run_python("-c", code)
    assert output.code == 0, output.err


def test_a_run_prints_what_each_prediction_means_and_its_signature(model: str) -> None:
    output = wug("run", "wug_agreement_pp", "--model", model)
    assert "24 items" in output.out
    assert "region 4 (verb) is less surprising in sing_match than in sing_mismatch" in output.out
    assert "wug:0.3.0.dev0|suite:wug_agreement_pp@" in output.out
    assert "run 1 saved" in output.err


def test_json_has_one_shape(model: str) -> None:
    output = wug("run", "wug_agreement_pp", "--model", model, "-M", "bos=yes", "--format", "json")
    (result,) = output.results
    assert list(result) == ["suite", "kind", "model", "status", "signature", "n", "estimates", "warnings"]
    first = result["estimates"][0]
    assert list(first) == ["metric", "group", "value", "n", "low", "high", "method"]
    assert (first["metric"], first["group"], first["n"], first["method"]) == ("prediction_0", "all", 24, "wilson")
    assert output.err.strip() == f"loading {model}?bos=yes"


def test_tsv_is_the_table_of_syntaxgym(model: str) -> None:
    lines = wug("run", "wug_agreement_pp", "--model", model, "--format", "tsv").out.splitlines()
    assert lines[0] == "suite\tprediction_id\titem_number\tresult"
    assert len(lines) == 1 + 2 * 24
    assert lines[1].split("\t")[:3] == ["wug_agreement_pp", "0", "1"]


@pytest.mark.parametrize("form", ["csv", "md", "markdown", "latex"])
def test_other_formats_carry_the_signature(model: str, form: str) -> None:
    output = wug("run", "wug_reflexive", "--model", model, "--format", form)
    assert output.code == 0
    assert "wug:0.3.0.dev0|suite:wug_reflexive@" in output.out


def test_two_suites_and_two_models_give_four_results(tiny_causal: Maker) -> None:
    models = [f"causal:{tiny_causal()}", f"causal:{tiny_causal('llama')}"]
    found = results("run", "wug_agreement_pp", "wug_reflexive", "--model", models[0], "--model", models[1])
    assert [result["suite"] for result in found] == ["wug_agreement_pp", "wug_reflexive"] * 2
    assert len({result["model"] for result in found}) == 2
    runs = results("list", "runs")
    assert [run["specification"] for run in reversed(runs)] == models


def test_without_a_model_the_built_in_ones_that_fit_are_asked() -> None:
    output = wug("run", "wug_reflexive", "task_accuracy", "--limit", 4, "--format", "json")
    models = [result["model"].split("@")[0] for result in output.results]
    assert models == ["causal/wug-causal", "seq2seq/wug-pcfg"]
    assert "no --model given: using the built-in wug-causal and wug-pcfg" in output.err


def test_limit_takes_some_items_and_says_so(model: str) -> None:
    (result,) = results("run", "wug_agreement_pp", "--model", model, "--limit", 3)
    assert result["n"] == 3
    assert "limit:3" in result["signature"]


def test_suites_are_chosen_by_tag(model: str) -> None:
    found = results("run", "wug_syntaxgym", "--model", model, "--tag", "licensing", "--limit", 2)
    assert [result["suite"] for result in found] == ["wug_npi_licensing", "wug_reflexive"]
    refused(wug("run", "wug_syntaxgym", "--model", model, "--tag", "none-such"), "Tags:")


def test_the_words_of_pairs_are_printed_and_failing_pairs_are_shown(model: str, tmp_path: Path) -> None:
    pair = {"sentence_good": "The wug swims", "sentence_bad": "The wug swims", "UID": "same", "pairID": "0"}
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(pair) + "\n", encoding="utf-8")
    printed = wug("run", path, "--model", model, "--print-word-probs").out.splitlines()
    words = [[part.split(" ")[0] for part in line[9:].split("  ")] for line in printed if line.startswith("same/0 ")]
    assert words == [["The", "wug", "swims"]] * 2
    assert [line[7] for line in printed if line.startswith("same/0 ")] == [" ", "*"]
    assert "pairs  pair same/0  accuracy  identical sentences" in wug("show", 1, "--failing").out


def test_a_saved_run_is_shown_exported_and_reported(model: str, tmp_path: Path) -> None:
    first = results("run", "wug_agreement_pp", "--model", model)
    assert results("show", 1) == first
    assert "item" in wug("show", 1, "--failing").out
    rows = list(csv.DictReader(io.StringIO(wug("export", 1, "--to", "csv").out)))
    assert len(rows) == 24 * 3
    assert {row["metric"] for row in rows} == {"prediction_0", "prediction_1", "all_predictions"}
    table = wug("export", 1, "--what", "surprisals", "--to", "tsv").out
    regions = list(csv.DictReader(io.StringIO(table), delimiter="\t"))
    assert float(regions[0]["metric_value"]) > 0
    wug("report", 1, "-o", tmp_path / "page.html")
    assert "wug_agreement_pp" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_evaluated_suite_is_judged_again_to_the_same_result(model: str, tmp_path: Path) -> None:
    (first,) = results("run", "wug_agreement_pp", "--model", model)
    wug("export", 1, "--what", "suite", "-o", tmp_path / "evaluated.json")
    (again,) = results("score", "syntaxgym", "--predictions", tmp_path / "evaluated.json")
    assert again["estimates"] == first["estimates"]


def test_parquet_goes_to_a_file(model: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    wug("run", "wug_reflexive", "--model", model, "--limit", 2)
    wug("export", 1, "--to", "parquet", "-o", tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 6
    refused(wug("export", 1, "--to", "parquet"), "name a file with -o")


def test_every_format_of_an_export_has_the_same_rows(model: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    wug("run", "wug_reflexive", "--model", model, "--limit", 4)
    records = wug("export", 1, "--to", "json").results
    assert len(records) == 12
    assert [json.loads(line) for line in wug("export", 1, "--to", "jsonl").out.splitlines()] == records
    wug("export", 1, "-o", tmp_path / "rows.parquet")
    table = [
        {**row, "detail": json.loads(row["detail"])} for row in pq.read_table(tmp_path / "rows.parquet").to_pylist()
    ]
    assert table == records
    wug("export", 1, "--raw", "-o", tmp_path / "rows.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text(encoding="utf-8"), newline="")))
    for row, record in zip(rows, records, strict=True):
        assert json.loads(row.pop("detail")) == record.pop("detail")
        assert row == {key: "" if value is None else str(value) for key, value in record.items()}


def test_a_suite_goes_to_a_table_and_back_with_its_predictions(tmp_path: Path) -> None:
    assert "cannot store" not in wug("convert", AGREEMENT, tmp_path / "suite.csv").err
    checked = wug("check", tmp_path / "suite.csv").out
    assert "suite.csv: good (24 items)\n  read as a table with one row per region: " in checked
    wug("convert", tmp_path / "suite.csv", tmp_path / "back.json")
    assert json.loads((tmp_path / "back.json").read_text()) == json.loads(AGREEMENT.read_text())
    refused(wug("convert", AGREEMENT, tmp_path / "suite.csv"), "--force")


def test_the_schema_is_json() -> None:
    assert json.loads(wug("schema", "syntaxgym").out)["type"] == "object"
    refused(wug("schema", "syntaxgim"), "Did you mean 'syntaxgym'?")


def test_check_explains_every_fault_at_once(tmp_path: Path) -> None:
    document = json.loads(AGREEMENT.read_text(encoding="utf-8"))
    document["predictions"] = ["(4;%sing_mach%) < 3", "[(4;%sing_match%) < 3"]
    document["items"][1]["item_number"] = 1
    document["items"][2]["conditions"][0]["regions"].pop()
    output = wug("check", suite(tmp_path, **document))
    assert output.code == 1
    for fault in ("unknown condition 'sing_mach'", "Did you mean 'sing_match'", "never closed", "another item has"):
        assert fault in output.out
    assert "item 3" in output.out
    assert "^" in output.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b'{"meta": {', "line 1, column"),
        (b"[]", "not a SyntaxGym suite"),
        (b'{"sentence_good": "a"}', "not a SyntaxGym suite"),
        (b"\xff\xfe\x00broken", "not UTF-8"),
        (b"[" * 100_000, "nested"),
    ],
)
def test_a_bad_file_gives_one_clear_message(model: str, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    refused(wug("run", path, "--model", model), message, "bad.json")


def test_one_very_long_line_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text('{"items": ["' + "x" * 50_000_000 + '"]}', encoding="utf-8")
    output = wug("check", path)
    assert output.code == 1
    assert len(output.out) < 2_000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["run", "nowhere.json", "--model", "causal:x"], 1, "no such file"),
        (["run", "wug_agrement_pp", "--model", "causal:x"], 1, "Did you mean 'wug_agreement_pp'?"),
        (["run", "wug_reflexive", "--model", "causl:x"], 1, "Did you mean 'causal'?"),
        (["run", "wug_reflexive", "--model", "gpt2"], 1, "causal:gpt2"),
        (["run", "wug_reflexive", "--model", "oracle:pcfgset"], 1, "can only generate"),
        (["run", "wug_reflexive", "--model", "causal:x", "-S", "jion=space"], 1, "Did you mean 'join'?"),
        (["run", "wug_reflexive", "--model", "causal:x", "-M", "dtype"], 2, "not key=value"),
        (["run", "wug_reflexive", "--model", "wug-casual"], 1, "Did you mean 'wug-causal'?"),
        (["rnu"], 2, "Did you mean 'run'?"),
        (["show", "7"], 1, "there is none yet"),
        (["score", "syntaxgim"], 2, "Did you mean 'syntaxgym'?"),
    ],
)  # fmt: skip
def test_a_mistake_is_explained(arguments: Sequence[str], code: int, message: str) -> None:
    output = wug(*arguments)
    refused(output, message)
    assert output.code == code


def test_names_with_markup_are_harmless(model: str, tmp_path: Path) -> None:
    document = json.loads(AGREEMENT.read_text(encoding="utf-8"))
    document["meta"]["name"] = "<script>alert(1)</script>[bold]"
    document["meta"]["description"] = "</script><script>alert(2)</script>"
    shown = wug("run", suite(tmp_path, **document), "--model", model, "--limit", 2).out
    assert "<script>alert(1)</script>[bold]" in shown
    wug("report", 1, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page


def test_both_editions_of_the_published_suites_give_the_same_results(model: str) -> None:
    round_brackets = results("run", reference("syntaxgym/suites"), "--model", model, "--limit", 6)
    square_brackets = results("run", reference("syntaxgym/suites_square_brackets"), "--model", model, "--limit", 6)
    assert len(round_brackets) == 34
    for one, other in zip(round_brackets, square_brackets, strict=True):
        assert (one["suite"], one["estimates"], one["status"]) == (other["suite"], other["estimates"], "complete")


def test_published_surprisals_are_replayed() -> None:
    folder = reference("syntaxgym/reference_cases/data/test")
    (replayed,) = wug(
        "run",
        folder / "test_in.json",
        "--model",
        f"replay:{folder / 'test_surp_grnn.txt'}",
        "-S",
        "eos=last_region",
        "--format",
        "json",
    ).results
    (scored,) = wug(
        "score",
        "syntaxgym",
        "--predictions",
        folder / "test_out_grnn.json",
        "--gold",
        folder / "test_in.json",
        "--format",
        "json",
    ).results
    whole = [
        [e for e in result["estimates"] if e["group"] == "all" and "predict" in e["metric"]]
        for result in (replayed, scored)
    ]
    assert whole[0] == whole[1]
    assert len(whole[0]) == 2 * 6  # one prediction and all of them, by six metrics


def test_a_question_that_a_replayed_file_lacks_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"text": "a b", "tokens": ["a", "b"], "logprobs": [-1, -2]}\n', encoding="utf-8")
    output = wug("run", "wug_reflexive", "--model", f"replay:{path}")
    assert output.code == 1
    assert "has no answer to '" in output.err


def test_completion_scripts_are_printed() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_WUG_COMPLETE" in wug("completion", shell).out


def test_a_failed_suite_does_not_take_the_others_along(model: str, tmp_path: Path) -> None:
    broken = suite(tmp_path, predictions=["(4;%sing_match%) / ((4;%sing_match%) - (4;%sing_match%)) > 0"])
    output = wug("run", broken, "wug_reflexive", "--model", model, "--format", "json")
    found = json.loads(output.out)
    assert [result["status"] for result in found] == ["failed", "complete"]
    assert "item 1" in found[0]["warnings"][-1]
    assert output.code == 1
