"""Models with the same tokenizer share what was tokenised; others do not."""

from __future__ import annotations

from typing import Any

import pytest

import tiny
from wug.models import _shared_tokens
from wug.models._shared_tokens import shared_tokeniser
from wug.models._tokens import Tokeniser
from wug.types import Request

REQUESTS = [Request("the cat sees a dog"), Request("a dog", span=(0, 1))]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    _shared_tokens._made.cache_clear()


def test_texts_are_tokenised_once_for_models_with_the_same_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    plain = Tokeniser.__call__

    def counted(self: Tokeniser, requests: Any, *, cut: bool = True) -> Any:
        calls.append(len(requests))
        return plain(self, requests, cut=cut)

    monkeypatch.setattr(Tokeniser, "__call__", counted)
    first, second = shared_tokeniser(tiny.byte_level_tokenizer()), shared_tokeniser(tiny.byte_level_tokenizer())
    assert first(REQUESTS) is second(REQUESTS)
    assert calls == [2]
    first(REQUESTS, cut=False)
    first([Request("a dog", span=(0, 2))])
    assert calls == [2, 2, 1]


def test_the_tokens_are_those_of_a_tokeniser_of_its_own() -> None:
    shared, own = shared_tokeniser(tiny.byte_level_tokenizer()), Tokeniser(tiny.byte_level_tokenizer())
    for _ in range(2):
        found, expected = shared(REQUESTS), own(REQUESTS)
        assert found.ids.flat.tolist() == expected.ids.flat.tolist()
        assert (found.starts.tolist(), found.ends.tolist()) == (expected.starts.tolist(), expected.ends.tolist())


def test_another_tokenizer_has_a_tokeniser_of_its_own() -> None:
    first, second = shared_tokeniser(tiny.byte_level_tokenizer()), shared_tokeniser(tiny.metaspace_tokenizer())
    third = shared_tokeniser(tiny.byte_level_tokenizer(bos=False))
    assert len({id(first), id(second), id(third)}) == 3


def test_what_was_asked_for_long_ago_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_shared_tokens, "HELD", 12)
    shared = shared_tokeniser(tiny.byte_level_tokenizer())
    kept = shared([Request("the cat")])
    for word in ("dog", "sees", "cats", "dogs"):
        shared([Request(f"the {word} and the {word}")])
    assert shared([Request("the cat")]) is not kept
    assert len(shared._held) < 5
