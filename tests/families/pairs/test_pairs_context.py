"""A column `context` is read before both sentences: a condition, and no part of the score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fake_models import FakeScorer, letter_scores
from wug.errors import InputError
from wug.evaluation.checking import check_file
from wug.families import pairs
from wug.outcomes import Outcome


def outcomes(path: Path, **options: str) -> tuple[list[Outcome], FakeScorer]:
    model = FakeScorer(letter_scores())
    (suite,) = pairs.read(path, options)
    return [row for row in suite.run(model) if isinstance(row, Outcome)], model


@pytest.fixture(params=["table.tsv", "blimp.jsonl"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    rows = [("Who swims here?", "He does.", "He do it not."), ("", "Yes.", "No thanks.")]
    file = tmp_path / str(request.param)
    if file.suffix == ".tsv":
        lines = ["pattern\tcontext\tsent\tsent_alt", *("\t".join(("p", *row)) for row in rows)]
    else:
        names = ("context", "sentence_good", "sentence_bad")
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_the_context_is_asked_but_not_scored(path: Path) -> None:
    found, model = outcomes(path)
    assert [request.text for request in model.requests] == [
        "Who swims here? He does.", "Who swims here? He do it not.", "Yes.", "No thanks.",
    ]  # fmt: skip
    assert all(request.span is None for request in model.requests)  # a masked model masks no whole sentence
    assert [row.detail["logprob_good"] for row in found] == [-7.0, -4.0]  # He does. = 2 + 5
    assert [row.detail["logprob_bad"] for row in found] == [-10.0, -9.0]  # He do it not. = 2 + 2 + 2 + 4
    assert found[0].detail["good"] == "He does."
    assert found[0].detail["context"] == "Who swims here?"
    assert "context" not in found[1].detail


def test_lengths_are_those_of_the_sentence_alone(path: Path) -> None:
    found, _ = outcomes(path, normalise="word")
    assert found[0].detail["score_good"] == -7 / 2
    assert found[0].detail["score_bad"] == -10 / 4


def test_a_target_word_stands_behind_the_context(path: Path) -> None:
    path.write_text(
        path.read_text(encoding="utf-8").replace("He do it not.", "He did.").replace("No thanks.", "No."),
        encoding="utf-8",
    )
    found, model = outcomes(path, target="word")
    first = model.requests[0]
    assert first.span is not None
    assert first.text[slice(*first.span)] == "does"
    assert found[0].detail["logprob_good"] == -5.0


def test_converting_keeps_the_context_or_says_that_it_would_be_lost(path: Path, tmp_path: Path) -> None:
    target = tmp_path / ("new.jsonl" if path.suffix == ".tsv" else "new.tsv")
    pairs.convert(path, target, {})
    found, _ = outcomes(target)
    assert [row.detail.get("context") for row in found] == ["Who swims here?", None]
    with pytest.raises(InputError, match="would lose the context of item 1"):
        pairs.convert(path, tmp_path / "new.txt", {})
    assert not (tmp_path / "new.txt").exists()
    assert "context" not in " ".join(problem.message for problem in check_file(path, "pairs"))
