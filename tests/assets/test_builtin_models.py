"""The built-in models: small, in float16, with a card, and used if no model is named."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from answers import texts
from wug import registry
from wug.evaluation.models import builtin_models, open_model
from wug.requests import Request

MODELS = builtin_models()


def test_there_are_five_and_every_family_has_one() -> None:
    assert sorted(MODELS) == ["wug-causal", "wug-cogs", "wug-lstm", "wug-masked", "wug-pcfg"]
    assert {family.TRAITS.builtin_model for family in registry.families()} - {None} <= set(MODELS)


def test_together_they_stay_small() -> None:
    files = [file for folder in MODELS.values() for file in folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 64 * 2**20


@pytest.mark.parametrize("folder", MODELS.values(), ids=MODELS)
def test_weights_are_float16(folder: Path) -> None:
    with (folder / "model.safetensors").open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    assert {entry["dtype"] for name, entry in header.items() if name != "__metadata__"} == {"F16"}


@pytest.mark.parametrize("folder", MODELS.values(), ids=MODELS)
def test_a_card_says_how_the_model_was_made_and_what_it_knows(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    made = ("wug train ", "| seed | 1 |", "| licence | MIT")
    for part in (*made, "## Results", "## In other programs", "stored in float16", "## Limits"):
        assert part in card
    assert "@" not in card


@pytest.mark.parametrize(
    ("name", "expected"),
    [("wug-causal", [-42.0908, -44.6022]), ("wug-lstm", [-42.5324, -43.7846]), ("wug-masked", [-27.3019, -32.0929])],
)
def test_a_model_of_text_prefers_agreement_by_the_same_margin_as_ever(name: str, expected: list[float]) -> None:
    good, bad = "The keys to the old cabinet are lost.", "The keys to the old cabinet is lost."
    found = open_model(name, {"device": "cpu"}).score([Request(good), Request(bad)])
    assert [scored.logprob() for scored in found] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "source", "answer"),
    [
        ("wug-pcfg", "copy A1 B2 C3", "A1 B2 C3"),
        ("wug-pcfg", "reverse A1 B2 C3", "C3 B2 A1"),
        ("wug-cogs", "A woman slept .", "woman ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )"),
    ],
)
def test_a_model_that_answers_knows_the_simplest(name: str, source: str, answer: str) -> None:
    assert texts(open_model(name, {"device": "cpu"}).generate([source])) == [answer]
