"""The next model of a sweep is made ready while the present one is asked."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import tiny
import trainings
from wug.errors import ModelError
from wug.models import ModelSpec
from wug.runs import ahead, opening, room
from wug.runs.ahead import made_ahead
from wug.runs.cache import Cache
from wug.runs.evaluate import record
from wug.runs.opening import Opened, open_suites
from wug.types import Suite


class Nothing:
    """A store in which no model is complete but those of some commits."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def finished(self, opened: Opened) -> int | None:
        return None

    def at_commit(self, spec: ModelSpec) -> int | None:
        return 7 if spec.name in self._names else None


@pytest.fixture
def suites(tmp_path: Path) -> list[Suite]:
    return open_suites(str(trainings.suite(tmp_path / "words.jsonl")))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The models as they are loaded, and whether by the thread that asks."""
    found: list[tuple[str, bool]] = []
    plain = opening._load

    def noted(backend: object, spec: ModelSpec) -> object:
        found.append((Path(spec.name).name, threading.current_thread() is threading.main_thread()))
        return plain(backend, spec)

    monkeypatch.setattr(opening, "_load", noted)
    return found


def checkpoints(folder: Path, count: int) -> tuple[ModelSpec, ...]:
    return tuple(
        ModelSpec("causal", str(tiny.save_causal(folder / f"step-{number}", seed=number)), None, {"device": "cpu"})
        for number in range(count)
    )


def estimates(suites: list[Suite], opened: Opened) -> list[object]:
    return [result.estimates for result in record(suites, opened, command="x").results]


def test_while_one_is_asked_the_next_is_loaded(
    tmp_path: Path, suites: list[Suite], loads: list[tuple[str, bool]]
) -> None:
    models = checkpoints(tmp_path, 3)
    for place, (_, ready) in enumerate(made_ahead(models, suites, None, Nothing())):
        made = ready()
        assert made.opened is not None
        assert loads[place][0] == f"step-{place}"  # it is loaded before it is asked
        record(suites, made.opened, command="x")
    assert loads == [("step-0", True), ("step-1", False), ("step-2", False)]


def test_models_that_are_loaded_ahead_give_what_each_gives_alone(tmp_path: Path, suites: list[Suite]) -> None:
    models = checkpoints(tmp_path, 3)
    found = []
    for _, ready in made_ahead(models, suites, None, Nothing()):
        made = ready()
        assert made.opened is not None
        found.append(estimates(suites, made.opened))
    assert found == [estimates(suites, opening.open_model(spec)) for spec in models]


def test_without_room_a_model_is_loaded_when_the_one_before_is_gone(
    tmp_path: Path, suites: list[Suite], loads: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_free", lambda spec: (1,))
    for _, ready in made_ahead(checkpoints(tmp_path, 2), suites, None, Nothing()):
        made = ready()
        assert made.opened is not None
        record(suites, made.opened, command="x")
    assert loads == [("step-0", True), ("step-1", True)]


def test_what_the_cache_answers_is_not_loaded(
    tmp_path: Path, suites: list[Suite], loads: list[tuple[str, bool]]
) -> None:
    models = checkpoints(tmp_path, 2)
    cache = Cache(tmp_path / "answers.db")
    for _ in range(2):
        for _, ready in made_ahead(models, suites, cache, Nothing()):
            made = ready()
            assert made.opened is not None
            record(suites, made.opened, command="x", cache=cache)
    assert len(loads) == 2


def test_a_model_that_cannot_be_loaded_says_so_in_its_turn(tmp_path: Path, suites: list[Suite]) -> None:
    (tmp_path / "broken.arpa").write_text("no model\n")
    names = [trainings.checkpoint(tmp_path / "a.arpa", 1), tmp_path / "broken.arpa"]
    models = [ModelSpec("ngram", str(name)) for name in (*names, names[0])]
    turns = made_ahead(models, suites, None, Nothing())
    assert next(turns)[1]().opened is not None
    with pytest.raises(Exception, match=r"broken\.arpa"):
        next(turns)[1]()
    assert next(turns)[1]().opened is not None


def test_a_model_of_the_hub_that_is_done_at_its_commit_is_not_opened(suites: list[Suite]) -> None:
    models = [ModelSpec("causal", "org/none", "step1"), ModelSpec("causal", "org/none", "step2")]
    found = [ready().run for _, ready in made_ahead(models, suites, None, Nothing("org/none"))]
    assert found == [7, 7]


@pytest.mark.parametrize("dtype", ["bfloat16", "auto"])
def test_numbers_of_another_format_are_not_loaded_beside_another_model(tmp_path: Path, dtype: str) -> None:
    (spec,) = checkpoints(tmp_path, 1)
    assert room.may_be_beside(spec)
    assert not room.may_be_beside(ModelSpec("causal", spec.name, None, {"device": "cpu", "dtype": dtype}))
    assert not room.may_be_beside(ModelSpec("command", "cat"))


def test_a_hub_that_is_away_is_left_for_loading_to_tell() -> None:
    ahead.fetch(ModelSpec("causal", "org/none", "step1"))
    with pytest.raises(ModelError, match="org/none"):
        opening.open_model(ModelSpec("causal", "org/none", "step1"))
