"""Miniature training runs: unigram models as checkpoints, which have learned a number of four pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from wug.results.store import Store

PAIRS = 4
ECHO = "import sys\nfor line in sys.stdin:\n    print(line.split(maxsplit=1)[1].strip(), flush=True)\n"
"""A program that knows what to copy is."""


def checkpoint(path: Path, learned: int) -> Path:
    """An ARPA file that prefers the good word of the first `learned` pairs: `good0` to `bad`, `good1` to `bad`, …"""
    words = [(f"good{place}", -1.0 if place < learned else -3.0) for place in range(PAIRS)]
    rows = [("<unk>", -5.0), ("<s>", -99.0), ("</s>", -2.0), ("bad", -2.0), *words]
    lines = ["\\data\\", f"ngram 1={len(rows)}", "", "\\1-grams:", *(f"{value}\t{word}" for word, value in rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, "", "\\end\\", ""]), encoding="utf-8")
    return path


def training(folder: Path, learned: dict[int, int]) -> Path:
    """A folder with a checkpoint for each step: how many pairs it has learned."""
    for step, right in learned.items():
        checkpoint(folder / f"checkpoint-{step}.arpa", right)
    return folder


def suite(path: Path, pairs: int = PAIRS) -> Path:
    """A file of pairs, one word against another."""
    rows = [{"sentence_good": f"good{place}", "sentence_bad": "bad"} for place in range(pairs)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def with_suites(folder: Path) -> None:
    """Three checkpoints, and two suites that ask for scores and for text."""
    training(folder / "run", {10: 1, 20: 4, 100: 3})
    suite(folder / "words.jsonl")
    (folder / "copying").mkdir()
    (folder / "copying" / "test.src").write_text("copy A1\ncopy B2\n")
    (folder / "copying" / "test.tgt").write_text("A1\nB2\n")


def kept(name: str) -> list[Any]:
    """All that a store has, run by run, without times and places."""
    store = Store(Path(name))
    return [
        (
            run.specification,
            run.model,
            run.status,
            [replace(found, outcomes=tuple(found.outcomes)) for found in store.results(run.id)],
        )
        for run in sorted(store.runs(), key=lambda run: run.specification or "")
    ]
