"""A mirror with made-up sets, and an empty folder for what is fetched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fake_datasets
from wug.data import catalogue


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "sets"
    monkeypatch.setenv("WUG_DATA", str(folder))
    # Nothing answers there: a test that should not ask the network fails if it does.
    monkeypatch.setenv("WUG_DATA_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fake_datasets.use_fake_datasets(monkeypatch.setattr)
    yield
    catalogue.catalogue.cache_clear()


@pytest.fixture
def mirror(made_up: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_datasets.Mirror]:
    with fake_datasets.mirror() as told:
        monkeypatch.setenv("WUG_DATA_URL", told.url)
        yield told
