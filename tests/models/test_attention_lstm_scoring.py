"""LSTMs with attention score texts as answers to a source: as they write them, word by word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attention_models import SHAPES, VOCABULARY, WORDS, make
from wug import open_model
from wug.errors import InputError
from wug.models import ModelSpec
from wug.models import attention_lstm as backend
from wug.models.attention_lstm import AttentionShape, save_attention_lstm, source_numbers
from wug.requests import Request, TextScoring
from wug.texts import surprisal

SOURCES = ["copy A B C", "", "reverse E", "copy A B C , D E A A", "wug A"]
TEXTS = ["A B C", "D", "E wug E", "A B C D E A A , ,", "C A"]


@pytest.fixture(params=SHAPES, ids=str)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, Path]:
    shape: AttentionShape = request.param
    model = make(shape)
    save_attention_lstm(tmp_path / "model", model, WORDS)
    return model, tmp_path / "model"


def load(folder: Path, **options: str) -> Any:
    return backend.load(
        ModelSpec("attention_lstm", str(folder), options={"device": "cpu", "score": "source", **options})
    )


def by_writing(model: Any, source: str, text: str) -> list[tuple[float, float, int]]:
    """Log-probability, entropy and rank of each word and the end, the model asked as when it writes, word by word."""
    import torch

    read = torch.tensor([source_numbers(source, VOCABULARY)])
    found = []
    with torch.no_grad():
        memory, state = model.read(read, torch.ones_like(read, dtype=torch.bool))
        word = VOCABULARY.index["<s>"]
        for target in source_numbers(text, VOCABULARY):
            logits, state = model.write(torch.tensor([word]), memory, state)
            logs = logits[0].double().log_softmax(dim=0)
            found.append((logs[target].item(), -(logs.exp() * logs).sum().item(), int((logs > logs[target]).sum()) + 1))
            word = target
    return found


def test_scores_are_those_of_writing_word_by_word(saved: tuple[Any, Path]) -> None:
    model, folder = saved
    asked = [
        Request(text, source=source, scoring=TextScoring(distribution=True)) for text in TEXTS for source in SOURCES
    ]
    for request, scored in zip(asked, load(folder, eos="yes").score(asked), strict=True):
        expected = by_writing(model, request.source or "", request.text)
        assert scored.logprobs == pytest.approx([row[0] for row in expected], abs=1e-4)
        assert scored.entropies == pytest.approx([row[1] for row in expected], abs=1e-4)
        assert scored.ranks == tuple(row[2] for row in expected)
        assert len(scored.starts) == len(request.text.split()) + 1


def test_words_have_their_places_and_unknown_ones_are_named(tmp_path: Path) -> None:
    save_attention_lstm(tmp_path / "model", make(), WORDS)
    whole, part = load(tmp_path / "model").score([Request("A wug  B"), Request("A wug B", (2, 5))])
    assert (whole.starts, whole.ends) == ((0, 2, 7), (1, 5, 8))
    assert whole.token_names == ("A", "<unk>", "B")
    assert part.starts == (0, 2)
    assert part.logprobs == pytest.approx(whole.logprobs[:2], abs=1e-5)


def test_a_table_and_the_options(tmp_path: Path) -> None:
    model = make()
    save_attention_lstm(tmp_path / "model", model, WORDS)
    opened = open_model(tmp_path / "model", score="source", source="copy A B C")
    assert opened.options == {"dtype": "float32", "score": "source", "source": "copy A B C", "eos": "no"}
    table = surprisal(["A B"], opened.opened)
    expected = by_writing(model, "copy A B C", "A B")[:2]
    assert table["word"] == ["A", "B"]
    assert table["entropy"] == pytest.approx([row[1] / 0.6931471805599453 for row in expected], abs=1e-4)
    with pytest.raises(InputError, match="max_length is of no use with score=source"):
        open_model(tmp_path / "model", score="source", max_length=5)
    with pytest.raises(InputError, match="source is of no use with score=no"):
        open_model(tmp_path / "model", source="a")
