"""Chat templates: scores against plain transformers, and every trap of a template."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import tiny_chat
from evaluating import cached
from wug.errors import InputError, ModelError
from wug.evaluation.cache import Cache
from wug.evaluation.models import open_model
from wug.models.tokenization.chat_templates import ChatTemplate
from wug.requests import Chat, Request

SENTENCES = ("the boy swims .", "the boy swim .", "naïve authors see what she gave .")
USER = (("user", "Write one sentence."),)


def form(template: str | None, *, bos: bool = True) -> ChatTemplate:
    return ChatTemplate(tiny_chat.tokenizer(template, bos=bos), "tiny")


def rendered(template: str, messages: tuple[tuple[str, str], ...], *, answers: bool = False) -> str:
    (found,) = form(template).render([Request("the boy .", chat=Chat(messages, answers=answers))])
    return found.full_text


# Written out by hand from the templates.
HEADERS = {
    "llama": "<|endoftext|><|start|>user<|header|>\n\nWrite one sentence.<|end|><|start|>assistant<|header|>\n\n",
    "qwen": "<|start|>system\nYou are a helpful assistant.<|end|>\n<|start|>user\nWrite one sentence.<|end|>\n"
    "<|start|>assistant\n",
    "gemma": "<|endoftext|><|start|>user\nWrite one sentence.<|end|>\n<|start|>model\n",
    "mistral": "<|endoftext|>[INST] Write one sentence. [/INST]",
}


@pytest.mark.parametrize("name", tiny_chat.TEMPLATES)
def test_a_sentence_in_a_template_has_the_score_of_plain_transformers(name: str, tmp_path: Path) -> None:
    folder = tiny_chat.save(tmp_path / name, tiny_chat.TEMPLATES[name])
    scored = open_model(f"causal:{folder}").score([Request(text, chat=USER) for text in SENTENCES])
    for text, found in zip(SENTENCES, scored, strict=True):
        assert found.text == text
        assert (found.starts[0], found.ends[-1]) == (0, len(text))
        assert found.logprob() == pytest.approx(tiny_chat.logprob_after(folder, HEADERS[name], text), abs=1e-4)


@pytest.mark.parametrize("name", tiny_chat.TEMPLATES)
def test_an_answer_follows_the_generation_prompt(name: str) -> None:
    assert rendered(tiny_chat.TEMPLATES[name], USER, answers=True) == HEADERS[name] + "the boy ."


def test_a_text_after_a_plain_text_is_scored_after_the_start_token(tmp_path: Path) -> None:
    folder = tiny_chat.save(tmp_path / "m", None)
    chat = Chat((("text", "A good sentence:\n\n"),), plain=True)
    (found,) = open_model(f"causal:{folder}").score([Request("the boy .", chat=chat)])
    expected = tiny_chat.logprob_after(folder, "<|endoftext|>A good sentence:\n\n", "the boy .")
    assert found.logprob() == pytest.approx(expected, abs=1e-4)  # without the tokens of the line breaks


def test_generated_text_is_the_greedy_one(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny_chat.save(tmp_path / "m", tiny_chat.LLAMA)
    opened = open_model(f"causal:{folder}")
    before_and_after = [Request(text, chat=USER) for text in SENTENCES]
    scored = opened.score(before_and_after)
    (found,) = opened.score([Request("", chat=USER, generate=3)])
    assert opened.score(before_and_after) == scored
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids: list[int] = tokenizer(HEADERS["llama"], add_special_tokens=False)["input_ids"]
    before = len(ids)
    for _ in range(3):
        with torch.no_grad():
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    assert found.token_names == (tokenizer.decode(ids[before:], skip_special_tokens=True),)
    assert found.logprobs == (None,)


def test_what_is_read_before_a_text_is_part_of_the_cache_key(tmp_path: Path) -> None:
    model = cached(open_model(f"causal:{tiny_chat.save(tmp_path / 'm', tiny_chat.LLAMA)}"), Cache())
    chats = [
        None,
        Chat(USER),
        Chat((("user", "Write."),)),
        Chat(USER, answers=True),
        Chat(USER, plain=True),
        Chat(USER, template=tiny_chat.GEMMA),
        Chat(USER, wrapper="another"),
    ]
    model.score([Request("the boy .", chat=chat) for chat in chats])
    assert model.computed == len(chats)
    model.score([Request("the boy .", chat=chat) for chat in chats] + [Request("the boy .", chat=Chat(USER))])
    assert model.computed == len(chats)


def test_a_template_that_drops_the_system_turn_is_recognised() -> None:
    system = (("system", "Be brief."), *USER)
    assert "drops the system turn" in str(form(tiny_chat.MISTRAL).refuses_system(None))
    assert "System role not supported" in str(form(tiny_chat.GEMMA).refuses_system(None))
    assert form(tiny_chat.LLAMA).refuses_system(None) is None
    with pytest.raises(ModelError, match="drops the system turn"):
        form(tiny_chat.MISTRAL).check([Request("the boy .", chat=system)])
    with pytest.raises(ModelError, match="cannot render turns of system, user, assistant: System role not supported"):
        form(tiny_chat.GEMMA).check([Request("the boy .", chat=system)])


def test_a_template_that_trims_texts_is_refused_where_it_changes_one() -> None:
    form(tiny_chat.GEMMA).check([Request("the boy .", chat=USER)])
    form(tiny_chat.QWEN).check([Request(" the boy .", chat=USER)])
    with pytest.raises(ModelError, match=r"changes ' the boy \.'"):
        form(tiny_chat.GEMMA).check([Request(" the boy .", chat=USER)])
    with pytest.raises(ModelError, match=r"changes the text of a turn, or leaves it out \(user: '.nWrite.'\)"):
        form(tiny_chat.GEMMA).check([Request("A", chat=Chat((("user", "\nWrite."),), answers=True))])


def test_control_tokens_in_texts_are_refused() -> None:
    question = Chat((("user", "Which?"),), answers=True)
    for requests in (
        [Request("the <|end|> boy", chat=USER)],
        [Request("A", chat=(("user", "Is it <|start|>?"),))],
        [Request("A", chat=question), Request("<|end|>", chat=question)],
    ):
        with pytest.raises(ModelError, match="a control token of the model"):
            form(tiny_chat.QWEN).check(requests)


def test_a_date_in_the_template_is_named() -> None:
    dated = tiny_chat.QWEN.replace("You are a helpful assistant.", "Today is ' + strftime_now('%d %b %Y') + '.")
    assert any("date" in notice for notice in form(dated).wrapper(Chat(USER)).notices)
    # A system turn of the user's takes the place of the one with the date.
    assert form(dated).wrapper(Chat((("system", "Be brief."), *USER))).notices == ()


def test_a_start_token_that_is_written_twice_or_not_at_all_is_named() -> None:
    twice = form("{{- bos_token -}}" + tiny_chat.LLAMA).wrapper(Chat(USER))
    assert any("twice" in notice for notice in twice.notices)
    assert form(tiny_chat.LLAMA).wrapper(Chat(USER)).notices == ()
    assert rendered(tiny_chat.LLAMA, USER).count("<|endoftext|>") == 1
    from tokenizers.processors import TemplateProcessing

    tokenizer = tiny_chat.tokenizer(tiny_chat.QWEN)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", tokenizer.bos_token_id)]
    )
    assert any("no BOS token" in notice for notice in ChatTemplate(tokenizer, "tiny").wrapper(Chat(USER)).notices)


def test_without_generation_prompt_answers_are_in_an_open_turn_with_a_warning() -> None:
    without = tiny_chat.QWEN.partition("{%- if add_generation_prompt")[0]
    assert rendered(without, USER, answers=True) == HEADERS["qwen"] + "the boy ."
    assert any("add_generation_prompt" in one for one in form(without).wrapper(Chat(USER, answers=True)).notices)
    # In a Mistral-like template the user turn ends with the mark of an answer.
    found = form(tiny_chat.MISTRAL).wrapper(Chat(USER, answers=True)).notices
    assert found == ("the chat template has no generation prompt (it ignores add_generation_prompt)",)


def test_a_generation_prompt_that_differs_from_the_header_of_a_turn_is_shown() -> None:
    thinking = tiny_chat.QWEN.replace("assistant\n' -}}{%- endif -%}", "assistant\n<think>\n' -}}{%- endif -%}")
    (notice,) = form(thinking).wrapper(Chat(USER)).notices
    assert r"'<|end|>\n<|start|>assistant\n'" in notice
    assert r"'<|end|>\n<|start|>assistant\n<think>\n': texts follow the first" in notice
    (other,) = form(thinking).wrapper(Chat(USER, answers=True)).notices
    assert other.endswith("texts follow the second")


def test_a_token_across_the_start_of_a_sentence_is_refused_and_of_a_label_unscored(tmp_path: Path) -> None:
    spaced = tiny_chat.MISTRAL.replace("message['content'] + eos_token", "' ' + message['content'] + eos_token")
    with pytest.raises(ModelError, match=r"the token ' the' begins before the text 'the boy \.'"):
        form(spaced).check([Request("the boy .", chat=USER)])
    folder = tiny_chat.save(tmp_path / "m", tiny_chat.QWEN)
    chat = Chat((("text", "Which one? "),), plain=True, answers=True)
    (found,) = open_model(f"causal:{folder}").score([Request("the", chat=chat)])
    assert found.logprobs == ()


def test_a_model_without_template_names_the_remedy() -> None:
    assert not form(None).has_template(None)
    assert form(None).has_template(tiny_chat.QWEN)
    with pytest.raises(ModelError, match=r"no chat template. Name a file with one .-S chat_template=FILE"):
        form(None).check([Request("the boy .", chat=USER)])
    assert form(None).render([Request("a", chat=Chat(USER, tiny_chat.GEMMA))])[0].full_text == HEADERS["gemma"] + "a"


def test_a_template_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ModelError, match="its chat template cannot render turns of user"):
        form(None).wrapper(Chat(USER, "{% for %}"))


def test_the_checksum_of_the_wrapper_depends_on_template_and_messages_alone() -> None:
    def checksum(template: str, *messages: tuple[str, str]) -> str:
        return form(template).wrapper(Chat((*messages, *USER))).checksum

    assert checksum(tiny_chat.QWEN) == checksum(tiny_chat.QWEN)
    assert len({checksum(one) for one in tiny_chat.TEMPLATES.values()}) == 4
    assert checksum(tiny_chat.QWEN) != checksum(tiny_chat.QWEN, ("system", "Be brief."))


def test_a_text_that_is_too_long_with_its_template_is_an_error_with_both_lengths(tmp_path: Path) -> None:
    folder = tiny_chat.save(tmp_path / "m", tiny_chat.QWEN, max_position_embeddings=32)
    with pytest.raises(ModelError, match=r"a text of \d+ tokens is longer than the model's context of 32"):
        open_model(f"causal:{folder}").score([Request("the boy .", chat=USER)])
    with pytest.raises(ModelError, match=r"a prompt of \d+ tokens with an answer of 8 is longer"):
        open_model(f"causal:{folder}").score([Request("", chat=USER, generate=8)])


def test_a_tokenizer_without_offsets_is_refused_before_anything_is_rendered() -> None:
    with pytest.raises(ModelError, match="no character offsets"):
        ChatTemplate(SimpleNamespace(is_fast=False), "tiny")


def test_messages_are_pairs_of_role_and_text() -> None:
    with pytest.raises(InputError, match="'user' is not a turn"):
        _ = Request("a", chat=["user"]).conversation  # type: ignore[list-item]
