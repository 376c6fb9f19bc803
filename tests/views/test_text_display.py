"""Two texts next to each other, and the words in which they differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wug.views.text_display import MAX_TEXT_CHARACTERS, mark_differences


@given(st.text(max_size=60), st.text(max_size=60))
def test_marked_texts_are_whole_and_differ_only_where_marked(one: str, other: str) -> None:
    ours, theirs = mark_differences(one, other)
    assert "".join(piece.text for piece in ours).split() == one.split()
    assert "".join(piece.text for piece in theirs).split() == other.split()
    same = ["".join(piece.text for piece in pieces if not piece.differs).split() for pieces in (ours, theirs)]
    assert "".join(same[0]) == "".join(same[1])


def test_words_that_moved_are_marked_where_they_stand() -> None:
    good, bad = mark_differences("Who left the room?", "Who the room left?")
    assert [piece.text for piece in good if piece.differs] == ["left"]
    assert [piece.text for piece in bad if piece.differs] == ["left"]


def test_neighbouring_words_that_differ_are_one_mark() -> None:
    good, _ = mark_differences("they will smile.", "they smiled.")
    assert [piece.text for piece in good if piece.differs] == ["will smile"]


def test_a_text_without_spaces_is_compared_character_by_character() -> None:
    good, bad = mark_differences("他昨天来了", "他明天来了")
    assert [piece.text for piece in good if piece.differs] == ["昨"]
    assert [piece.text for piece in bad if piece.differs] == ["明"]


def test_a_text_without_end_is_cut() -> None:
    _, answer = mark_differences("A1", "A1 " * 100_000)
    assert sum(len(piece.text) for piece in answer) <= MAX_TEXT_CHARACTERS + 2
