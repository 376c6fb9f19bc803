"""The command line as a user meets it: results, formats, errors, exit codes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from reference import reference
from wug.evaluation.opening import builtin_suites

Maker = Callable[..., Path]
AGREEMENT = builtin_suites()["wug_agreement_pp"]


class Wug:
    """Runs the command in this process, as the entry point does."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.code, self.out, self.err = 0, "", ""

    def __call__(self, *arguments: object) -> str:
        from wug.cli.main import main

        self._monkeypatch.setattr(sys, "argv", ["wug", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            main()
        self.code = exit_info.value.code if isinstance(exit_info.value.code, int) else 1
        captured = self._capsys.readouterr()
        self.out, self.err = captured.out, captured.err
        assert "Traceback" not in self.out + self.err
        return self.out

    def json(self, *arguments: object) -> Any:
        return json.loads(self(*arguments, "--format", "json"))


@pytest.fixture
def wug(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Wug:
    return Wug(capsys, monkeypatch)


@pytest.fixture
def model(tiny_causal: Maker) -> str:
    return f"causal:{tiny_causal()}"


def suite(tmp_path: Path, **changes: object) -> Path:
    """A file with the built-in agreement suite, some of it changed."""
    document = json.loads(AGREEMENT.read_text(encoding="utf-8")) | changes
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_help_lists_every_command_with_an_example(wug: Wug) -> None:
    shown = wug("--help")
    commands = ["check", "convert", "demo", "export", "list", "make", "report", "run", "schema", "score", "show"]
    assert wug.code == 0
    for name in commands:
        assert f"  {name} " in shown
        assert f"wug {name}" in wug(name, "--help")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from wug.cli.main import cli\n"
        "try: cli.main(['--help'], standalone_mode=False)\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'scipy', 'altair', 'numpy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_prints_what_each_prediction_means_and_its_signature(wug: Wug, model: str) -> None:
    shown = wug("run", "wug_agreement_pp", "--model", model)
    assert "24 items" in shown
    assert "region 4 (verb) is less surprising in sing_match than in sing_mismatch" in shown
    assert "wug:0.2.0|suite:wug_agreement_pp@" in shown
    assert "run 1 saved" in wug.err


def test_json_has_one_shape(wug: Wug, model: str) -> None:
    (result,) = wug.json("run", "wug_agreement_pp", "--model", model, "-M", "bos=yes")
    assert list(result) == ["suite", "kind", "model", "status", "signature", "n", "estimates", "warnings"]
    first = result["estimates"][0]
    assert list(first) == ["metric", "group", "value", "n", "low", "high", "method"]
    assert (first["metric"], first["group"], first["n"], first["method"]) == ("prediction_0", "all", 24, "wilson")
    assert wug.err.strip() == f"loading {model}?bos=yes"


def test_tsv_is_the_table_of_syntaxgym(wug: Wug, model: str) -> None:
    lines = wug("run", "wug_agreement_pp", "--model", model, "--format", "tsv").splitlines()
    assert lines[0] == "suite\tprediction_id\titem_number\tresult"
    assert len(lines) == 1 + 2 * 24
    assert lines[1].split("\t")[:3] == ["wug_agreement_pp", "0", "1"]


@pytest.mark.parametrize("form", ["csv", "md", "markdown", "latex"])
def test_other_formats_carry_the_signature(wug: Wug, model: str, form: str) -> None:
    assert "wug:0.2.0|suite:wug_reflexive@" in wug("run", "wug_reflexive", "--model", model, "--format", form)
    assert wug.code == 0


def test_two_suites_and_two_models_give_four_results(wug: Wug, tiny_causal: Maker) -> None:
    models = [f"causal:{tiny_causal()}", f"causal:{tiny_causal('llama')}"]
    found = wug.json("run", "wug_agreement_pp", "wug_reflexive", "--model", models[0], "--model", models[1])
    assert [result["suite"] for result in found] == ["wug_agreement_pp", "wug_reflexive"] * 2
    assert len({result["model"] for result in found}) == 2
    runs = json.loads(wug("list", "runs", "--format", "json"))
    assert [run["specification"] for run in reversed(runs)] == models


def test_without_a_model_the_built_in_ones_that_fit_are_asked(wug: Wug) -> None:
    found = wug.json("run", "wug_reflexive", "task_accuracy", "--limit", 4)
    assert [result["model"].split("@")[0] for result in found] == ["causal/wug-causal", "seq2seq/wug-pcfg"]
    assert "no --model given: using the built-in wug-causal and wug-pcfg" in wug.err


def test_limit_takes_some_items_and_says_so(wug: Wug, model: str) -> None:
    (result,) = wug.json("run", "wug_agreement_pp", "--model", model, "--limit", 3)
    assert result["n"] == 3
    assert "limit:3" in result["signature"]


def test_suites_are_chosen_by_tag(wug: Wug, model: str) -> None:
    found = wug.json("run", "wug_syntaxgym", "--model", model, "--tag", "licensing", "--limit", 2)
    assert [result["suite"] for result in found] == ["wug_npi_licensing", "wug_reflexive"]
    wug("run", "wug_syntaxgym", "--model", model, "--tag", "none-such")
    assert wug.code == 1
    assert "Tags:" in wug.err


def test_the_words_of_pairs_are_printed_and_failing_pairs_are_shown(wug: Wug, model: str, tmp_path: Path) -> None:
    pair = {"sentence_good": "The wug swims", "sentence_bad": "The wug swims", "UID": "same", "pairID": "0"}
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(pair) + "\n", encoding="utf-8")
    printed = wug("run", path, "--model", model, "--print-word-probs").splitlines()
    words = [[part.split(" ")[0] for part in line[9:].split("  ")] for line in printed if line.startswith("same/0 ")]
    assert words == [["The", "wug", "swims"]] * 2
    assert [line[7] for line in printed if line.startswith("same/0 ")] == [" ", "*"]
    assert "pairs  pair same/0  accuracy  identical sentences" in wug("show", 1, "--failing")


def test_a_saved_run_is_shown_exported_and_reported(wug: Wug, model: str, tmp_path: Path) -> None:
    first = wug.json("run", "wug_agreement_pp", "--model", model)
    assert wug.json("show", 1) == first
    assert "item" in wug("show", 1, "--failing")
    rows = list(csv.DictReader(io.StringIO(wug("export", 1, "--to", "csv"))))
    assert len(rows) == 24 * 3
    assert {row["metric"] for row in rows} == {"prediction_0", "prediction_1", "all_predictions"}
    regions = list(csv.DictReader(io.StringIO(wug("export", 1, "--what", "surprisals", "--to", "tsv")), delimiter="\t"))
    assert float(regions[0]["metric_value"]) > 0
    wug("report", 1, "-o", tmp_path / "page.html")
    assert "wug_agreement_pp" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_evaluated_suite_is_judged_again_to_the_same_result(wug: Wug, model: str, tmp_path: Path) -> None:
    (first,) = wug.json("run", "wug_agreement_pp", "--model", model)
    wug("export", 1, "--what", "suite", "-o", tmp_path / "evaluated.json")
    (again,) = wug.json("score", "syntaxgym", "--predictions", tmp_path / "evaluated.json")
    assert again["estimates"] == first["estimates"]


def test_parquet_goes_to_a_file(wug: Wug, model: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    wug("run", "wug_reflexive", "--model", model, "--limit", 2)
    wug("export", 1, "--to", "parquet", "-o", tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 6
    wug("export", 1, "--to", "parquet")
    assert (wug.code, "name a file with -o" in wug.err) == (1, True)


def test_every_format_of_an_export_has_the_same_rows(wug: Wug, model: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    wug("run", "wug_reflexive", "--model", model, "--limit", 4)
    text = wug("export", 1, "--to", "json")
    records = json.loads(text)
    assert len(records) == 12
    assert [json.loads(line) for line in wug("export", 1, "--to", "jsonl").splitlines()] == records
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


def test_a_suite_goes_to_a_table_and_back_with_its_predictions(wug: Wug, tmp_path: Path) -> None:
    wug("convert", AGREEMENT, tmp_path / "suite.csv")
    assert "cannot store" not in wug.err
    checked = wug("check", tmp_path / "suite.csv")
    assert "suite.csv: good (24 items)\n  read as a table with one row per region: " in checked
    wug("convert", tmp_path / "suite.csv", tmp_path / "back.json")
    assert json.loads((tmp_path / "back.json").read_text()) == json.loads(AGREEMENT.read_text())
    wug("convert", AGREEMENT, tmp_path / "suite.csv")
    assert (wug.code, "--force" in wug.err) == (1, True)


def test_the_schema_is_json(wug: Wug) -> None:
    assert json.loads(wug("schema", "syntaxgym"))["type"] == "object"
    wug("schema", "syntaxgim")
    assert "Did you mean 'syntaxgym'?" in wug.err


def test_check_explains_every_fault_at_once(wug: Wug, tmp_path: Path) -> None:
    document = json.loads(AGREEMENT.read_text(encoding="utf-8"))
    document["predictions"] = ["(4;%sing_mach%) < 3", "[(4;%sing_match%) < 3"]
    document["items"][1]["item_number"] = 1
    document["items"][2]["conditions"][0]["regions"].pop()
    shown = wug("check", suite(tmp_path, **document))
    assert wug.code == 1
    for fault in ("unknown condition 'sing_mach'", "Did you mean 'sing_match'", "never closed", "another item has"):
        assert fault in shown
    assert "item 3" in shown
    assert "^" in shown


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
def test_a_bad_file_gives_one_clear_message(wug: Wug, model: str, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    wug("run", path, "--model", model)
    assert wug.code == 1
    assert message in wug.err
    assert "bad.json" in wug.err


def test_one_very_long_line_is_no_problem(wug: Wug, tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text('{"items": ["' + "x" * 50_000_000 + '"]}', encoding="utf-8")
    wug("check", path)
    assert wug.code == 1
    assert len(wug.out) < 2_000


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
def test_a_mistake_is_explained(wug: Wug, arguments: Sequence[str], code: int, message: str) -> None:
    wug(*arguments)
    assert (wug.code, message in wug.err) == (code, True), wug.err


def test_names_with_markup_are_harmless(wug: Wug, model: str, tmp_path: Path) -> None:
    document = json.loads(AGREEMENT.read_text(encoding="utf-8"))
    document["meta"]["name"] = "<script>alert(1)</script>[bold]"
    document["meta"]["description"] = "</script><script>alert(2)</script>"
    shown = wug("run", suite(tmp_path, **document), "--model", model, "--limit", 2)
    assert "<script>alert(1)</script>[bold]" in shown
    wug("report", 1, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page


def test_both_editions_of_the_published_suites_give_the_same_results(wug: Wug, model: str) -> None:
    round_brackets = wug.json("run", reference("syntaxgym/suites"), "--model", model, "--limit", 6)
    square_brackets = wug.json("run", reference("syntaxgym/suites_square_brackets"), "--model", model, "--limit", 6)
    assert len(round_brackets) == 34
    for one, other in zip(round_brackets, square_brackets, strict=True):
        assert (one["suite"], one["estimates"], one["status"]) == (other["suite"], other["estimates"], "complete")


def test_published_surprisals_are_replayed(wug: Wug) -> None:
    folder = reference("syntaxgym/reference_cases/data/test")
    (replayed,) = wug.json(
        "run", folder / "test_in.json", "--model", f"replay:{folder / 'test_surp_grnn.txt'}", "-S", "eos=last_region"
    )
    (scored,) = wug.json(
        "score", "syntaxgym", "--predictions", folder / "test_out_grnn.json", "--gold", folder / "test_in.json"
    )
    whole = [
        [e for e in result["estimates"] if e["group"] == "all" and "predict" in e["metric"]]
        for result in (replayed, scored)
    ]
    assert whole[0] == whole[1]
    assert len(whole[0]) == 2 * 6  # one prediction and all of them, by six metrics


def test_a_question_that_a_replayed_file_lacks_is_quoted(wug: Wug, tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"text": "a b", "tokens": ["a", "b"], "logprobs": [-1, -2]}\n', encoding="utf-8")
    wug("run", "wug_reflexive", "--model", f"replay:{path}")
    assert wug.code == 1
    assert "has no answer to '" in wug.err


def test_completion_scripts_are_printed(wug: Wug) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_WUG_COMPLETE" in wug("completion", shell)


def test_a_failed_suite_does_not_take_the_others_along(wug: Wug, model: str, tmp_path: Path) -> None:
    broken = suite(tmp_path, predictions=["(4;%sing_match%) / ((4;%sing_match%) - (4;%sing_match%)) > 0"])
    found = wug.json("run", broken, "wug_reflexive", "--model", model)
    assert [result["status"] for result in found] == ["failed", "complete"]
    assert "item 1" in found[0]["warnings"][-1]
    assert wug.code == 1
