"""Every Eval Ever: aggregates with their samples as runs, and files that do not belong together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import refused, wug
from reference import reference
from run_factory import keep, outcomes, result
from wug.outcomes import Outcome
from wug.results.store import Store

Json = dict[str, Any]


def exported(folder: Path) -> tuple[Path, Path]:
    """The aggregate file and the samples of a run of two pairs."""
    right = {"good": "g", "bad": "b", "logprob_good": -1.0, "logprob_bad": -2.5}
    wrong = {"good": "h", "bad": "c", "logprob_good": -3.0, "logprob_bad": -2.0}
    rows = [
        Outcome("1", "accuracy", True, {"kind": "a"}, right),
        Outcome("2", "accuracy", False, {"kind": "b"}, wrong),
    ]
    keep(folder / "store", result("toy", "causal/x@1f", rows))
    assert wug("export", "1", "--to", "eee", "-o", folder / "out", "--store", folder / "store").code == 0
    [aggregate], [samples] = (list((folder / "out").rglob(f"*{suffix}")) for suffix in (".json", ".jsonl"))
    return aggregate, samples


def test_an_export_is_imported_as_the_same_outcomes_and_estimates(tmp_path: Path) -> None:
    aggregate, _ = exported(tmp_path)
    said = wug("import", aggregate, "--store", tmp_path / "store", "--format", "json")
    assert said.results[0]["model"] == "imported/x"
    first, second = (Store(tmp_path / "store").results(number)[0] for number in (1, 2))
    assert list(second.outcomes) == list(first.outcomes)
    assert second.estimates == first.estimates
    assert str(second.signature).startswith("imported:eee@")


def test_the_published_examples_are_read(tmp_path: Path) -> None:
    folder = reference("exchange/eee")
    [demo] = wug("import", folder / "reference_conversion", "--store", tmp_path / "s", "--format", "json").results
    assert (demo["model"], demo["n"]) == ("imported/demo-org/demo-model", 1)
    [coord] = wug("import", folder / "example", "--store", tmp_path / "s", "--format", "json").results
    overall = coord["estimates"][0]
    assert (coord["kind"], overall["value"], overall["n"]) == ("pairs", 0.75, 12)
    assert (round(overall["low"], 4), round(overall["high"], 4)) == (0.4677, 0.9111)


def test_an_aggregate_alone_says_that_its_samples_are_missing(tmp_path: Path) -> None:
    aggregate, samples = exported(tmp_path)
    samples.unlink()
    [found] = wug("import", aggregate, "--store", tmp_path / "s", "--format", "json").results
    assert found["warnings"] == ["aggregates only: no items to compare", "the file of its samples is missing"]
    assert found["estimates"][0]["value"] == 0.5


def _rewrite(path: Path, change: Callable[[Json], object]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda document: document.update(schema_version="0.2.0"), ("schema version 0.2.0", "0.3")),
        (lambda document: document.update(evaluation_results=[]), ("evaluation_results",)),
        (lambda document: document["evaluation_results"].append(document["evaluation_results"][0]), ("twice",)),
        (lambda document: document.pop("model_info"), ("model_info",)),
        (lambda document: document["evaluation_results"][0]["score_details"].update(score="x"), ("score", "'x'")),
        (lambda document: document["detailed_evaluation_results"].update(total_rows=5), ("2 rows", "says 5")),
        (lambda document: document["detailed_evaluation_results"].update(checksum="00"), ("SHA-256",)),
        (lambda document: document.update(evaluation_id="other"), ("evaluation_id", "line 1")),
    ],
)
def test_a_bad_aggregate_is_one_message(
    change: Callable[[Json], object], parts: tuple[str, ...], tmp_path: Path
) -> None:
    aggregate, _ = exported(tmp_path)
    _rewrite(aggregate, change)
    refused(wug("import", aggregate, "--from", "eee", "--store", tmp_path / "s"), *parts)
    assert Store(tmp_path / "s").runs() == []


def test_samples_without_their_aggregate_are_refused(tmp_path: Path) -> None:
    _, samples = exported(tmp_path)
    alone = tmp_path / "alone" / samples.name
    alone.parent.mkdir()
    shutil.copy(samples, alone)
    refused(wug("import", alone, "--store", tmp_path / "s"), "aggregate file", "missing")


def test_a_sample_that_is_there_twice_is_refused_with_its_line(tmp_path: Path) -> None:
    aggregate, samples = exported(tmp_path)
    lines = samples.read_text().splitlines()
    samples.write_text("\n".join([lines[0], lines[0]]) + "\n")
    _rewrite(aggregate, lambda document: document["detailed_evaluation_results"].pop("checksum"))
    refused(wug("import", aggregate, "--store", tmp_path / "s"), "line 2", "'1' is there twice")


def test_imported_aggregates_can_be_exported_again(tmp_path: Path) -> None:
    keep(tmp_path / "store", result("toy", "imported/x@step5", outcomes({"accuracy": [True]})))
    said = wug("export", "1", "--to", "eee", "-o", tmp_path / "out", "--store", tmp_path / "store")
    assert said.code == 0, said.err
