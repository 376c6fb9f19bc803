"""Offsets of a server's tokens in a text, worked out by hand; U+FFFD is a part of a character."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import InputError
from wug.models.tokenization.token_offsets import PART, spans_of_suffix, token_spans


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("The dogs", ["The", " dogs"], [(0, 3), (4, 8)]),
        ("The dogs", ["The ", "dogs"], [(0, 3 + 1), (4, 8)]),
        ("The dogs", ["The", "do", "gs"], [(0, 3), (4, 6), (6, 8)]),
        ("The  dogs", ["The", " ", " dogs"], [(0, 3), (5, 5), (5, 9)]),
        ("dogs\n", ["dogs", "\n"], [(0, 4), (5, 5)]),
        ("", [], []),
        ("é", [PART, PART], [(0, 1), (0, 1)]),
        ("a é b", ["a", f" {PART}", PART, " b"], [(0, 1), (2, 3), (2, 3), (4, 5)]),
        ("é è", [PART, PART, f" {PART}", PART], [(0, 1), (0, 1), (2, 3), (2, 3)]),
        ("日本 a", [PART, PART, PART, PART, " a"], [(0, 2), (0, 2), (0, 2), (0, 2), (3, 4)]),
        ("café", [f"caf{PART}", PART], [(0, 4), (3, 4)]),
        ("né", ["n", "", "é"], [(0, 1), (1, 1), (1, 2)]),
        ("né", ["▁n", "<0xC3>", "<0xA9>"], [(0, 1), (1, 2), (1, 2)]),
        ("né", ["n", "Ã", "©"], [(0, 1), (1, 2), (1, 2)]),
        ("a naïve", ["a", "Ġna", "Ã", "¯ve"], [(0, 1), (2, 4), (4, 5), (4, 7)]),
        ("naïve", ["n", "a", "", "", "ve"], [(0, 1), (1, 2), (2, 3), (2, 3), (3, 5)]),
        ("a café", ["a", " caf", ""], [(0, 1), (2, 5), (5, 6)]),
        ("The dogs.", ["The", " dogs"], None),
        ("The dogs, and.", ["The", " dogs", " and", "."], None),
        ("é", ["", "", ""], None),
        ("né", ["n", "<0xC3>", "<0xA9>"], [(0, 1), (1, 2), (1, 2)]),
        ("The Dogs", ["the", "dogs"], [(0, 3), (4, 8)]),
        ("The wug ran", ["The", "<unk>", "ran"], [(0, 3), (4, 7), (8, 11)]),
        ("The dogs", ["▁The", "▁dogs"], [(0, 3), (4, 8)]),
    ],
)
def test_tokens_are_placed_by_their_texts(text: str, tokens: list[str], expected: list[tuple[int, int]] | None) -> None:
    if expected is None:
        with pytest.raises(InputError):
            token_spans(text, tokens)
    else:
        assert token_spans(text, tokens) == expected


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("é é", [PART, PART, PART, PART]),  # two words, and no token says where the second begins
        ("éaéaé", [PART, "aé"]),
        ("abc", ["ab"]),
        ("abc", ["abc", "d"]),
        ("abc", [PART, "c"]),
        ("abc", ["x", "abc"]),
    ],
)
def test_tokens_that_fit_in_no_way_or_in_several_are_refused(text: str, tokens: list[str]) -> None:
    with pytest.raises(InputError):
        token_spans(text, tokens)


def test_offsets_tell_where_texts_do_not() -> None:
    tokens = [PART, PART, PART, PART]
    assert token_spans("é é", tokens, [0, 0, 1, 1]) == [(0, 0), (0, 1), (2, 2), (2, 3)]
    with pytest.raises(InputError):  # what vLLM counts: every part as a character
        token_spans("é é a", [*tokens, " a"], [0, 1, 2, 3, 4])


def test_offsets_that_count_a_part_as_a_character_are_not_followed() -> None:
    # The second part would be after the text, and its value in no region.
    assert token_spans("a café", ["a", f" caf{PART}", PART], [0, 1, 6]) == [(0, 1), (2, 6), (5, 6)]
    assert token_spans("日 a", [PART, "", "", " a"], [0, 1, 1, 1]) == [(0, 1), (0, 1), (0, 1), (2, 3)]
    assert token_spans("日本 a", [PART, "", "本", " a"], [0, 1, 1, 2]) == [(0, 1), (0, 1), (1, 2), (3, 4)]


def test_tokens_at_the_end_of_a_text() -> None:
    assert spans_of_suffix("The dogs ran", [" dogs", " ran"]) == [(4, 8), (9, 12)]
    assert spans_of_suffix("The dogs ran", []) == []
    assert spans_of_suffix("The dogs ran", [" dog"]) is None
    assert spans_of_suffix("日 ran", ["", "", " ran"]) is None  # parts of what comes before, or of nothing


@given(st.text(st.sampled_from("aé日 \N{GRINNING FACE}"), min_size=1, max_size=8), st.data())
def test_bytes_cut_anywhere_are_placed_rightly_or_refused(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    cuts = sorted({0, len(raw), *data.draw(st.lists(st.integers(0, len(raw)), max_size=6))})
    parts = list(pairwise(cuts))
    tokens = [raw[a:b].decode(errors="replace") for a, b in parts]
    try:
        spans = token_spans(text, tokens)
    except InputError:
        return
    for (a, b), token, (start, end) in zip(parts, tokens, spans, strict=True):
        if PART not in token:
            assert text[start:end].split() == token.split()
        elif token.strip():  # within a run of parts all are at its beginning
            first = next(i for i in range(len(text)) if len(text[: i + 1].encode()) > a)
            while first < len(text) and text[first].isspace():
                first += 1
            assert start <= first
            assert not any(map(str.isspace, text[start:first]))
            assert end >= len(raw[:b].decode(errors="ignore").rstrip())
