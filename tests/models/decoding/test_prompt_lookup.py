"""Long answers that are written many tokens at a time are those of `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny_seq2seq
from greedy_ways import alone, opened
from tiny_seq2seq import assert_ties_are_noticed
from wug.evaluation.models import builtin_models
from wug.models import seq2seq
from wug.models.decoding import cuda_graph, prompt_lookup
from wug.models.decoding.cuda_graph import CudaGraphDecoder

Maker = Any


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches small enough to be split, and to shrink during generation."""
    monkeypatch.setattr(prompt_lookup, "BATCH_ROWS", (1, 2, 4))
    monkeypatch.setattr(prompt_lookup, "PASSES_PER_SYNC", 2)


def speculative_from_the_start(folder: Path) -> tuple[seq2seq.Seq2SeqModel, Any, CudaGraphDecoder]:
    """The plain model, the decoder in it, and a decoder that is speculative from the first token on."""
    model, decoder, speculative = opened(folder)
    speculative.max_cached_tokens, speculative.lookup_after = 1 << 13, 1
    return model, decoder, speculative


def plainly(decoder: Any, sequences: Sequence[Sequence[int]], bounds: Sequence[int]) -> list[tuple[Any, bool]]:
    """What generate() of transformers writes for each sequence by itself."""
    found = (alone(decoder, *asked) for asked in zip(sequences, bounds, strict=True))
    return [(written.tokens, written.ended) for written in found]


@pytest.mark.parametrize("tokens", [2, 5, 32])
def test_answers_are_those_of_generate(made: Maker, tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that end, that stop at separate bounds, and that never end, to sources of many lengths."""
    monkeypatch.setattr(prompt_lookup, "PASS_TOKENS", tokens)
    model, decoder, speculative = speculative_from_the_start(made("t5"))
    sequences = model.tokenizer.encode(tiny_seq2seq.sources(14, seed=4))
    bounds = [(1, 7, 40, 21)[place % 4] for place in range(len(sequences))]
    found = speculative.decode(sequences, bounds)
    assert [(w.tokens, w.ended) for w in found] == plainly(decoder, sequences, bounds)
    assert speculative._lookup_batches
    assert {written.ended for written in found} == {True, False}


def test_repetitive_output_takes_few_passes_and_is_unchanged() -> None:
    """A long answer takes far fewer passes than tokens; short ones among it are the same."""
    model, decoder, speculative = speculative_from_the_start(builtin_models()["wug-pcfg"])
    speculative.lookup_after, speculative.max_cached_tokens = 4, 1 << 12
    texts = ["repeat repeat repeat repeat repeat A1 B2", "append A1 B7 C3 K1 , reverse K1 L2 M3", "echo A1 B2 C3 D4 E5"]
    sequences, bounds = model.tokenizer.encode(texts), [150, 60, 60]
    passes: list[int] = []
    taken = prompt_lookup.LookupBatch._step

    def counted(self: prompt_lookup.LookupBatch) -> None:
        passes.append(1)
        taken(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompt_lookup.LookupBatch, "_step", counted)
        patch.setattr(cuda_graph, "OUTPUT_LENGTHS", (4, 16, 64, 256))
        found = speculative.decode(sequences, bounds)
    assert [(w.tokens, w.ended) for w in found] == plainly(decoder, sequences, bounds)
    assert not any(written.near_tie for written in found)
    assert len(found[0].tokens) > 60
    assert len(passes) < len(found[0].tokens) / 3


def test_a_tie_is_said(made: Maker) -> None:
    """Two words with the same weights are equally probable wherever one of them is written."""
    model, decoder, speculative = speculative_from_the_start(made("t5"))
    sequences = model.tokenizer.encode(tiny_seq2seq.sources(8, seed=6))
    assert_ties_are_noticed(decoder.model, lambda: speculative.decode(sequences, [9] * 8))


def test_what_followed_the_last_tokens_before_is_guessed_to_follow_again() -> None:
    """The longest match counts, then the last; cycles are followed, and a new token is repeated."""
    here = prompt_lookup.LookupBatch.__new__(prompt_lookup.LookupBatch)
    here._pass_columns, here._columns = torch.arange(6), torch.arange(12)
    here._text = torch.tensor(
        [
            [-1, -1, 5, 6, 7, 9, 6, 8, 5, 6, 0, 0],  # after 5 6 came 7, though after 6 alone came 8 last
            [-1, 1, 2, 3, 1, 2, 3, 1, 2, 0, 0, 0],  # a circle
            [-1, -1, -1, 4, 5, 6, 7, 8, 0, 0, 0, 0],  # 8 is new
        ]
    )
    end = torch.tensor([[10], [9], [8]])
    assert here._drafts(end).tolist() == [[7, 9, 6, 8, 5], [3, 1, 2, 3, 1], [8, 8, 8, 8, 8]]


def test_only_models_with_relative_positions_are_decoded_speculatively(made: Maker) -> None:
    """Others would see wrong positions, or positions that they do not have."""
    assert prompt_lookup.has_relative_positions(opened(made("t5"))[1].model.config)
    assert not any(
        prompt_lookup.has_relative_positions(opened(made(name))[1].model.config) for name in ("bart", "marian")
    )


def test_outputs_for_long_sources_are_speculative_from_the_start(made: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sources are written step by step; each kind has separate batches."""
    monkeypatch.setattr(cuda_graph, "LOOKUP_WIDTHS", (9, 18, 40))
    monkeypatch.setattr("wug.models.decoding.static_batch.SOURCE_WIDTHS", (9, 18, 40))
    model, decoder, speculative = speculative_from_the_start(made("t5"))
    speculative.lookup_after = cuda_graph.LOOKUP_AFTER_TOKENS
    short = model.tokenizer.encode(tiny_seq2seq.sources(5, seed=9))
    sequences = [*(sequence[-8:] for sequence in short), *([*sequence[:-1], *sequence] for sequence in short)]
    assert any(len(sequence) > 9 for sequence in sequences)
    bounds = [30] * len(sequences)
    found = speculative.decode(sequences, bounds)
    assert [(w.tokens, w.ended) for w in found] == plainly(decoder, sequences, bounds)
    assert {shape.width for shape in speculative._lookup_batches} <= {18, 40}
    assert {shape.width for shape in speculative._step_batches} == {9}
