"""Runs of one store in another: whole, in their order, each once."""

from __future__ import annotations

from pathlib import Path

import made_runs
from wug.results.reader import RunReader
from wug.results.run_admin import merge


def test_complete_runs_are_added_in_their_order_and_once(tmp_path: Path) -> None:
    far, here = tmp_path / "far.db", tmp_path / "here.db"
    made_runs.keep(here, made_runs.result("own", "causal/own@0", made_runs.outcomes({"accuracy": [True]})))
    for number in (1, 2):
        rows = made_runs.outcomes({"accuracy": [True, number == 1]})
        made_runs.keep(far, made_runs.result("s", f"causal/m{number}@{number}", rows), command=f"wug run {number}")
    made_runs.keep(far, status="running")
    # Runs of `keep` have their place as their key, and the first place is taken here.
    assert merge(far, here) == 1
    assert merge(far, here) == 0
    runs = RunReader(here).runs()
    assert [(run.model, run.command, run.status) for run in reversed(runs)] == [
        ("causal/own@0", "wug run x", "complete"),
        ("causal/m2@2", "wug run 2", "complete"),
    ]
    (stored,) = RunReader(here).stored(runs[0].id, outcomes=True)
    assert stored.result.estimates[0].value == 0.5
    assert [outcome.value for outcome in stored.result.outcomes] == [True, False]
