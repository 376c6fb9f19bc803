"""`wug cache`: what is shown and what is cleared."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from command_line import refused, wug
from wug.evaluation.cache import Cache


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three outputs of one model, and one of another."""
    with closing(Cache(tmp_path / "answers.db")) as cache:
        cache.write(b"a", "causal/a@1", [(bytes([n] * 12), b"x" * 100) for n in range(3)])
        cache.write(b"b", "causal/b@1", [(bytes(12), b"y")])
    return tmp_path / "answers.db"


def shown(path: Path) -> list[list[str]]:
    lines = wug("cache", "show", "--cache", path).out.splitlines()
    return [line.split() for line in lines[1:]]


def test_models_are_shown_with_their_outputs(path: Path) -> None:
    assert str(path) in wug("cache", "show", "--cache", path).out.splitlines()[0]
    assert [(line[2], line[-1]) for line in shown(path)] == [("3", "causal/a@1"), ("1", "causal/b@1")]


def test_the_outputs_of_a_model_are_cleared(path: Path) -> None:
    assert wug("cache", "clear", "--model", "causal/a@1", "--cache", path).err == "3 outputs deleted\n"
    assert [line[-1] for line in shown(path)] == ["causal/b@1"]
    with closing(Cache(path)) as cache:
        assert cache.read(b"b", bytes(12)) == [b"y"]
        missing, distinct = cache.missing(b"a", bytes(12))
        assert (missing.tolist(), distinct) == ([0], 1)


def test_old_outputs_are_cleared(path: Path) -> None:
    with closing(Cache(path)) as cache:
        cache._db.execute("UPDATE blocks SET written = ? WHERE model = 1", (time.time() - 10 * 86_400,))
    assert wug("cache", "clear", "--older-than", 30, "--cache", path).err == "0 outputs deleted\n"
    assert wug("cache", "clear", "--older-than", 5, "--cache", path).err == "3 outputs deleted\n"
    assert wug("cache", "clear", "--all", "--cache", path).err == "1 outputs deleted\n"
    assert shown(path) == []


def test_what_is_not_there_is_not_cleared(path: Path, tmp_path: Path) -> None:
    refused(wug("cache", "clear", "--model", "causal/c@1", "--cache", path), "unknown model 'causal/c@1'")
    refused(wug("cache", "clear", "--cache", path), "name what to delete")
    assert wug("cache", "show", "--cache", tmp_path / "none.db").out == f"{tmp_path / 'none.db'}: empty\n"
