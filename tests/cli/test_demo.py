"""The demo: a newcomer's first command."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import wug

pytestmark = pytest.mark.slow


def test_the_demo_asks_every_family_and_writes_a_report(tmp_path: Path) -> None:
    said = wug("demo", "--limit", 2, "--output", tmp_path / "demo")
    assert said.code == 0, said.err
    for name in ("wug_agreement_pp", "wug_coord", "localism", "wug_cogs_gen", "wug-causal", "wug-masked", "Try next"):
        assert name in said.out
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "wug_filler_gap" in page
    assert "substitutivity" in page
