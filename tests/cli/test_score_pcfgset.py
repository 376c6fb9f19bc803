"""`wug score` on small files of the PCFG SET family."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import refused, wug

TABLE = "source\ttarget\tprediction\ncopy A1 B2\tA1 B2\tA1 B2\nreverse A1 B2\tB2 A1\t\n"
TWINS = "source\ttarget\tprediction\nrepeat A1 B2\tA1 B2 A1 B2\tA1\nrepeat C3\tC3 C3\tC3 C3\n"
SYNONYMS = TWINS.replace("repeat", "repeat_twin").replace("\tC3 C3\n", "\tC3\n")
TRACE = (
    "-----\ncopy A1 B2 -> A1 B2\nrepeat A1 B2 -> A1 B2 A1 B2\nrepeat copy A1 B2 -> A1 B2 A1 B2\nTrue\n"
    "-----\ncopy A1 B2 -> A1\nrepeat A1 -> A1 A1\nrepeat copy A1 B2 -> []\nFalse\n"
)
LOG = (
    "Epoch 1\nAdapted - Sequence Accuracy: 0.25\nOriginal - Sequence Accuracy 0.5\n"
    "Epoch 2\nAdapted - Sequence Accuracy: 0.75\nOriginal - Sequence Accuracy: 0.125\n"
)


def write(folder: Path, **texts: str) -> list[Path]:
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def gold(folder: Path) -> tuple[Path, Path]:
    source, target = folder / "small" / "test.src", folder / "small" / "test.tgt"
    source.parent.mkdir()
    source.write_text("copy A1 B2\nreverse A1 B2\n", encoding="utf-8")
    target.write_text("A1 B2\nB2 A1\n", encoding="utf-8")
    return source, target


def test_a_table_is_judged_by_its_own_targets(tmp_path: Path) -> None:
    (path,) = write(tmp_path, run=TABLE)
    said = wug("score", "pcfgset", "--predictions", path, "--format", "json")
    assert said.values[0]["accuracy", "all"] == 0.5
    assert said.values[0]["accuracy", "function=reverse"] == 0.0
    assert said.results[0]["suite"] == "pcfgset"
    assert said.results[0]["warnings"] == ["1 of 2 answers are empty"]


def test_plain_answers_are_judged_by_gold_files(tmp_path: Path) -> None:
    (path,) = write(tmp_path, answers="A1 B2\nB2\n")
    said = wug("score", "pcfgset", "--gold", *gold(tmp_path), "--predictions", path, "--format", "json")
    assert said.results[0]["suite"] == "small"
    assert said.values[0]["accuracy", "all"] == 0.5


def test_answers_are_signed_with_the_test_that_a_run_would_ask(tmp_path: Path) -> None:
    (path,) = write(tmp_path, answers="A1 B2\nB2 A1\n")
    source, target = gold(tmp_path)
    scored = wug("score", "pcfgset", "--gold", source, target, "--predictions", path, "--format", "json").results
    run = wug("run", source, "--model", "oracle:pcfgset", "--no-cache", "--format", "json").results
    ours, theirs = ([part for part in r["signature"].split("|") if part.startswith("suite:")] for (r,) in (scored, run))
    assert ours == theirs


def test_runs_of_one_test_are_averaged_and_other_tests_are_not(tmp_path: Path) -> None:
    paths = write(tmp_path, one=TABLE, two=TABLE.replace("\t\n", "\tB2 A1\n"), other=TABLE.replace("A1", "Z9"))
    said = wug("score", "pcfgset", "--predictions", *paths, "--format", "json")
    assert [values["accuracy", "all"] for values in said.values] == [0.5, 1.0, 0.5, 0.75]
    mean = said.results[3]["estimates"][0]
    assert (mean["low"], mean["high"], mean["method"]) == (0.5, 1.0, "population sd of shares")


def test_a_file_given_twice_counts_once(tmp_path: Path) -> None:
    (path,) = write(tmp_path, run=TABLE)
    assert len(wug("score", "pcfgset", "--predictions", path, path, "--format", "json").results) == 1


def test_one_gold_file_is_refused(tmp_path: Path) -> None:
    (path,) = write(tmp_path, answers="A1 B2\nB2\n")
    said = wug("score", "pcfgset", "--gold", gold(tmp_path)[0], "--predictions", path)
    refused(said, "takes two files")
    assert said.code == 2


def test_another_number_of_answers_is_refused(tmp_path: Path) -> None:
    (path,) = write(tmp_path, answers="A1 B2\n")
    said = wug("score", "pcfgset", "--gold", *gold(tmp_path), "--predictions", path)
    refused(said, "answers.txt, line 2: 1 prediction for 2 sources")


def test_sources_and_targets_in_the_wrong_order_are_refused_with_the_first_faults(tmp_path: Path) -> None:
    source, target = gold(tmp_path)
    source.write_text("copy A1 B2\n" * 50, encoding="utf-8")
    target.write_text("A1 B2\n" * 50, encoding="utf-8")
    said = wug("score", "pcfgset", "--gold", target, source, "--predictions", target)
    refused(said, "'copy' is not a symbol", "30 more")
    assert len(said.err.splitlines()) < 30


def test_twins_are_judged_row_by_row(tmp_path: Path) -> None:
    run, synonym = write(tmp_path, run=TWINS, synonym=SYNONYMS)
    said = wug("score", "substitutivity", "--predictions", run, "--twin", synonym, "--format", "json")
    (values,) = said.values
    assert values["consistency", "all"] == 0.5  # equal and wrong; right and wrong
    assert values["consistent_incorrect", "function=repeat"] == 0.5
    assert (values["accuracy_original", "all"], values["accuracy_twin", "all"]) == (0.5, 0.0)


def test_every_file_needs_its_twin(tmp_path: Path) -> None:
    run, synonym = write(tmp_path, run=TWINS, synonym=SYNONYMS)
    said = wug("score", "substitutivity", "--predictions", run, "--predictions", run, "--twin", synonym)
    refused(said, "every file needs its twin")
    assert said.code == 2


def test_rows_that_are_no_twins_are_refused_with_their_line(tmp_path: Path) -> None:
    (run,) = write(tmp_path, run=TWINS)
    refused(wug("score", "substitutivity", "--predictions", run, "--twin", run), "line 2", "0 functions are replaced")


def test_twins_of_another_length_are_refused(tmp_path: Path) -> None:
    run, synonym = write(tmp_path, run=TWINS, synonym=SYNONYMS.rsplit("\n", 2)[0] + "\n")
    refused(wug("score", "substitutivity", "--predictions", run, "--twin", synonym), "1 rows, but run.txt has 2")


def test_a_trace_is_judged(tmp_path: Path) -> None:
    (path,) = write(tmp_path, trace=TRACE)
    (values,) = wug("score", "localism", "--predictions", path, "--format", "json").values
    assert values["consistency", "all"] == 0.5
    assert values["unrolled_accuracy", "all"] == 0.5
    assert values["original_accuracy", "steps=2"] == 0.5


def test_a_sample_is_drawn_as_a_tree_instead_of_the_results(tmp_path: Path) -> None:
    (path,) = write(tmp_path, trace=TRACE)
    said = wug("score", "localism", "--predictions", path, "--tree", 2)
    assert said.out.splitlines() == [
        "trace.txt, sample 2: first wrong: copy",
        "repeat  A1 A1",
        "  copy  A1  first wrong here  right: A1 [+B2+]",
        "    A1 B2",
        "target          A1 B2 A1 B2",
        "✗ step by step  [-A1 A1-]",
        "✗ as a whole    (nothing)",
    ]
    assert wug("show", 1).code == 1  # nothing was kept


def test_a_sample_that_is_not_there_cannot_be_drawn(tmp_path: Path) -> None:
    (path,) = write(tmp_path, trace=TRACE)
    refused(wug("score", "localism", "--predictions", path, "--tree", 3), "there is no sample 3: the trace has 2")


def test_a_log_gives_the_profile_over_epochs(tmp_path: Path) -> None:
    (path,) = write(tmp_path, **{"ratio=0.001_run=1": LOG})
    said = wug("score", "overgeneralisation", "--predictions", path, "--format", "json")
    (values,) = said.values
    assert values["overgeneralisation_peak", "all"] == 0.5
    assert values["peak_epoch", "all"] == 1.0
    assert values["memorisation_final", "all"] == 0.75
    assert values["overgeneralisation", "epoch=2"] == 0.125
    assert said.results[0]["suite"] == "overgeneralisation_ratio=0.001"


def test_answers_to_exceptions_are_judged_by_both_readings(tmp_path: Path) -> None:
    for name, target in (("exception", "A1 B2 B2"), ("original", "B2 B2 A1")):
        (tmp_path / f"test_{name}.src").write_text("reverse echo A1 B2\n", encoding="utf-8")
        (tmp_path / f"test_{name}.tgt").write_text(f"{target}\n", encoding="utf-8")
    (path,) = write(tmp_path, answers="A1 B2 B2\n")
    source = tmp_path / "test_exception.src"
    said = wug("score", "overgeneralisation", "--gold", source, "--predictions", path, "--format", "json")
    (values,) = said.values
    assert (values["overgeneralisation", "all"], values["memorisation", "all"]) == (0.0, 1.0)


def test_gold_that_are_no_exceptions_are_refused(tmp_path: Path) -> None:
    (path,) = write(tmp_path, answers="A1 B2\nB2\n")
    said = wug("score", "overgeneralisation", "--gold", gold(tmp_path)[0], "--predictions", path)
    refused(said, "test.src", "_exception.src")


KINDS = ("pcfgset", "substitutivity", "localism", "overgeneralisation", "pairs")
BAD = {
    "missing": (None, "no such file"),
    "empty": (b"", ""),
    "binary": (bytes(range(256)) * 8, "a binary or damaged file"),
    "nul": (b"\0\0\0\n\0", ""),
    "prose": (b"Once upon a time\nthere was a wug.\n", ""),
    "cut": (b"\x1f\x8b\x08\x00", "damaged compressed file"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", BAD)
def test_a_file_that_is_nothing_of_the_kind_gives_one_clear_message(tmp_path: Path, kind: str, fault: str) -> None:
    path = tmp_path / f"{fault}.txt"
    content, part = BAD[fault]
    if content is not None:
        path.write_bytes(content)
    twin = ("--twin", path) if kind == "substitutivity" else ()
    said = wug("score", kind, "--predictions", path, *twin)
    refused(said, f"{fault}.txt", part)
    assert said.code == 1


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    refused(wug("score", "pcfgset", "--predictions", tmp_path), "is a folder, not a file")


@pytest.mark.parametrize("kind", [*KINDS, "cogs", "syntaxgym"])
def test_every_kind_has_help_with_an_example(kind: str) -> None:
    said = wug("score", kind, "--help")
    assert said.code == 0
    assert f"wug score {kind} --" in said.out
