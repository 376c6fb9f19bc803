"""Logs of inspect: grades, epochs, groups, attachments, archives."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from command_line import refused, wug
from reference import reference
from wug.results.store import Store

Json = dict[str, Any]


def log(samples: list[Json], status: str = "success", **more: Any) -> Json:
    metrics = {"accuracy": {"value": 0.5}, "stderr": {"value": 0.1}}
    return {
        "version": 2,
        "status": status,
        "eval": {"task": "grammar", "model": "openai/gpt", "packages": {"inspect_ai": "0.3.108"}},
        "results": {"completed_samples": 2, "scores": [{"name": "choice", "scorer": "choice", "metrics": metrics}]},
        "samples": samples,
        **more,
    }


def sample(item: str, grade: object, epoch: int = 1, **more: Any) -> Json:
    return {
        "id": item,
        "epoch": epoch,
        "input": f"question {item}",
        "target": "A",
        "output": {"completion": "A"},
        "scores": {"choice": {"value": grade}},
        **more,
    }


def imported(folder: Path, content: Json) -> Json:
    (folder / "log.json").write_text(json.dumps(content))
    [found] = wug("import", folder / "log.json", "--store", folder / "s", "--format", "json").results
    return dict(found)


def test_grades_become_judgements_and_metadata_groups(tmp_path: Path) -> None:
    rows = [sample(str(n), "CI"[n % 2], metadata={"topic": "xy"[n // 2], "long": "z" * 90}) for n in range(4)]
    found = imported(tmp_path, log(rows))
    assert (found["suite"], found["kind"], found["n"]) == ("grammar", "imported", 4)
    assert found["model"] == "imported/openai/gpt"
    assert {e["group"]: e["value"] for e in found["estimates"]} == {"all": 0.5, "topic=x": 0.5, "topic=y": 0.5}
    assert found["estimates"][0]["metric"] == "choice/accuracy"
    first = Store(tmp_path / "s").results(1)[0].outcomes[0]
    assert (first.item, first.value) == ("0", True)
    assert first.detail == {"source": "question 0", "target": "A", "answer": "A"}
    assert found["signature"].endswith("program:inspect_ai 0.3.108|task:grammar v0")


def test_values_are_means_over_epochs_and_attachments_are_resolved(tmp_path: Path) -> None:
    rows = [
        sample("a", "C", 1, input="attachment://ff", attachments={"ff": "a long text"}),
        sample("a", "P", 2),
        sample("b", "N", 1),
        sample("b", "I", 2),
    ]
    imported(tmp_path, log(rows))
    first, second = Store(tmp_path / "s").results(1)[0].outcomes
    assert (first.value, second.value) == (0.75, 0.0)  # (1 + 0.5) / 2 and (0 + 0) / 2
    assert first.detail["source"] == "a long text"


def test_a_log_that_did_not_succeed_is_partial(tmp_path: Path) -> None:
    found = imported(tmp_path, log([sample("a", "C")], "error", error={"message": "out of quota"}))
    assert found["status"] == "partial"
    assert "error: out of quota" in found["warnings"]


def test_the_published_log_is_read(tmp_path: Path) -> None:
    folder = reference("exchange/inspect")
    [found] = wug("import", folder, "--store", tmp_path / "s", "--format", "json").results
    assert (found["suite"], found["n"]) == ("inspect_evals/pubmedqa", 2)
    assert found["estimates"][0]["value"] == 1.0


def archive(path: Path, content: Json) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        header = {key: value for key, value in content.items() if key != "samples"}
        made.writestr("header.json", json.dumps(header))
        for one in content["samples"]:
            made.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
    return path


def test_an_archive_is_read_like_a_json_log(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", log([sample("a", "C"), sample("b", "I")]))
    [found] = wug("import", path, "--store", tmp_path / "s", "--format", "json").results
    assert (found["n"], found["estimates"][0]["value"]) == (2, 0.5)


def zstandard_archive(path: Path, content: Json) -> Path:
    """An archive whose members are compressed as inspect_ai does: method 93, which Python before 3.14 cannot write."""
    plain = {"header.json": {key: value for key, value in content.items() if key != "samples"}}
    plain |= {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in content["samples"]}
    packed = {name: json.dumps(one).encode() for name, one in plain.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as made:
        for name, text in packed.items():
            made.writestr(name, bytes(pyarrow.compress(text, codec="zstd")))
    data = bytearray(path.read_bytes())
    for mark, method, size, name_at in ((b"PK\x03\x04", 8, 22, 30), (b"PK\x01\x02", 10, 24, 46)):
        start = data.find(mark)
        while start >= 0:
            name = next(one for one in packed if data[start + name_at :].startswith(one.encode()))
            data[start + method : start + method + 2] = (93).to_bytes(2, "little")
            data[start + size : start + size + 4] = len(packed[name]).to_bytes(4, "little")
            start = data.find(mark, start + 4)
    path.write_bytes(bytes(data))
    return path


def test_an_archive_in_zstandard_is_read_without_further_packages(tmp_path: Path) -> None:
    path = zstandard_archive(tmp_path / "log.eval", log([sample("a", "C"), sample("b", "I")]))
    [found] = wug("import", path, "--store", tmp_path / "s", "--format", "json").results
    assert (found["n"], found["estimates"][0]["value"]) == (2, 0.5)


def test_a_damaged_archive_in_zstandard_is_refused_with_the_member(tmp_path: Path) -> None:
    path = zstandard_archive(tmp_path / "log.eval", log([sample("a", "C")]))
    path.write_bytes(path.read_bytes().replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"))
    refused(wug("import", path, "--store", tmp_path / "s"), "log.eval, header.json", "damaged")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (log([sample("a", "C")], version=1), ("version 1", "version 2")),
        (log([sample("a", "C"), sample("a", "I")]), ("sample 2", "'a' is there twice")),
        (log([sample("a", "maybe")]), ("sample 1", "'maybe', not a number")),
        (log([], results=None), ("neither results nor samples",)),
    ],
)
def test_a_bad_log_is_one_message(content: Json, parts: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(content))
    refused(wug("import", tmp_path / "log.json", "--from", "inspect", "--store", tmp_path / "s"), *parts)


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", log([sample("a", "C")]))
    path.write_bytes(path.read_bytes()[:-30])
    refused(wug("import", path, "--store", tmp_path / "s"), "log.eval", "damaged")
