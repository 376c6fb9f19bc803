"""Blocks of answers: the same answers as one by one, and the same sums to the last digit."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.requests import Scored
from wug.scores import Scores

LOGPROBS = st.one_of(st.none(), st.floats(-700, 0), st.floats(width=32, max_value=0, allow_nan=False))


@st.composite
def answers(draw: st.DrawFn) -> Scored:
    text = draw(st.text(max_size=12))
    starts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    ends = [draw(st.integers(start, len(text))) for start in starts]
    logprobs = [draw(LOGPROBS) for _ in starts]
    pieces = draw(st.sampled_from([None, tuple("<unk>" for _ in starts)]))
    notices = draw(st.sampled_from([(), ("are short",)]))
    return Scored(text, tuple(starts), tuple(ends), tuple(logprobs), pieces, notices)


BLOCKS = st.lists(answers(), max_size=6)


def same(found: float, expected: float) -> bool:
    return found == expected and math.copysign(1, found) == math.copysign(1, expected)


@given(BLOCKS)
def test_a_block_has_the_answers_that_it_was_made_of(block: list[Scored]) -> None:
    scores = Scores.of(block)
    assert list(scores) == block
    assert [scores[at] for at in range(len(block))] == block
    assert scores == block
    assert block == scores
    assert Scores.of(scores) is scores
    assert pickle.loads(pickle.dumps(scores)) == scores


@given(BLOCKS, BLOCKS, BLOCKS)
def test_blocks_are_joined_and_cut_as_lists_are(first: list[Scored], second: list[Scored], third: list[Scored]) -> None:
    scores = Scores.join(map(Scores.of, (first, second, third)))
    block = first + second + third
    assert list(scores) == block
    cut = slice(len(first), len(first) + len(second))
    for where in (cut, slice(1, -1), slice(3, 1), slice(None, None, -1), slice(0, None, 2)):
        assert list(scores[where]) == block[where]


@given(BLOCKS, st.randoms(use_true_random=False))
def test_answers_are_taken_in_any_order_and_more_than_once(block: list[Scored], chance: object) -> None:
    places = [at for at in range(len(block)) for _ in range(2)]
    chance.shuffle(places)  # type: ignore[attr-defined]
    assert list(Scores.of(block).take(places)) == [block[place] for place in places]


@given(BLOCKS, st.integers(0, 12), st.integers(0, 12))
def test_sums_are_those_of_the_answers_one_by_one_to_the_last_digit(block: list[Scored], start: int, end: int) -> None:
    scores = Scores.of(block)
    assert all(map(same, scores.sums(), [answer.logprob() for answer in block]))
    first, last = scores.before([start] * len(block)), scores.before([end] * len(block))
    spans = [answer.slice(start, end) for answer in block]
    assert all(map(same, scores.sums(first, last), [answer.logprob(start, end) for answer in block]))
    assert (first - scores.offsets[:-1]).tolist() == [span.start for span in spans]
    assert (last - scores.offsets[:-1]).tolist() == [span.stop for span in spans]
    counted = [answer.logprobs[: span.stop] for answer, span in zip(block, spans, strict=True)]
    assert scores.missing(last=last).tolist() == [sum(value is None for value in values) for values in counted]


def test_the_same_tokens_in_another_order_tie() -> None:
    """Added up one after another, 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 part in the last digit."""
    starts, ends = (0, 1, 2), (1, 2, 3)
    block = [Scored("abc", starts, ends, (-0.1, -0.2, -0.3)), Scored("cba", starts, ends, (-0.3, -0.2, -0.1))]
    good, bad = Scores.of(block).sums()
    assert good == bad
    assert -0.1 - 0.2 - 0.3 != -0.3 - 0.2 - 0.1


def test_an_impossible_token_makes_the_whole_impossible() -> None:
    assert Scores.of([Scored("ab", (0, 1), (1, 2), (-math.inf, -1.0))]).sums() == [-math.inf]


def test_a_block_without_answers_is_one() -> None:
    for scores in (Scores.of([]), Scores.join([])):
        assert len(scores) == 0
        assert list(scores) == []
        assert scores.sums() == []
        assert scores.before(np.zeros(0, np.int64)).tolist() == []


def test_what_is_not_there_is_not_taken() -> None:
    with pytest.raises(IndexError):
        Scores.of([Scored("a", (0,), (1,), (-1.0,))])[1]
    assert Scores.of([Scored("a", (0,), (1,), (-1.0,))]) != "a"
