"""Shapes of sources, drawn from the grammar and from its trees of one depth and length."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wug.errors import InputError
from wug.families.pcfgset.language import Expression, arity, parse
from wug.families.pcfgset.make.grammar import EVEN, NATURAL, PcfgGrammar, Sampler, Shape, draw

SAMPLER = Sampler(NATURAL, 6, 30)


def expression(shape: Shape) -> Expression:
    return parse(" ".join(" ".join(["A1"] * part) if isinstance(part, int) else part for part in shape))


@given(st.integers(1, 6), st.integers(3, 30), st.integers(0, 1000))
def test_a_shape_has_the_depth_and_length_that_was_wanted(depth: int, length: int, seed: int) -> None:
    assume(SAMPLER.possible(depth, length))
    found = expression(SAMPLER.draw(depth, length, Random(seed)))
    assert (found.depth, found.length) == (depth, length)
    assert all(2 <= len(string) <= 5 for string in found.strings)


def test_what_no_source_can_be_is_not_possible() -> None:
    assert SAMPLER.possible(1, 3)
    assert not SAMPLER.possible(1, 2)  # a function and a string of at least two
    assert not SAMPLER.possible(2, 3)
    assert not SAMPLER.possible(1, 13)  # append with twice five symbols has twelve words
    assert SAMPLER.possible(1, 12)
    assert not SAMPLER.possible(7, 20)


def test_shapes_of_one_depth_and_length_come_in_proportion_to_their_probability() -> None:
    # Depth 1 and six words: a unary function on five symbols, or a binary one on two and two. With
    # weights 0.603 × 0.25 against 0.397 × 0.25² × 0.424 (one more argument is a string).
    sampler = Sampler(PcfgGrammar(strings=EVEN), 1, 6)
    random = Random(0)
    n = 20_000
    unary = sum(arity(str(sampler.draw(1, 6, random)[0])) == 1 for _ in range(n))
    one, two = 0.603 * 0.25, 0.397 * 0.25**2 * (1 - 0.576)
    assert unary / n == pytest.approx(one / (one + two), abs=0.01)


def test_the_grammar_alone_has_the_stated_probabilities() -> None:
    random = Random(0)
    found = [expression(draw(PcfgGrammar(), random)) for _ in range(5_000)]
    functions = Counter(arity(step.function) for one in found for step in one.steps)
    assert functions[1] / sum(functions.values()) == pytest.approx(0.603, abs=0.01)
    arguments = [part for one in found for step in one.steps for part in step.arguments]
    assert sum(isinstance(part, int) for part in arguments) / len(arguments) == pytest.approx(0.576, abs=0.01)


def test_all_ten_functions_are_drawn_alike() -> None:
    random = Random(0)
    counts = Counter(word for _ in range(2_000) for word in draw(PcfgGrammar(unary=0.6), random) if arity(str(word)))
    total = sum(counts.values())
    assert len(counts) == 10
    assert all(count / total == pytest.approx(0.1, abs=0.015) for count in counts.values())


def test_a_grammar_that_never_ends_is_refused() -> None:
    with pytest.raises(InputError, match="sources never end"):
        draw(PcfgGrammar(unary=0.1, function=0.9), Random(0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unary": 1.5}, "the probability of 'unary' is 1.5"),
        ({"function": -0.1}, "the probability of 'function' is -0.1"),
        ({"strings": {}}, "string lengths"),
        ({"strings": {0: 1.0}}, "string lengths"),
        ({"strings": {2: 0.0}}, "string lengths"),
    ],
)
def test_impossible_probabilities_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PcfgGrammar(**options)  # type: ignore[arg-type]
