"""Answers that are written in few shapes are those of `generate`: the steps that a GPU records, taken one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tiny_seq2seq
from wug.models import _recorded, _unfinished, seq2seq
from wug.models._asking import Written, until_end
from wug.models._recorded import Recorded
from wug.models._spec import ModelSpec
from wug.models._token_rules import Rules
from wug.runs.opening import builtin_models

Maker = Any


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """The folder of a tiny model of an architecture, made once."""
    return tiny_seq2seq.maker(tmp_path_factory.mktemp)


def opened(folder: Path) -> tuple[seq2seq.Seq2SeqModel, Any, Recorded]:
    """The plain model, the decoder in it, and the way of writing that is tested."""
    model = seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", "engine": "transformers"}))
    assert isinstance(model, seq2seq.Seq2SeqModel)
    decoder: Any = model._decoder
    rules = Rules.of(decoder.model.generation_config, decoder._ends)
    assert rules is not None
    return model, decoder, Recorded(decoder.model, rules, decoder._pad)


def alone(decoder: Any, sequence: Sequence[int], bound: int) -> Written:
    """What generate() of transformers writes for one sequence that is asked by itself."""
    return until_end(decoder._generate([sequence], bound)["sequences"][0].tolist(), decoder._ends)


@pytest.mark.parametrize("architecture", ["t5", "bart", "marian", "mbart"])
def test_answers_are_those_of_generate(made: Maker, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that end at once, that outgrow their room, and that never end, in batches that shrink."""
    monkeypatch.setattr(_recorded, "ROWS", (1, 2, 4, 8))
    monkeypatch.setattr(_recorded, "LENGTH", 4)
    monkeypatch.setattr(_recorded, "STEPS", 3)
    model, decoder, recorded = opened(made(architecture))
    sequences = model._words.read(tiny_seq2seq.sources(30, seed=4))
    bounds = [(1, 7, 40, 21)[place % 4] for place in range(len(sequences))]
    found = recorded.write(sequences, bounds)
    wanted = [alone(decoder, *asked) for asked in zip(sequences, bounds, strict=True)]
    assert [(w.tokens, w.ended) for w in found] == [(w.tokens, w.ended) for w in wanted]
    lengths = {len(written.tokens) for written in found}
    assert len(lengths) > 2
    assert {written.ended for written in found} == {True, False}
    assert len(recorded._stages) > 3


def test_answers_without_room_are_written_later(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recorded, "ROWS", (1, 2, 4, 8))
    monkeypatch.setattr(_recorded, "LENGTH", 4)
    monkeypatch.setattr(_unfinished, "WIDTH", 4)
    model, decoder, recorded = opened(made("t5"))
    recorded.places = 64  # four sources of sixteen tokens, or one answer of sixty-four
    sequences = model._words.read(tiny_seq2seq.sources(12, seed=5))
    found = recorded.write(sequences, [40] * 12)
    assert [w.tokens for w in found] == [alone(decoder, sequence, 40).tokens for sequence in sequences]


def test_the_built_in_model_writes_the_same() -> None:
    model, _, recorded = opened(builtin_models()["wug-pcfg"])
    recorded.places = 4096  # rather than half of this machine's memory, which has to be filled with zeros
    texts = ["copy A1 B2 C3", "repeat A1 B2", "append swap_first_last A1 B7 C3 , reverse K1 L2 M3", "echo A1"]
    plain = [answer.text for answer in model.generate(texts)]
    written = recorded.write(model._words.read(texts), [40] * len(texts))
    assert [model._text(answer.tokens) for answer in written] == plain
    assert not any(answer.doubtful for answer in written)


def test_a_tie_is_said(made: Maker) -> None:
    """Two words with the same weights are equally probable wherever one of them is written."""
    import torch

    model, decoder, recorded = opened(made("bart"))
    sequences = model._words.read(tiny_seq2seq.sources(20, seed=6))
    before = recorded.write(sequences, [6] * 20)
    common = max((t for w in before for t in w.tokens), key=[t for w in before for t in w.tokens].count)
    head = decoder.model.get_output_embeddings().weight
    with torch.no_grad():
        head[537 if common != 537 else 536] = head[common]
    found = recorded.write(sequences, [6] * 20)
    assert [common in written.tokens for written in found if not written.doubtful].count(True) == 0
    assert any(written.doubtful for written in found)


def test_rules_that_are_not_known_are_left_to_generate(made: Maker) -> None:
    _, decoder, _ = opened(made("t5"))
    settings = decoder.model.generation_config
    for name, value in (("begin_suppress_tokens", [7]), ("bad_words_ids", [[5, 6]])):
        setattr(settings, name, value)
        assert Rules.of(settings, [2]) is None
        setattr(settings, name, None)
    settings.bad_words_ids, settings.suppress_tokens, settings.forced_bos_token_id = [[5], [2]], [9], 8
    assert Rules.of(settings, [2]) == Rules(0, [2], [5, 9], 8)
