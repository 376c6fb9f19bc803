"""Texts are split into words with their places, at white space or at punctuation too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import InputError
from wug.models.tokenization.words import (
    SPLITTINGS,
    Vocabulary,
    read_words,
    split_words,
    to_word_ids,
    words_of,
    write_words,
)
from wug.requests import Request

texts = st.text(
    alphabet=st.one_of(st.sampled_from("aZ9 '’.,-_<>\u0301é\n\t"), st.characters(codec="utf-8")), max_size=40
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Who didn't she see?", "Who didn't she see ?"),
        ("the dogs' 3 o’clock, 'tis.", "the dogs ' 3 o’clock , ' tis ."),
        ("rock'n'roll rock''n", "rock'n'roll rock ' ' n"),
        ("well-known, snake_case: 3.14%", "well - known , snake _ case : 3 . 14 %"),
        ("cafe\u0301s nai\u0308ve", "cafe\u0301s nai\u0308ve"),
        ("“Straße” …", "“ Straße ” …"),
        ("the <unk> swims.<eos>", "the <unk> swims . <eos>"),
        ("a<b>", "a < b >"),
        ("", ""),
    ],
)
def test_punctuation_marks_are_words_of_their_own(text: str, words: str) -> None:
    assert words_of(text, "punctuation") == words.split()


def test_places_are_those_of_the_words() -> None:
    assert split_words("Who didn't she see?", "punctuation") == [(0, 3), (4, 10), (11, 14), (15, 18), (18, 19)]
    assert split_words(" the  boy. ", "spaces") == [(1, 4), (6, 10)]


@given(text=texts, mode=st.sampled_from(SPLITTINGS))
def test_every_visible_character_is_in_one_word_and_the_words_are_in_order(text: str, mode: str) -> None:
    places = split_words(text, mode)
    covered = [place for start, stop in places for place in range(start, stop)]
    assert covered == [place for place, character in enumerate(text) if not character.isspace()]
    assert all(start < stop for start, stop in places)
    assert [text[start:stop] for start, stop in places] == words_of(text, mode)


@given(text=texts)
def test_splitting_again_changes_nothing(text: str) -> None:
    words = words_of(text, "punctuation")
    assert [again for word in words for again in words_of(word, "punctuation")] == words


@given(text=texts, mode=st.sampled_from(SPLITTINGS))
def test_words_joined_by_spaces_are_split_as_they_were(text: str, mode: str) -> None:
    words = words_of(text, mode)
    assert words_of(" ".join(words), mode) == words


def test_a_span_counts_the_words_that_begin_in_it() -> None:
    names = "<unk> <eos> she didn't see ?".split()
    index = {name: number for number, name in enumerate(names)}
    vocabulary = Vocabulary(names, index, 0, 1, lowercase=True, words="punctuation")
    words = to_word_ids(Request("She didn't see?", (11, 14)), vocabulary, end=True)
    assert words.ids == [2, 3, 4, 5, 1]
    assert (words.starts, words.ends) == ([0, 4, 11, 14, 15], [3, 10, 14, 15, 15])
    assert words.scored == 3


def test_a_list_of_words_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_words(tmp_path / "vocab.txt", ["<unk>", "don't", "é", "#"])
    assert read_words(tmp_path / "vocab.txt") == (
        ["<unk>", "don't", "é", "#"],
        {"<unk>": 0, "don't": 1, "é": 2, "#": 3},
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "a"], "line 3: 'a' is there already, in line 1"),
        (["a", ""], "line 2: is empty"),
        (["a", " b"], "line 2: expected one word, found ' b'"),
        (["a", "b c"], "line 2: expected one word, found 'b c'"),
    ],
)
def test_a_list_that_could_not_be_read_again_is_not_written(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_words(tmp_path / "vocab.txt", names)
    assert not (tmp_path / "vocab.txt").exists()
