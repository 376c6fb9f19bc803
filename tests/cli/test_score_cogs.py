"""`wug score cogs` on small files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from command_line import refused, wug

SLEEP = "* boy ( x _ 1 ) ; sleep . agent ( x _ 2 , x _ 1 )"
RUN = "* girl ( x _ 1 ) ; run . agent ( x _ 2 , x _ 1 )"
GOLD = f"The boy slept .\t{SLEEP}\tactive_to_passive\nThe girl ran .\t{RUN}\tcp_recursion\n"
RENAMED = GOLD.replace("x _ 2", "x _ 7")


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return written(tmp_path, "gold.tsv", GOLD)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_flags_of_the_source_document_are_taken(gold: Path) -> None:
    (values,) = wug("score", "cogs", "--gold", gold, "--system", gold, "--format", "json").values
    assert (values["exact_match", "all"], values["edit_distance", "all"]) == (1.0, 0.0)


def test_predictions_are_judged_by_type_and_kind(gold: Path, tmp_path: Path) -> None:
    system = written(tmp_path, "system.txt", f"{SLEEP}\n* girl (\n")
    (values,) = wug("score", "cogs", "--gold", gold, "--predictions", system, "--format", "json").values
    assert values["exact_match", "type=active_to_passive"] == 1.0
    assert values["exact_match", "kind=structural"] == 0.0
    assert values["well_formed", "all"] == 0.5


def test_what_is_kept_and_what_is_not_have_the_same_values(gold: Path, tmp_path: Path) -> None:
    system = written(tmp_path, "system.tsv", RENAMED)
    arguments = ("score", "cogs", "--gold", gold, "--predictions", system, "--smatch", "--format", "json")
    kept, not_kept = wug(*arguments), wug(*arguments, "--no-save")
    assert kept.values == not_kept.values
    assert kept.results[0]["signature"] == not_kept.results[0]["signature"]
    assert kept.values[0]["semantic_match", "all"] == 1.0
    assert wug("show", 1, "--format", "json").values == kept.values
    assert "smatch_f1" in wug("export", 1, "--to", "csv").out


def test_several_systems_give_each_and_their_mean(gold: Path, tmp_path: Path) -> None:
    systems = [gold, written(tmp_path, "seed_1.tsv", RENAMED)]
    said = wug("score", "cogs", "--gold", gold, "--predictions", *systems, "--format", "json")
    assert [values["exact_match", "all"] for values in said.values] == [1.0, 0.0, 0.5]
    mean = next(e for e in said.results[2]["estimates"] if (e["metric"], e["group"]) == ("exact_match", "all"))
    assert (mean["n"], mean["method"]) == (2, "sd of shares")
    assert mean["high"] - mean["value"] == pytest.approx(0.5**0.5)  # of a sample: n - 1


def test_as_the_reference_there_is_no_semantic_match(gold: Path) -> None:
    said = wug("score", "cogs", "--gold", gold, "--system", gold, "--reference-compat", "--format", "json")
    assert ("semantic_match", "all") not in said.values[0]
    assert "reference_compat:yes" in said.results[0]["signature"]


def test_lines_are_written_as_a_table_or_as_json(gold: Path, tmp_path: Path) -> None:
    system = written(tmp_path, "system.tsv", RENAMED)
    tsv, jsonl = tmp_path / "lines.tsv", tmp_path / "lines.jsonl"
    for path in (tsv, jsonl):
        said = wug("score", "cogs", "--gold", gold, "--system", system, "--per-line", path)
        assert f"wrote {path}" in said.err
    rows = [line.split("\t") for line in tsv.read_text(encoding="utf-8").splitlines()]
    lines = [json.loads(line) for line in jsonl.read_text(encoding="utf-8").splitlines()]
    assert [row[rows[0].index("semantic_match")] for row in rows[1:]] == ["1", "1"]
    assert [line["errors"] for line in lines] == [["index"], ["index"]]


def test_what_is_judged_is_not_written_over(gold: Path) -> None:
    refused(wug("score", "cogs", "--gold", gold, "--system", gold, "--per-line", gold), "another name")
    assert gold.read_text(encoding="utf-8") == GOLD


def test_a_person_sees_the_headlines_and_where_the_rest_is(gold: Path) -> None:
    out = wug("score", "cogs", "--gold", gold, "--system", gold).out
    assert "terms f1" in out
    assert "terms f1 macro" not in out
    assert "type=cp_recursion" in out
    assert "more metrics and groups: --format csv" in out


def test_gzipped_files_are_read(gold: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "gold.tsv.gz"
    zipped.write_bytes(gzip.compress(GOLD.encode()))
    (values,) = wug("score", "cogs", "--gold", zipped, "--system", zipped, "--format", "json").values
    assert values["exact_match", "all"] == 1.0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "the file is empty"),
        (f"{SLEEP}\n", "1 prediction for 2 sources"),
        (GOLD.split("\n")[0] + "\n", "no prediction for source 2: The girl ran ."),
        (GOLD + GOLD.split("\n")[0] + "\n", "a repeated source"),
        (GOLD.replace("The girl", "A girl"), "a source that is not in"),
        (f'"{SLEEP}"\n"{RUN}"\n', "starts with a quote character"),
        ("a\0b\n", "NUL byte"),
    ],
)
def test_predictions_that_do_not_fit_are_refused(gold: Path, tmp_path: Path, text: str, part: str) -> None:
    said = wug("score", "cogs", "--gold", gold, "--system", written(tmp_path, "system.tsv", text))
    refused(said, "system.tsv", part)
    assert said.code == 1


def test_binary_and_missing_files_are_refused(gold: Path, tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    refused(wug("score", "cogs", "--gold", gold, "--system", binary), "contains a NUL byte")
    refused(wug("score", "cogs", "--gold", tmp_path / "none.tsv", "--system", gold), "no such file")
