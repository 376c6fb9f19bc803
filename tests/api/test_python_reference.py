"""The reference of the Python API says what the docstrings say, and leaves nothing out."""

from __future__ import annotations

import runpy
from pathlib import Path

import wug

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_reference_is_up_to_date() -> None:
    """After a change of a docstring, `python docs/reference.py` rewrites it."""
    page = runpy.run_path(str(DOCS / "reference.py"))["page"]()
    assert (DOCS / "reference.md").read_text(encoding="utf-8") == page


def test_every_name_has_its_section() -> None:
    lines = (DOCS / "reference.md").read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("### wug.") for line in lines if line.startswith("### wug.")]
    assert sorted(headings) == dir(wug)
