"""Models of the tests of the Python API."""

from __future__ import annotations

from pathlib import Path

import pytest

import tiny
import wug


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two models that differ in their weights."""
    return [tiny.save_causal(tmp_path_factory.mktemp(f"model{seed}"), seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="session")
def model(folders: list[Path]) -> wug.Model:
    """The first model, opened."""
    return wug.open_model(folders[0])
