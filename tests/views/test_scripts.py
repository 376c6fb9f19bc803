"""Scripts: characters of several tokens, the direction of a text, letters that join."""

from __future__ import annotations

import math

import pytest

from wug.alignment import first_texts
from wug.requests import Scored, Token
from wug.views.text_display import JOINER, Piece, characters, direction_of, join_letters, mark_differences, runs_of
from wug.web.pages.sentence import score_panel

FAMILY = "👩\u200d👩\u200d👧"


def scored(text: str, *spans: tuple[int, int], names: tuple[str, ...] | None = None) -> Scored:
    starts, ends = zip(*spans, strict=True)
    return Scored(text, starts, ends, tuple(-math.log(2) for _ in spans), names)


def test_a_character_of_several_tokens_is_shown_with_the_first() -> None:
    assert first_texts(scored("猫坐", (0, 1), (0, 1), (0, 1), (1, 2), (1, 2))) == ["猫", None, None, "坐", None]
    # A token with the last byte of one character and the first of the next has the next.
    assert first_texts(scored("猫坐", (0, 1), (0, 2), (1, 2))) == ["猫", "坐", None]


def test_white_space_and_names_are_no_parts() -> None:
    assert first_texts(scored("a b", (0, 1), (2, 2), (2, 3))) == ["a", "", "b"]
    assert first_texts(scored("a b", (0, 1), (2, 3), (3, 3), names=("a", "<unk>", "</s>"))) == ["a", "<unk>", "</s>"]


@pytest.mark.parametrize(
    ("texts", "together"),
    [
        (["猫", None, None, "坐"], ["猫", "坐"]),
        (["cafe", "\u0301", "s"], ["cafe\u0301", "s"]),
        (["שָ", "\u05c1", "ל"], ["שָ\u05c1", "ל"]),
        (["👩", "\u200d", "👩", "\u200d", "👧", "!"], [FAMILY, "!"]),
        (["👍", "🏽", "x"], ["👍🏽", "x"]),
        (["🇹", "🇷", "🇯", "🇵"], ["🇹🇷", "🇯🇵"]),
        (["a", "", "b"], ["a", "", "b"]),
        ([], []),
    ],
)
def test_what_a_reader_takes_for_a_character_stays_together(texts: list[str | None], together: list[str]) -> None:
    assert ["".join(texts[place] or "" for place in some) for some in characters(texts)] == together


def test_bits_of_the_parts_are_added_up_and_the_first_difference_is_found() -> None:
    one = scored("猫坐", (0, 1), (0, 1), (0, 1), (1, 2), (1, 2))
    other = scored("猫a", (0, 1), (0, 1), (0, 1), (1, 2))
    first, second = score_panel("m", [one, other]).lines
    assert [(piece.text, piece.bits, piece.parts, piece.differs) for piece in first.pieces] == [
        ("猫", "3.0", 3, False), ("坐", "2.0", 2, True),
    ]  # fmt: skip
    assert [(piece.text, piece.parts) for piece in second.pieces] == [("猫", 3), ("a", 1)]
    assert (first.total, first.mean) == ("5.0", "1.0")


@pytest.mark.parametrize(
    ("text", "way"),
    [("the", "ltr"), ("الولد", "rtl"), ("«שלום»", "rtl"), ("12.", "ltr"), ("猫", "ltr"), ("", "ltr"), ("3 ולד", "rtl")],
)
def test_a_text_runs_as_its_first_letter_does(text: str, way: str) -> None:
    assert direction_of([Piece(text)]) == way


def test_words_of_another_script_and_numbers_run_their_own_way() -> None:
    texts = ["رأى", "iPhone", ",", "2", "4", ".", "اليوم", "."]
    found = [(way, [piece.text for piece in run]) for way, run in runs_of([*map(Piece, texts)])]
    assert found == [("rtl", ["رأى"]), ("ltr", ["iPhone", ",", "2", "4"]), ("rtl", [".", "اليوم", "."])]
    assert [way for way, _ in runs_of([*map(Piece, ("The", "dog", "."))])] == ["ltr"]


def test_arabic_letters_keep_the_form_that_they_have_inside_a_word() -> None:
    assert join_letters(["كتا", "ب", "ولد"], [False, True, False]) == [f"كتا{JOINER}", f"{JOINER}ب", "ولد"]
    assert join_letters(["swim", "s", "שלו", "ם"], [False, True, False, True]) == ["swim", "s", "שלו", "ם"]


@pytest.mark.parametrize(
    ("one", "other", "marks"),
    [
        ("שָׁלוֹם יֶלֶד", "שָׁלוֹם יַלְדָּה", ["יֶלֶד"]),
        ("the cafe\u0301s close", "the bars close", ["cafe\u0301s"]),
        (f"a {FAMILY} sat", "a 👩 sat", [FAMILY]),
        ("แมวนั่ง", "แมวยืน", ["นั่ง"]),
        ("那只猫坐", "那只狗坐", ["猫"]),
        ("the dog's bone", "the cat's bone", ["dog's"]),
    ],
)
def test_a_mark_never_leaves_its_letter_where_texts_are_compared(one: str, other: str, marks: list[str]) -> None:
    pieces, _ = mark_differences(one, other)
    assert [piece.text for piece in pieces if piece.differs] == marks
    assert "".join(piece.text for piece in pieces) == one


def test_tokens_as_objects_stay_what_they_were() -> None:
    assert scored("猫", (0, 1), (0, 1)).tokens == (Token("猫", 0, 1, -math.log(2)),) * 2
