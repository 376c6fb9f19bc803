"""Decoder-only models answer a prompt as they do alone, up to a stop, whatever the batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2LMHeadModel

import tiny
import tiny_seq2seq
from answers import noticed, texts
from case_selection import examples
from evaluating import cached
from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.evaluate import evaluate
from wug.models import prompt
from wug.models.prompt import PromptTemplate
from wug.models.spec import TEMPLATE, ModelSpec
from wug.requests import Answer

Maker = Callable[..., Path]
ARCHITECTURES = ["gpt2", "llama", "gpt_neox", "opt", "mamba"]


def load(folder: Path, **options: str) -> prompt.PromptedModel:
    return prompt.load(ModelSpec("prompt", str(folder), options={"device": "cpu", **options}))


def plain(folder: Path, text: str, most: int) -> str:
    """What follows a text, token by token, no batch, no cache, no generate()."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokens = tokenizer(text)["input_ids"]
    written: list[int] = []
    with torch.no_grad():
        while len(written) < most:
            token = int(model(torch.tensor([tokens + written]), use_cache=False).logits[0, -1].argmax())
            if token == tokenizer.eos_token_id:
                break
            written.append(token)
    following: str = tokenizer.decode(written)
    return following


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_answers_equal_the_plain_computation(tiny_causal: Maker, architecture: str) -> None:
    folder = tiny_causal(architecture)
    sources = tiny.sentences(6, seed=5)
    answers = texts(load(folder, max_length="7").generate(sources))
    assert answers == [plain(folder, f"{source} ->", 7).partition("\n")[0].strip() for source in sources]
    assert len(set(answers)) > 2


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_an_answer_does_not_depend_on_the_batch(tiny_causal: Maker, data: st.DataObject) -> None:
    architecture = data.draw(st.sampled_from(["gpt2", "llama", "gpt_neox", "opt"]))
    sources = data.draw(st.lists(st.sampled_from(tiny.sentences(30)), min_size=1, max_size=8))
    batch = data.draw(st.sampled_from(["1", "60", "100000"]))
    model = load(tiny_causal(architecture), max_length="6", batch=batch)
    alone = {source: texts(model.generate([source]))[0] for source in sources}
    many = sources + data.draw(st.permutations(sources))
    assert texts(model.generate(many)) == [alone[source] for source in many]


def test_a_model_that_cannot_be_filled_up_is_asked_in_equal_lengths(
    tiny_causal: Maker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sources = tiny.sentences(8)
    expected = texts(load(tiny_causal("gpt2"), max_length="5").generate(sources))
    generate = GPT2LMHeadModel.generate

    def blind(self: object, *, attention_mask: object, **rest: object) -> object:
        return generate(self, attention_mask=attention_mask * 0 + 1, **rest)  # type: ignore[operator]

    monkeypatch.setattr(GPT2LMHeadModel, "generate", blind)
    model = load(tiny_causal("gpt2"), max_length="5")
    assert not model.decoder.padded
    assert "batches of equal length" in caplog.text
    assert texts(model.generate(sources)) == expected


def test_an_answer_ends_at_the_stop(tiny_causal: Maker) -> None:
    folder = tiny_causal("gpt2")
    (source,) = tiny.sentences(1, seed=9)
    whole = plain(folder, f"{source} ->", 12)
    stop = whole[5]
    (answer,) = load(folder, max_length="12", stop=stop).generate([source])
    assert answer == Answer(whole.partition(stop)[0].strip())


def test_a_stop_spares_the_rest_of_the_way(tiny_causal: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_causal("gpt2")
    (source,) = tiny.sentences(1, seed=9)
    stop = plain(folder, f"{source} ->", 12)[5]
    model = load(folder, max_length="50", stop=stop)
    generate, widths = model.decoder._generate, []

    def watching(rows: list[list[int]], bound: int) -> object:
        found = generate(rows, bound)
        widths.append(found["sequences"].shape[1])
        return found

    monkeypatch.setattr(model.decoder, "_generate", watching)
    model.generate([source])
    assert widths[0] <= 12


def test_an_answer_without_an_end_says_so(tiny_causal: Maker) -> None:
    assert noticed(load(tiny_causal("gpt2"), max_length="2").generate(tiny.sentences(3)), "cut off") == 3


def test_a_prompt_that_leaves_no_room_gets_an_empty_answer(tiny_causal: Maker) -> None:
    model = load(tiny_causal("gpt2"), max_length="4")
    answers = model.generate(["the " * 600, "the boy"])
    assert answers[0].text == ""
    assert noticed(answers[:1], "more than the 512 tokens that the model takes") == 1
    assert noticed(answers[1:], "tokens that the model takes") == 0


def test_the_default_template_puts_an_arrow_behind_the_source() -> None:
    assert PromptTemplate.of(TEMPLATE.default).prompt("copy A1") == "copy A1 ->"


def test_examples_stand_before_the_question_with_their_answers() -> None:
    template = PromptTemplate.of("{source} ->", [("copy A1", "A1"), ("echo B2", "B2 B2")])
    assert template.prompt("copy C3") == "copy A1 -> A1\necho B2 -> B2 B2\ncopy C3 ->"


def test_a_template_says_where_answers_stand_and_what_follows_them() -> None:
    template = PromptTemplate.of(r"Q: {source}\nA: {answer}\n\n", [("copy A1", "A1")])
    assert template.prompt("copy C3") == "Q: copy A1\nA: A1\n\nQ: copy C3\nA:"


def test_braces_and_backslashes_in_sources_and_templates_are_plain_text() -> None:
    assert PromptTemplate.of(r"a\\n {b} {source}").prompt("{answer} \\n") == "a\\n {b} {answer} \\n"


@pytest.mark.parametrize("text", ["no place", "{source} {source}", "{answer} {source}", "{source} {answer} {answer}"])
def test_a_template_without_its_places_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="template"):
        PromptTemplate.of(text)


def test_examples_are_read_from_a_file_and_are_part_of_the_identity(tiny_causal: Maker, tmp_path: Path) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("copy A1\tA1\r\necho B2\tB2 B2\r\n")
    model = load(tiny_causal("gpt2"), examples=str(path))
    assert model._template.prompt("x") == "copy A1 -> A1\necho B2 -> B2 B2\nx ->"
    path.write_text("copy A1\tA2\n")
    assert load(tiny_causal("gpt2"), examples=str(path)).options["examples"] != model.options["examples"]
    assert model.options["template"] == "{source} -> {answer}\n"


def test_an_example_without_an_answer_is_an_error_with_its_line(tiny_causal: Maker, tmp_path: Path) -> None:
    path = tmp_path / "examples.tsv"
    path.write_text("copy A1\tA1\ncopy A1 A1\n")
    with pytest.raises(InputError, match=r"examples\.tsv, line 2: expected source<TAB>answer, found 'copy A1 A1'"):
        load(tiny_causal("gpt2"), examples=str(path))


def test_wrong_options_and_folders_are_errors(tiny_causal: Maker, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'template'"):
        load(tiny_causal("gpt2"), templat="{source}")
    with pytest.raises(InputError, match="stop is empty"):
        load(tiny_causal("gpt2"), stop="")
    with pytest.raises(ModelError, match=r"no config\.json"):
        load(tmp_path)


def test_the_five_pcfg_set_tests_run_end_to_end(tiny_causal: Maker, tmp_path: Path) -> None:
    model = load(tiny_causal("gpt2"), max_length="6")
    results = list(evaluate(tiny_seq2seq.pcfg_tests(tmp_path), cached(model)))
    assert [result.status for result in results] == ["complete"] * 5
