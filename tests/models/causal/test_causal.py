"""Causal models score as the plain, unbatched computation does, whatever the batch."""

from __future__ import annotations

import json
import logging
import math
import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from tokenizers import processors
from transformers import AutoModelForCausalLM, AutoTokenizer

import tiny
import tiny_chat
from answers import assert_same, assert_same_scores
from case_selection import examples
from wug.errors import InputError, ModelError, UnknownName
from wug.models import causal
from wug.models.spec import ModelSpec
from wug.requests import Request, Scored

Maker = Callable[..., Path]
ARCHITECTURES = ["gpt2", "llama", "gpt_neox", "opt", "mamba"]


def load(folder: Path, **options: str) -> causal.CausalModel:
    return causal.load(ModelSpec("causal", str(folder), options={"device": "cpu", **options}))


@cache
def loaded(folder: Path) -> causal.CausalModel:
    return load(folder)


@cache
def transformers_alone(folder: Path) -> tuple[Any, Any]:
    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()


def plain(folder: Path, text: str, *, bos: bool = True) -> list[float | None]:
    """One text through transformers alone: no batch, no padding, no mask of ours."""
    tokenizer, model = transformers_alone(folder)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    lead = [tokenizer.bos_token_id] if bos else []
    if len(lead + ids) < 2:
        return [None] * (len(ids) - len(lead)) if not bos else []
    with torch.no_grad():
        shares = model(torch.tensor([lead + ids])).logits[0].log_softmax(-1)
    found = [shares[place, token].item() for place, token in enumerate((lead + ids)[1:])]
    return found if bos else [None, *found]


@pytest.mark.parametrize("tokenizer", ["byte_level", "metaspace"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_equal_the_plain_computation(tiny_causal: Maker, architecture: str, tokenizer: str) -> None:
    folder = tiny_causal(architecture, tokenizer)
    texts = [*tiny.sentences(25, seed=3), "", " ", "the boy  swims .", "日本 the café", "x" * 150]
    for text, scored in zip(texts, loaded(folder).score([Request(text) for text in texts]), strict=True):
        assert_same(scored.logprobs, plain(folder, text))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_trees_are_used_where_the_architecture_takes_them(
    tiny_causal: Maker, architecture: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        model = load(tiny_causal(architecture))
    assert (model.engine.methods.layout is not None) == (architecture != "mamba")
    assert ("sentence by sentence" in caplog.text) == (architecture == "mamba")


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_scores_do_not_depend_on_batch_order_or_duplicates(tiny_causal: Maker, data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(["gpt2", "llama", "gpt_neox", "opt"]))
    words = st.lists(st.sampled_from(tiny.WORDS), min_size=0, max_size=12).map(" ".join)
    texts = data.draw(st.lists(words | st.text(max_size=12), min_size=1, max_size=30))
    model = loaded(tiny_causal(architecture))
    model.engine.nodes = data.draw(st.sampled_from([1, 128, 500, 4096]))
    alone = {text: model.score([Request(text)])[0].logprobs for text in texts}
    many = texts + data.draw(st.permutations(texts))
    for text, scored in zip(many, model.score([Request(text) for text in many]), strict=True):
        assert_same(scored.logprobs, alone[text])


def test_a_model_without_a_start_mark_gives_no_probability_to_the_first_token(tiny_causal: Maker) -> None:
    folder = tiny_causal("llama", "no_bos")
    (scored,) = load(folder).score([Request("the boy swims")])
    assert scored.logprobs[0] is None
    assert_same(scored.logprobs, plain(folder, "the boy swims", bos=False))


def with_default_start(tokenizer: Any, start: str) -> Any:
    """The tokenizer, which by default puts the token `start` before a text."""
    special = [(start, tokenizer.convert_tokens_to_ids(start))]
    template = processors.TemplateProcessing(single=f"{start} $A", special_tokens=special)
    tokenizer.backend_tokenizer.post_processor = template
    return tokenizer


def test_a_bos_token_that_the_tokenizer_does_not_add_is_said_once(
    tiny_causal: Maker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        load(tiny_causal()).score([Request("the boy swims"), Request("the boy")])
    (said,) = caplog.messages
    assert said == (
        "texts are scored after the BOS token '<|endoftext|>', but by default the tokenizer (TokenizersBackend) puts "
        "no token before a text: other programs may give other numbers. bos=no scores them so, bos=yes as now and "
        "without this warning"
    )


@pytest.mark.parametrize("bos", ["yes", "no"])
def test_nothing_is_said_about_a_bos_token_that_was_requested_or_refused(
    tiny_causal: Maker, caplog: pytest.LogCaptureFixture, bos: str
) -> None:
    with caplog.at_level(logging.WARNING, "wug"):
        load(tiny_causal(), bos=bos).score([Request("the boy")])
    assert not caplog.messages


def test_nothing_is_said_about_a_bos_token_that_the_tokenizer_adds_or_does_not_have(
    tiny_causal: Maker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    adds = with_default_start(tiny.byte_level_tokenizer(), "<|endoftext|>")
    with caplog.at_level(logging.WARNING, "wug"):
        load(tiny.save_causal(tmp_path, tokenizer=adds)).score([Request("the boy")])
        load(tiny_causal("llama", "no_bos")).score([Request("the boy")])
    assert not caplog.messages


def test_nothing_is_said_about_a_bos_token_where_a_chat_template_writes_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tiny_chat.save(tmp_path, tiny_chat.LLAMA)
    with caplog.at_level(logging.WARNING, "wug"):
        load(folder).score([Request("the boy", chat=(("user", "Write."),))])
    assert not caplog.messages


def test_a_token_that_the_tokenizer_adds_and_wug_does_not_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    adds = with_default_start(tiny.byte_level_tokenizer(bos=False), "<|endoftext|>")
    with caplog.at_level(logging.WARNING, "wug"):
        load(tiny.save_causal(tmp_path, tokenizer=adds)).score([Request("the boy")])
    (said,) = caplog.messages
    assert said.startswith(
        "texts are scored without a BOS token, but by default the tokenizer (TokenizersBackend) puts"
    )
    assert "'<|endoftext|>' before a text" in said


def test_the_start_mark_can_be_left_out_or_named(tiny_causal: Maker) -> None:
    folder = tiny_causal()
    with_mark, without = load(folder), load(folder, bos="no")
    assert without.score([Request("the boy")])[0].logprobs[0] is None
    named = load(tiny_causal("gpt2", "no_bos"), bos="<|endoftext|>")
    assert named.score([Request("the boy")])[0].logprobs[0] is not None
    assert (with_mark.options["bos"], without.options["bos"]) == ("yes", "no")
    with pytest.raises(ModelError, match="no such token"):
        load(folder, bos="[NONE]")


@pytest.mark.parametrize("tokenizer", ["byte_level", "metaspace"])
def test_a_token_starts_at_its_first_visible_character(tiny_causal: Maker, tokenizer: str) -> None:
    text = "the boy  swims near café , 3 dogs"
    (scored,) = load(tiny_causal("gpt2", tokenizer)).score([Request(text)])
    assert list(scored.starts) == sorted(scored.starts)
    assert all(not text[start].isspace() for start in scored.starts)
    words = {start for start in range(len(text)) if text[start] != " " and (start == 0 or text[start - 1] == " ")}
    assert words <= set(scored.starts)


def test_a_span_needs_nothing_after_it(tiny_causal: Maker) -> None:
    model = load(tiny_causal())
    whole, part = model.score([Request("the boy swims near the park"), Request("the boy swims near the park", (8, 13))])
    assert part.starts == tuple(start for start in whole.starts if start < 13)
    assert part.logprob(8, 13) == pytest.approx(whole.logprob(8, 13), abs=1e-4)


def word_by_word(folder: Path, text: str, *, published: bool = False) -> list[float]:
    """Each token's corrected log-probability by Pimentel & Meister's formula, from transformers alone.

    P(token), over P(any token that may begin a word) where it begins one, times P(a word begins) after the last
    token of a word. The released code counts the end mark twice among the tokens that may begin a text.
    """
    tokenizer, network = transformers_alone(folder)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    names = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    with torch.no_grad():
        shares = network(torch.tensor([[tokenizer.bos_token_id, *ids]])).logits[0].double().softmax(-1)
    end = tokenizer.eos_token_id
    spaced = [index for index, name in enumerate(names) if name[0] in "Ġ▁"]
    later = [*spaced, *{end, tokenizer.bos_token_id}]
    first = [index for index in range(len(tokenizer)) if index not in spaced] + [end] * published
    found = []
    for place, token in enumerate(ids):
        share = shares[place, token]
        if token in spaced:
            share = share / shares[place, later].sum()
        elif place == 0:
            share = share / shares[place, first].sum()
        if place == len(ids) - 1 or ids[place + 1] in spaced:
            share = share * shares[place + 1, later].sum()
        found.append(math.log(share))
    return found


BOUNDARY_TEXTS = ["the boy swims", "swims", "near , the café 3 dogs", "dogs . the boy", " the boy", "x"]


@pytest.mark.parametrize("engine", ["auto", "plain"])
@pytest.mark.parametrize(
    ("tokenizer", "boundary"), [("byte_level", "yes"), ("byte_level", "published"), ("metaspace", "yes")]
)
def test_the_word_boundary_correction_moves_the_end_of_a_word_to_it(
    tiny_causal: Maker, tokenizer: str, boundary: str, engine: str
) -> None:
    folder = tiny_causal("gpt2", tokenizer)
    model = load(folder, boundary=boundary, engine=engine)
    assert model.options["boundary"] == boundary
    texts = [*BOUNDARY_TEXTS, *tiny.sentences(30, seed=6)]
    for text, scored in zip(texts, model.score([Request(text) for text in texts]), strict=True):
        assert_same(scored.logprobs, word_by_word(folder, text, published=boundary == "published"))


def test_the_correction_of_the_first_word_needs_a_start_mark(tiny_causal: Maker) -> None:
    (with_mark,) = load(tiny_causal(), boundary="yes").score([Request("swims near")])
    (without,) = load(tiny_causal(), boundary="yes", bos="no").score([Request("swims near")])
    assert without.logprobs[0] is None
    assert with_mark.logprobs[0] is not None


def test_a_span_is_corrected_as_in_the_whole_text(tiny_causal: Maker) -> None:
    """Whether a word ends with the span is seen from what comes after it."""
    text = "the boy's dog , the café"
    model = load(tiny_causal(), boundary="yes")
    whole, part = model.score([Request(text), Request(text, (4, 7))])
    assert part.logprob(4, 7) == pytest.approx(whole.logprob(4, 7), abs=1e-4)


def test_the_published_correction_wants_the_tokenizers_of_the_paper(tiny_causal: Maker) -> None:
    with pytest.raises(ModelError, match="boundary=published needs a tokenizer with Ġ"):
        load(tiny_causal("gpt2", "metaspace"), boundary="published")
    with pytest.raises(InputError, match="boundary=maybe: use one of no, yes, published"):
        load(tiny_causal(), boundary="maybe")


def test_the_boundary_correction_agrees_between_trees_and_the_plain_way(tiny_causal: Maker) -> None:
    texts = [Request(text) for text in tiny.sentences(40, seed=9)]
    trees = load(tiny_causal(), boundary="yes").score(texts)
    one_by_one = load(tiny_causal(), boundary="yes", engine="plain").score(texts)
    assert_same_scores(trees, one_by_one)


def test_running_out_of_memory_halves_the_batch_and_goes_on(
    tiny_causal: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = load(tiny_causal())
    texts = [Request(text) for text in tiny.sentences(120, seed=2)]
    expected = model.score(texts)
    compute = model.engine._compute

    def cramped(batch: object, low: int, high: int) -> object:
        if high - low > 1:
            raise torch.OutOfMemoryError("no room")
        return compute(batch, low, high)  # type: ignore[arg-type]

    monkeypatch.setattr(model.engine, "_compute", cramped)
    with caplog.at_level(logging.WARNING, "wug"):
        found = model.score(texts)
    assert "memory ran out" in caplog.text
    assert_same_scores(found, expected)


def test_other_weights_have_another_identity(tmp_path: Path) -> None:
    first = load(tiny.save_causal(tmp_path / "a" / "model", seed=0))
    second = load(tiny.save_causal(tmp_path / "b" / "model", seed=1))
    again = load(Path(shutil.copytree(tmp_path / "a" / "model", tmp_path / "c" / "model")))
    assert first.id != second.id
    assert first.id == again.id
    (tmp_path / "c" / "model" / "README.md").write_text("words", encoding="utf-8")
    assert load(tmp_path / "c" / "model").id == first.id


def test_a_text_longer_than_the_context_is_refused(tiny_causal: Maker) -> None:
    with pytest.raises(ModelError, match=r"longer than the model's context of 512"):
        load(tiny_causal()).score([Request("boy " * 600)])


def test_a_model_that_looks_ahead_is_refused(tmp_path: Path) -> None:
    tiny.save_causal(tmp_path, "bert")
    config = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps(config | {"is_decoder": False}), encoding="utf-8")
    with pytest.raises(ModelError, match="not a causal model"):
        load(tmp_path)


def test_a_checkpoint_without_all_weights_is_refused(tmp_path: Path) -> None:
    tiny.save_causal(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["transformer.h.0.mlp.c_fc.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="would be random"):
        load(tmp_path)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    tiny.save_causal(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["transformer.ln_f.weight"][:] = math.nan
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="NaN"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./nowhere", "no such folder"),
        ("no-such-model-anywhere", "neither a local folder nor a model on the Hugging Face Hub"),
    ],
)
def test_a_model_that_is_not_there_gives_a_clear_message(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        causal.load(ModelSpec("causal", name))


def test_an_unknown_option_names_the_nearest(tiny_causal: Maker) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'dtype'"):
        load(tiny_causal(), dtyp="float16")


def test_half_precision_is_in_the_identity_and_close(tiny_causal: Maker) -> None:
    tiny.assert_close_in_half_precision(load, tiny_causal())


def test_no_requests_no_answers(tiny_causal: Maker) -> None:
    answers: Sequence[Scored] = load(tiny_causal()).score([])
    assert answers == []


def test_shuffled_requests_come_back_in_order(tiny_causal: Maker) -> None:
    tiny.assert_in_order(load(tiny_causal()))


def test_positions_that_begin_behind_the_padding_shorten_the_context(tmp_path: Path) -> None:
    """RoBERTa's first position is the second after that of the padding mark."""
    tiny.save_causal(tmp_path, "roberta")
    model = load(tmp_path)
    limit = transformers_alone(tmp_path)[1].config.max_position_embeddings - 2
    tokens = [1] + [5] * (limit - 1)
    assert len(model.engine.logprobs([tokens])[0]) == limit - 1
    with pytest.raises(ModelError, match=f"longer than the model's context of {limit}"):
        model.score([Request("boy " * 600)])


def test_a_span_has_the_factors_of_the_whole_text(tmp_path: Path) -> None:
    """With longrope the length of the text changes every score, so that nothing may be cut off."""
    rope = {
        "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 16,
        "short_factor": [1.0] * 4, "long_factor": [1.0, 4.0, 9.0, 16.0],
    }  # fmt: skip
    folder = tiny.save_causal(tmp_path, "phi3", rope_parameters=rope, original_max_position_embeddings=16)
    text = " ".join(["the boy swims near the park"] * 5)
    whole, part, short = load(folder).score([Request(text), Request(text, (4, 7)), Request(text[:13])])
    assert_same(whole.logprobs, plain(folder, text))
    assert_same(short.logprobs, plain(folder, text[:13]))
    assert part.logprob(4, 7) == pytest.approx(whole.logprob(4, 7), abs=1e-4)
    assert abs(short.logprob(4, 7) - whole.logprob(4, 7)) > 1e-3
