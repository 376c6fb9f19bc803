"""What causal models return with log-probabilities: entropy, rank, the end of a word, texts past the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tiny
import tiny_architectures
from case_selection import each_kind, share
from wug.errors import ModelError
from wug.models import ModelSpec, causal
from wug.models.causal import output_layer
from wug.models.causal.forward import CausalEngine, ScoringMethods
from wug.models.causal.selftest import choose_engine
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.sliding_windows import on_both_sides, to_the_left
from wug.requests import Request, Scored, TextScoring

Maker = Callable[..., Path]
LENGTHS = [3, 71, 19, 1, 150, 2, 44, 19, 128, 7]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that vocabularies are in several blocks, the last not full, and positions in several."""
    monkeypatch.setattr(output_layer, "BLOCK_SIZE", (13, 64))
    monkeypatch.setattr(output_layer, "MAX_GPU_POSITIONS", 17)


def load(folder: Path, **options: str) -> causal.CausalModel:
    return causal.load(ModelSpec("causal", str(folder), options={"device": "cpu", **options}))


def logits_of(model: Any, tokens: Sequence[int]) -> Any:
    """The logits at each token, by one plain pass, in double precision."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([list(tokens)])).logits[0].double()


def entropy(logits: Any) -> Any:
    """The definition."""
    logs = torch.log_softmax(logits, dim=-1)
    return -(logs.exp() * logs).sum(dim=-1)


def rank_bounds(logits: Any, targets: Sequence[int], near: float) -> tuple[Any, Any]:
    """The least and the highest rank that rounding may give to each target."""
    own = logits[torch.arange(len(targets)), torch.tensor(targets, dtype=torch.long)][:, None]
    return (logits > own + near).sum(dim=1) + 1, (logits > own - near).sum(dim=1)


def distributions(engine: CausalEngine, sequences: list[list[int]]) -> list[tuple[Any, Any]]:
    ragged = Ragged.of(sequences)
    asked = engine.start(engine.plan(ragged))
    entropies, ranks = engine.collect_distributions(asked, len(ragged.flat))
    bounds = zip(ragged.starts, ragged.lengths, strict=True)
    return [(entropies[a + 1 : a + n], ranks[a + 1 : a + n]) for a, n in bounds]


MODELS = ["gpt2", "gemma2", "cohere", "phi", "mamba"]
CUTS = [(40, 20), (17, 5), (64, 62), (30, 1)]
WINDOWS = [(tokenizer, *cut) for tokenizer in ("byte_level", "no_bos") for cut in CUTS]
TRIED = each_kind(WINDOWS, lambda case: case[1:])


@pytest.mark.parametrize(("name", "logits"), share(product(MODELS, ["in blocks", "at once", "of the model"]), 2))
def test_entropies_and_ranks_are_those_of_the_plain_distribution(name: str, logits: str) -> None:
    """At once, as on a GPU: with words that fill up the matrix, which have neither a probability nor a rank."""
    settings: dict[str, dict[str, Any]] = {
        "gemma2": {"window": 33, "final_logit_softcapping": 4.0},
        "cohere": {"logit_scale": 0.3},
    }
    model = tiny_architectures.model(tiny_architectures.configuration(name, **settings.get(name, {})))
    found = choose_engine(model)
    assert found.methods.output_layer is not None
    filled_up = output_layer.OutputLayer(
        model.get_output_embeddings(), found.methods.output_layer.adjustment, at_once=True
    )
    heads = {"in blocks": found.methods.output_layer, "at once": filled_up, "of the model": None}
    methods = replace(found.methods, output_layer=heads[logits])
    texts = tiny_architectures.texts(LENGTHS, seed=23)
    texts += [text[:2] + text[5:9] for text in texts if len(text) > 9]  # several questions to one place
    for text, (entropies, ranks) in zip(
        texts, distributions(CausalEngine(model, methods, distribution=True), texts), strict=True
    ):
        expected = logits_of(model, text)[:-1]
        assert np.abs(entropies - entropy(expected).numpy()).max(initial=0) < 1e-4
        low, high = rank_bounds(expected, text[1:], 1e-4)
        assert (ranks >= low.numpy()).all()
        assert (ranks <= high.numpy()).all()


def test_words_of_equal_probability_share_the_best_rank_in_whatever_block_they_are() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("gpt2"))
    with torch.no_grad():  # tied embeddings: these words have one and the same logit everywhere
        model.transformer.wte.weight[[3, 70, 140, 200]] = model.transformer.wte.weight[3].clone()
    engine = CausalEngine(model, choose_engine(model).methods, distribution=True)
    texts = [[5, word] for word in (3, 70, 140, 200)]
    found = [int(ranks[0]) for _, ranks in distributions(engine, texts)]
    (logits,) = logits_of(model, [5])
    assert len(set(found)) == 1
    assert found[0] == int((logits > logits[3] + 1e-4).sum()) + 1


def test_a_word_that_cannot_come_leaves_the_entropy_a_number() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("phi"))
    with torch.no_grad():
        model.lm_head.bias[60:140] = -torch.inf
    (found,) = distributions(CausalEngine(model, ScoringMethods(), distribution=True), [[5, 6, 7]])
    logits = logits_of(model, [5, 6, 7])[:-1].clamp(min=-1e4)  # else the definition gives no number
    assert np.abs(found[0] - entropy(logits).numpy()).max() < 1e-4


def test_half_precision_has_the_ranks_of_its_own_logits() -> None:
    model = tiny_architectures.model(tiny_architectures.configuration("gpt2")).to(torch.bfloat16)
    methods = ScoringMethods(output_layer=choose_engine(model).methods.output_layer)
    text = tiny_architectures.texts([40], seed=4)[0]
    ((entropies, ranks),) = distributions(CausalEngine(model, methods, distribution=True), [text])
    logits = logits_of(model, text)[:-1]
    assert np.abs(entropies - entropy(logits).numpy()).max() < 0.02
    low, high = rank_bounds(logits, text[1:], 0.1)
    assert (ranks >= low.numpy()).all()
    assert (ranks <= high.numpy()).all()


def test_log_probabilities_are_the_same_with_and_without_the_distribution(tiny_causal: Maker) -> None:
    model = load(tiny_causal())
    texts = tiny.sentences(60, seed=5)
    plain = model.score([Request(text) for text in texts])
    more = model.score([Request(text, scoring=TextScoring(distribution=True, boundary=True)) for text in texts])
    for a, b in zip(plain, more, strict=True):
        assert (a.starts, a.ends, a.token_names) == (b.starts, b.ends, b.token_names)
        assert a.logprobs == pytest.approx(b.logprobs, abs=1e-5)
        assert a.entropies is None
        assert b.entropies is not None
        assert len(b.entropies) == len(b.ranks or ()) == len(b.logprobs_with_word_end or ()) == len(b.starts)


@pytest.mark.parametrize("tokenizer", ["byte_level", "no_bos", "metaspace"])
def test_the_end_of_a_word_is_counted_beside_as_the_option_counts_it(tiny_causal: Maker, tokenizer: str) -> None:
    folder = tiny_causal("gpt2", tokenizer)
    texts = tiny.sentences(40, seed=6)
    expected = load(folder, boundary="yes").score([Request(text) for text in texts])
    found = load(folder).score([Request(text, scoring=TextScoring(boundary=True)) for text in texts])
    for a, b in zip(expected, found, strict=True):
        assert a.logprobs == pytest.approx(b.logprobs_with_word_end, abs=1e-5)


def test_both_ways_to_request_the_end_of_a_word_are_refused_together(tiny_causal: Maker) -> None:
    with pytest.raises(ModelError, match="without the option boundary"):
        load(tiny_causal(), boundary="yes").score([Request("a", scoring=TextScoring(boundary=True))])


def test_requests_of_several_readings_are_answered_in_order(tiny_causal: Maker) -> None:
    model = load(tiny_causal())
    scorings = [None, TextScoring(distribution=True), None, TextScoring(boundary=True)]
    found = model.score([Request("the boy swims", scoring=scoring) for scoring in scorings])
    assert [scored.entropies is not None for scored in found] == [False, True, False, False]
    assert [scored.logprobs_with_word_end is not None for scored in found] == [False, False, False, True]


@pytest.mark.parametrize("window_bos", [True, False])
@pytest.mark.parametrize(("tokenizer", "window", "stride"), TRIED)
def test_a_long_text_is_read_in_windows(
    tiny_causal: Maker, tokenizer: str, window: int, stride: int, window_bos: bool
) -> None:
    """Each of which begins with a BOS token, or only the first one does."""
    model = load(tiny_causal("gpt2", tokenizer))
    text = " ".join(tiny.sentences(60, seed=8))
    scoring = TextScoring(distribution=True, window=window, stride=stride, window_bos=window_bos)
    (found,) = model.score([Request(text, scoring=scoring)])
    hf = model.engine.model
    ids = model.tokenize.hf(text, add_special_tokens=False)["input_ids"]
    mark = [] if model._bos is None else [model._bos]
    room = window - len(mark)
    assert len(ids) > 5 * room
    last = room
    for place in range(len(mark) == 0, len(ids)):
        if place >= last:
            last = min(len(ids), last + stride)
        begin = last - room
        led = mark if window_bos or begin == 0 else []
        logits = logits_of(hf, led + ids[begin:place])[-1]
        assert found.logprobs[place] == pytest.approx(torch.log_softmax(logits, -1)[ids[place]].item(), abs=1e-4)
        assert found.entropies is not None
        assert found.entropies[place] == pytest.approx(entropy(logits).item(), abs=1e-4)
    assert (found.logprobs[0] is None) == (not mark)


def test_a_text_longer_than_the_context_is_read_in_windows_on_request_only(tiny_causal: Maker) -> None:
    model = load(tiny_causal())  # 512 positions
    text = " ".join(tiny.sentences(300, seed=8))
    with pytest.raises(ModelError, match="longer than the model's context of 512"):
        model.score([Request(text)])
    (default,) = model.score([Request(text, scoring=TextScoring())])
    (explicit,) = model.score([Request(text, scoring=TextScoring(window=512, stride=255))])
    assert default == explicit
    assert len(default.starts) > 1000
    short = text[:400]
    (whole,) = model.score([Request(short, scoring=TextScoring())])
    assert whole == model.score([Request(short)])[0]
    same = sum(end <= 380 for end in whole.ends)
    assert default.logprobs[:same] == pytest.approx(whole.logprobs[:same], abs=1e-5)


def test_windows_count_the_end_of_each_word_as_one_pass_does(tiny_causal: Maker) -> None:
    """Also where a window ends within a word: whether it is over is seen from the token behind."""
    model = load(tiny_causal())
    text = " ".join(f"{sentence} wugs blicked" for sentence in tiny.sentences(12, seed=3))
    (found,) = model.score([Request(text, scoring=TextScoring(boundary=True, window=24, stride=7))])
    assert found.logprobs_with_word_end is not None
    (plain,) = model.score([Request(text, scoring=TextScoring(boundary=True))])
    assert plain.logprobs_with_word_end is not None
    first = slice(0, 22)  # a window of 24 has the start mark and the token behind
    assert found.logprobs_with_word_end[first] == pytest.approx(plain.logprobs_with_word_end[first], abs=1e-4)
    opens = [name.startswith("Ġ") for name in model.tokenize.hf.tokenize(text)]
    inner = [place for place in range(1, len(opens) - 1) if not opens[place] and not opens[place + 1]]
    assert inner
    for place in inner:  # neither begins nor ends a word: nothing is counted elsewhere
        assert found.logprobs_with_word_end[place] == pytest.approx(found.logprobs[place], abs=1e-6)


@pytest.mark.parametrize("distribution", [False, True])
def test_windows_of_a_model_that_counts_word_ends_do_so_too(tiny_causal: Maker, distribution: bool) -> None:
    text = " ".join(f"{sentence} wugs blicked" for sentence in tiny.sentences(12, seed=3))
    scoring = TextScoring(window=24, stride=7, distribution=distribution)
    (found,) = load(tiny_causal(), boundary="yes").score([Request(text, scoring=scoring)])
    (expected,) = load(tiny_causal()).score([Request(text, scoring=replace(scoring, boundary=True))])
    assert found.logprobs == pytest.approx(expected.logprobs_with_word_end, abs=1e-5)
    assert found.entropies == (pytest.approx(expected.entropies, abs=1e-5) if distribution else None)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        (TextScoring(window=1000), "longer than the model's context of 512"),
        (TextScoring(window=20, stride=19), "stride must be smaller"),
        (TextScoring(window=2), "stride must be smaller"),
    ],
)
def test_windows_that_cannot_be_are_refused(tiny_causal: Maker, scoring: TextScoring, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(tiny_causal()).score([Request("the boy swims " * 20, scoring=scoring)])


@pytest.mark.parametrize("cut", [to_the_left, on_both_sides])
def test_windows_score_every_token_once_with_context(cut: Any) -> None:
    for length, size, stride in [(100, 10, 3), (11, 10, 9), (57, 8, 4), (3, 2, 1), (90, 30, 1)]:
        done = 0
        for begin, first, last, end in cut(length, size, stride):
            assert (first, end - begin) == (done, size)
            assert 0 <= begin <= first < last <= end <= length
            assert first == 0 or cut is on_both_sides or first - begin >= size - stride
            done = last
        assert done == length


def test_texts_without_tokens_have_no_values(tiny_causal: Maker) -> None:
    found = load(tiny_causal()).score([Request("", scoring=TextScoring(distribution=True, boundary=True))])
    assert found == [Scored("", (), (), (), entropies=(), ranks=(), logprobs_with_word_end=())]
