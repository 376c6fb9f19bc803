"""Where published data for parity tests lies; a test that needs it is skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def reference(relative: str = ".") -> Path:
    """The path of a published file, or a skipped test; with CI=true an absent file is a failure."""
    folder = Path(os.environ.get("WUG_REFERENCE_DATA", ROOT.parent / "shared" / "data"))
    path = folder / relative
    if not path.exists():
        reason = f"published data {relative!r} is not here; set WUG_REFERENCE_DATA to the folder that has it"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
