"""What the tests of backends share: tiny encoder-decoders, noted waits, and warnings that no command has silenced."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import tiny_seq2seq


@pytest.fixture(autouse=True)
def _warnings(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "wug")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of a tiny encoder-decoder of an architecture, made once."""
    return tiny_seq2seq.maker(tmp_path_factory.mktemp)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between tries, which are noted instead of waited for."""
    noted: list[float] = []

    async def note(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr("wug.models.endpoint.client.anyio.sleep", note)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return noted
