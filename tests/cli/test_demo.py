"""The demo: a newcomer's first command."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import wug


def test_the_demo_prints_a_table_and_writes_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wug.train import toy

    monkeypatch.setattr(toy, "STEPS", 3)
    said = wug("demo", "--output", tmp_path / "demo")
    assert said.code == 0
    for name in ("coord", "agreement", "reflexives", "wug_agreement_pp", "Try next"):
        assert name in said.out
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "wug_filler_gap" in page
