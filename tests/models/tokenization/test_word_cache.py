"""Tokens from a table of words are those that the tokenizer gives the whole text."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from wug.models.tokenization import word_cache
from wug.models.tokenization.tokens import OffsetTokenizer
from wug.requests import Request

LETTERS = "abc'sté日本½,.!?-9 7’ßñ́🙂x"


def backend(**settings: Any) -> Any:
    """A byte-level BPE with merges over several letters."""
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **settings})
    texts = ["abc abc's té日本 t's 97 9.7 ... abc, x½ 🙂🙂 ab", "it's 's 't 're x"] * 20
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    found.train_from_iterator(texts, trainer)
    return found


def tokeniser(**settings: Any) -> OffsetTokenizer:
    return OffsetTokenizer(
        PreTrainedTokenizerFast(tokenizer_object=backend(**settings), bos_token="<s>", eos_token="<s>")
    )


def texts(seed: int, count: int = 200) -> list[str]:
    draw = random.Random(seed)
    letters = LETTERS.replace(" ", "")
    return [
        " ".join("".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(draw.randint(1, 8)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_words_give_what_the_whole_texts_give(seed: int) -> None:
    tokenise = tokeniser()
    for some in (texts(seed), texts(seed + 10), ["abc <s>abc <s> t", "é"]):  # the second time most words are known
        fast, slow = tokenise._by_words(some), tokenise._by_offsets(some)
        assert fast is not None
        assert fast.ids.lengths.tolist() == slow.ids.lengths.tolist()
        assert fast.ids.flat.tolist() == slow.ids.flat.tolist()
        assert fast.starts.tolist() == slow.starts.tolist()
        assert fast.ends.tolist() == slow.ends.tolist()


@pytest.mark.parametrize("text", ["two  spaces", " one before", "after ", "a\ttab", "a\u00a0hard space", "", "\n"])
def test_texts_of_more_than_words_are_left_to_the_tokenizer(text: str) -> None:
    tokenise = tokeniser()
    assert tokenise._by_words(["abc x", text]) is None
    slow = tokenise._by_offsets(["abc x", text])
    found = tokenise([Request("abc x"), Request(text)])
    assert found.starts.tolist() == slow.starts.tolist()
    assert tokenise._by_words(["abc x"]) is not None


def test_other_tokenizers_have_no_table() -> None:
    assert tokeniser(add_prefix_space=True)._words is None
    assert tokeniser(use_regex=False)._words is None
    reaching = backend()

    reaching.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    assert not word_cache.tokenizes_words_separately(reaching)


def test_a_table_that_grew_too_large_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_cache, "MAX_WORDS", 10)
    tokenise = tokeniser()
    for seed in range(3):
        some = texts(seed, 9)
        found = tokenise._by_words(some)
        assert found is not None
        assert found.ids.flat.tolist() == tokenise._by_offsets(some).ids.flat.tolist()
