"""Every result made of a model's outputs has their notices, the first time and from the cache."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from command_line import wug

CUT = "3 of 3 outputs were cut off before the model ended them; the option max_length=N allows longer ones"


def test_truncated_outputs_are_reported_each_time_and_everywhere(tmp_path: Path) -> None:
    files = ["--store", tmp_path / "store", "--cache", tmp_path / "answers.db"]
    ask = ["run", "task_accuracy", "--model", "wug-pcfg", "-M", "max_length=2", "-M", "device=cpu", "--limit", "3"]
    first, second = (wug(*ask, *files, "--format", "json") for _ in range(2))
    assert [warning[: len(CUT)] for warning in first.results[0]["warnings"]] == [CUT]
    assert second.results == first.results
    assert CUT in " ".join(wug(*ask, *files).out.split())
    assert CUT in " ".join(wug("show", 2, *files[:2]).out.split())
    assert wug("report", 2, *files[:2], "-o", tmp_path / "page.html").code == 0
    assert CUT in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_bos_token_warning_appears_once_for_all_suites_and_checkpoints(
    tmp_path: Path, tiny_causal: Callable[..., Path]
) -> None:
    for step in (10, 20):
        shutil.copytree(tiny_causal(), tmp_path / f"checkpoint-{step}")
    for name in ("one", "two"):
        (tmp_path / f"{name}.tsv").write_text(
            "pattern\tsent\tsent_alt\np\tthe boy swims\tthe boy swim\n", encoding="utf-8"
        )
    suites = [tmp_path / "one.tsv", tmp_path / "two.tsv"]
    said = wug("run", *suites, "--model", f"causal:{tmp_path}/checkpoint-*", "--device", "cpu", "--workers", 1)
    assert (said.code, said.err.count("after the BOS token")) == (0, 1), said.err
