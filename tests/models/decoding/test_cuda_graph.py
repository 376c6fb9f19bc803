"""Answers that are written in few shapes are those of `generate`: the steps that a GPU records, taken one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

import tiny_seq2seq
from case_selection import share
from greedy_ways import alone, opened
from tiny_seq2seq import assert_ties_are_noticed
from wug.evaluation.models import builtin_models
from wug.models.decoding import cuda_graph, static_batch
from wug.models.decoding.outputs import TokenRules

Maker = Any


@pytest.mark.parametrize("architecture", share(["t5", "bart", "marian", "mbart"], 2))
def test_answers_are_those_of_generate(made: Maker, architecture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that end at once, that outgrow their room, and that never end, in batches that shrink."""
    monkeypatch.setattr(cuda_graph, "BATCH_ROWS", (1, 2, 4, 8))
    monkeypatch.setattr(cuda_graph, "OUTPUT_LENGTHS", (4, 16, 64))
    monkeypatch.setattr(cuda_graph, "STEPS_PER_SYNC", 3)
    model, decoder, graphs = opened(made(architecture))
    sequences = model.tokenizer.encode(tiny_seq2seq.sources(30, seed=4))
    bounds = [(1, 7, 40, 21)[place % 4] for place in range(len(sequences))]
    found = graphs.decode(sequences, bounds)
    wanted = [alone(decoder, *asked) for asked in zip(sequences, bounds, strict=True)]
    assert [(w.tokens, w.ended) for w in found] == [(w.tokens, w.ended) for w in wanted]
    lengths = {len(written.tokens) for written in found}
    assert len(lengths) > 2
    assert {written.ended for written in found} == {True, False}
    assert len(graphs._step_batches) > 3


def test_answers_without_room_are_written_later(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graph, "BATCH_ROWS", (1, 2, 4, 8))
    monkeypatch.setattr(cuda_graph, "OUTPUT_LENGTHS", (4, 16, 64))
    monkeypatch.setattr(static_batch, "SOURCE_WIDTHS", (4, 16))
    model, decoder, graphs = opened(made("t5"))
    graphs.max_cached_tokens = 64  # four sources of sixteen tokens, or one answer of sixty-four
    sequences = model.tokenizer.encode(tiny_seq2seq.sources(12, seed=5))
    found = graphs.decode(sequences, [40] * 12)
    assert [w.tokens for w in found] == [alone(decoder, sequence, 40).tokens for sequence in sequences]


def test_the_built_in_model_writes_the_same() -> None:
    model, _, graphs = opened(builtin_models()["wug-pcfg"])
    graphs.max_cached_tokens = 4096  # rather than half of this machine's memory, which has to be filled with zeros
    texts = ["copy A1 B2 C3", "repeat A1 B2", "append swap_first_last A1 B7 C3 , reverse K1 L2 M3", "echo A1"]
    plain = [answer.text for answer in model.generate(texts)]
    written = graphs.decode(model.tokenizer.encode(texts), [40] * len(texts))
    assert [model.text_of(answer.tokens) for answer in written] == plain
    assert not any(answer.near_tie for answer in written)


def test_a_tie_is_said(made: Maker) -> None:
    """Two words with the same weights are equally probable wherever one of them is written."""
    model, decoder, graphs = opened(made("bart"))
    sequences = model.tokenizer.encode(tiny_seq2seq.sources(20, seed=6))
    assert_ties_are_noticed(decoder.model, lambda: graphs.decode(sequences, [6] * 20))


def test_rules_that_are_not_known_are_left_to_generate(made: Maker) -> None:
    _, decoder, _ = opened(made("t5"))
    settings = decoder.model.generation_config
    for name, value in (("begin_suppress_tokens", [7]), ("bad_words_ids", [[5, 6]])):
        setattr(settings, name, value)
        assert TokenRules.of(settings) is None
        setattr(settings, name, None)
    settings.bad_words_ids, settings.suppress_tokens, settings.forced_bos_token_id = [[5], [2]], [9], 8
    assert TokenRules.of(settings) == TokenRules(0, [2], [5, 9], 8)


def test_shapes_are_few_and_have_room_for_an_answer_within_a_source() -> None:
    assert [static_batch.source_width(size) for size in (1, 144, 145, 1024, 1037, 1153, 2400)] == [
        18, 144, 288, 1152, 1152, 2304, 4608,
    ]  # fmt: skip
    assert [cuda_graph._output_length(written) for written in (1, 63, 64, 255, 256, 1023, 1024, 2048)] == [
        32, 64, 256, 256, 1024, 1024, 2048, 4096,
    ]  # fmt: skip


def held(places: Sequence[int], width: int, written: int) -> static_batch.PartialOutputs:
    """Answers of which as much is written, to sources that fill their width."""
    rows = len(places)
    layer = (torch.zeros(rows, 1, written, 2),) * 2 + (torch.zeros(rows, 1, width, 2),) * 2
    columns = (torch.ones(rows, written), torch.full((rows,), 90), torch.ones(rows))
    return static_batch.PartialOutputs(list(places), torch.zeros(rows, 1, 1, width), *columns, [layer])


def test_long_answers_of_all_batches_go_on_together_as_far_as_rows_are_free(
    made: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four rows for the three widest; one narrower answer goes with them, and two more would need another shape."""
    monkeypatch.setattr(cuda_graph, "BATCH_ROWS", (1, 4, 16))
    graphs = opened(made("t5"))[2]
    states = [held([1, 2], 9, 64), held([3], 99, 64), held([4], 9, 64), held([5, 6], 99, 64), held([7], 99, 256)]
    state, others = graphs._gather(states)
    assert (state.indices, state.width) == ([3, 5, 6, 4], 99)
    assert sorted(other.indices for other in others) == [[1, 2], [7]]


def test_sources_and_answers_of_many_lengths_are_written_as_generate_writes_them(
    made: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the widths and lengths of a GPU; few rows, so that batches are split."""
    monkeypatch.setattr(cuda_graph, "BATCH_ROWS", (1, 4, 8))
    model, decoder, graphs = opened(made("t5"))
    short = model.tokenizer.encode(tiny_seq2seq.sources(9, seed=8))
    long = [[token for token in sequence[:-1] for _ in range(14)] + sequence[-1:] for sequence in short]
    sequences = [*short, *(sequence[-200:] for sequence in long)]
    bounds = [(3, 65, 90)[place % 3] for place in range(len(sequences))]
    found = graphs.decode(sequences, bounds)
    assert [w.tokens for w in found] == [alone(decoder, *asked).tokens for asked in zip(sequences, bounds, strict=True)]
    assert {shape.width for shape in graphs._step_batches} >= {18, 288}
    assert len({shape.length for shape in graphs._step_batches}) == 3
