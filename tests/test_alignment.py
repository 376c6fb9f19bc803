"""Tokens of other tokenizers find their place in a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.alignment import align
from wug.errors import InputError


def words(text: str, tokens: list[str]) -> list[str]:
    """The characters of each token."""
    return [text[start:end] for start, end in align(text, tokens)]


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        ("The boy swims.", ["The", "boy", "swims", "."], ["The", "boy", "swims", "."]),
        ("The boy", ["the", "boy"], ["The", "boy"]),
        ("sentence.", ["sen", "##tence", "."], ["sen", "tence", "."]),
        ("a test", ["a", "Ġte", "st"], ["a", "te", "st"]),
        ("a test", ["▁a", "▁te", "st"], ["a", "te", "st"]),
        ("a test", ["a", "te@@", "st"], ["a", "te", "st"]),
        ("a test", ["a</w>", "te", "st</w>"], ["a", "te", "st"]),
        ("test-ing", ["test", "@-@", "ing"], ["test", "-", "ing"]),
        ("test–ing", ["test", "@-@", "ing"], ["test", "–", "ing"]),
        ("3.5", ["3", "@.@", "5"], ["3", ".", "5"]),
        ("A & B", ["A", "&amp;", "B"], ["A", "&", "B"]),
        ("(so)", ["-LRB-", "so", "-RRB-"], ["(", "so", ")"]),
        ("“so”", ["``", "so", "''"], ["“", "so", "”"]),
        ("it’s", ["it", "'s"], ["it", "’s"]),
        ("café", ["cafe"], ["café"]),
        ("café", ["cafÃ©"], ["café"]),
        ("well…", ["well", "..."], ["well", "…"]),
        ("Yes — no", ["Yes", "--", "no"], ["Yes", "—", "no"]),
        ("so - so", ["so", "so"], ["so", "so"]),
        ("a## b", ["a", "##", "b"], ["a", "##", "b"]),
        ("in front of", ["in front of"], ["in front of"]),
    ],
)
def test_a_token_stands_for_the_text_it_was_made_of(text: str, tokens: list[str], expected: list[str]) -> None:
    assert words(text, tokens) == expected


def test_start_and_end_marks_stand_outside_the_text() -> None:
    assert align("a b", ["<s>", "a", "b", "</s>"]) == [(0, 0), (0, 1), (2, 3), (3, 3)]
    assert align("a b", ["[CLS]", "a", "b", "[SEP]"]) == [(0, 0), (0, 1), (2, 3), (3, 3)]
    assert align("a", ["<b>", "a", "<b>"], starts=["<b>"], ends=["<b>"]) == [(0, 0), (0, 1), (1, 1)]


def test_a_lone_space_mark_stands_where_the_next_word_begins() -> None:
    assert align("ab c", ["▁", "a", "b", "▁", "c"]) == [(0, 0), (0, 1), (1, 2), (3, 3), (3, 4)]


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        # A greedy search would end the unknown word at the first "that", or at the first "and".
        ("abc girlthat that xyz", ["abc", "<unk>", "that", "xyz"], ["abc", "girlthat", "that", "xyz"]),
        ("will remand and order", ["will", "<unk>", "and", "order"], ["will", "remand", "and", "order"]),
        ("the wug blicked.", ["the", "<unk>", "<unk>", "."], ["the", "wug", "blicked", "."]),
        ("the wug blicked.", ["the", "<unk>", "<unk>"], ["the", "wug", "blicked."]),
        ("wug-like dax", ["<unk>", "<unk>", "<unk>"], ["wug", "-like", "dax"]),
        ("wug dax", ["[UNK]", "[UNK]"], ["wug", "dax"]),
        ("wugged dax", ["UNK-LC-ed", "<unk-s>"], ["wugged", "dax"]),
        ("a wug , a dax", ["a", "<unk>", "a", "<unk>"], ["a", "wug", "a", "dax"]),
        ("wug dax", ["<unk>", "dax"], ["wug", "dax"]),
    ],
)
def test_unknown_words_are_placed_by_the_known_ones_around_them(
    text: str, tokens: list[str], expected: list[str]
) -> None:
    assert words(text, tokens) == expected


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["the", "dog"], "token 2, 'dog', does not fit the sentence at 'wug runs'"),
        (["the", "wug"], "after the last token, 'wug', no token is left for 'runs'"),
        ([], "no token is left for 'the wug runs'"),
        (["the", "wug", "runs", "fast"], "token 4, 'fast', does not fit"),
        (["<s>", "the", "<unk>"], "after the last token, '<unk>', no token is left for 'runs'"),
    ],
)
def test_tokens_that_do_not_fit_are_an_error_that_quotes_one(tokens: list[str], words: str) -> None:
    with pytest.raises(InputError, match="the wug runs") as caught:
        align("the wug runs", tokens)
    assert words in str(caught.value)


@given(st.lists(st.text(alphabet="abAB.,é-", min_size=1, max_size=5), min_size=1, max_size=6), st.data())
def test_pieces_of_a_text_find_their_own_place(parts: list[str], data: st.DataObject) -> None:
    text = " ".join(parts)
    pieces = []
    for part in parts:
        cut = data.draw(st.integers(0, len(part)))
        pieces += [piece for piece in (part[:cut], part[cut:]) if piece]
    places = align(text, pieces)
    assert [text[start:end] for start, end in places] == pieces
    assert places == sorted(places)


@given(st.lists(st.sampled_from(["the", "wug", "dax", "ran"]), min_size=1, max_size=6), st.data())
def test_replacing_whole_words_by_unknown_changes_no_place(sentence: list[str], data: st.DataObject) -> None:
    text = " ".join(sentence)
    hidden = [data.draw(st.sampled_from([word, "<unk>"])) for word in sentence]
    assert align(text, hidden) == align(text, sentence)
