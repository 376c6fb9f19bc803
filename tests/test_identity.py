"""Model ids and groups: parsed and printed in one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.identity import Group, ModelId

WORD = st.text(st.characters(codec="utf-8", exclude_characters="/@="), min_size=1)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("causal/gpt2@607a30d", ("causal", "gpt2", "607a30d")),
        ("causal/EleutherAI/pythia-70m@607a30d", ("causal", "EleutherAI/pythia-70m", "607a30d")),
        ("endpoint/http://host:1/v1@me@abc", ("endpoint", "http://host:1/v1@me", "abc")),
        ("letters/2.5", ("letters", "2.5", "")),
        ("mean", ("", "mean", "")),
        ("a/", ("", "a/", "")),
    ],
)
def test_a_model_id_is_split_into_backend_name_and_fingerprint(text: str, parts: tuple[str, str, str]) -> None:
    assert ModelId.parse(text) == ModelId(*parts)
    assert str(ModelId.parse(text)) == text


@given(WORD, WORD, st.just("") | WORD)
def test_a_printed_model_id_is_parsed_to_itself(kind: str, name: str, fingerprint: str) -> None:
    assert ModelId.parse(str(ModelId(kind, name, fingerprint))) == ModelId(kind, name, fingerprint)


def test_the_value_of_a_group_may_contain_an_equals_sign() -> None:
    assert Group.parse("formula=a=b") == Group("formula", "a=b")
    assert str(Group("formula", "a=b")) == "formula=a=b"


def test_the_overall_group_is_printed_as_all() -> None:
    assert Group.parse("all").is_overall
    assert str(Group("all")) == "all"
    assert not Group("all", "x").is_overall
