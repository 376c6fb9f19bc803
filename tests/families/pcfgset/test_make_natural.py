"""Sources that nest functions as the published ones do."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from random import Random

import pytest

from case_selection import cases
from reference import reference
from wug.families.pcfgset.language import arity, pairs, parse
from wug.families.pcfgset.make import statistics
from wug.families.pcfgset.make.corpus import corpus
from wug.families.pcfgset.make.grammar import FunctionNames, Natural, published_pairs
from wug.families.pcfgset.make.statistics import total_variation
from wug.files import read_lines

PUBLISHED = "pcfgset/pcfgset/test.src.gz"


@cache
def made() -> list[str]:
    """Generated sources, for tests that count in them; generated once."""
    return [sample.source for sample in corpus({"test": 30_000}, seed=8)["test"]]


@pytest.mark.parametrize("seed", cases([4711], [1, 90210]))
def test_a_made_set_is_within_one_per_cent_of_the_published_one_in_every_count(seed: int) -> None:
    wanted = read_lines(reference(PUBLISHED))
    sources = [sample.source for sample in corpus({"test": 30_000}, seed=seed)["test"]]
    away = statistics.distances(statistics.statistics(sources), statistics.statistics(wanted))
    assert {field: distance for field, distance in away.items() if distance >= 0.01} == {}


def test_neighbouring_functions_are_those_of_the_published_set() -> None:
    # Counted from the words alone, without the parse and without the table that the generator has.
    wanted = Counter(pair for line in read_lines(reference(PUBLISHED)) for pair in pairs(line.split()))
    found = Counter(pair for source in made() for pair in pairs(source.split()))
    assert total_variation(found, wanted) < 0.01
    shares = [
        sum(n for pair, n in counts.items() if all(arity(word) == 1 for word in pair.split())) / sum(counts.values())
        for counts in (found, wanted)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.01)


def test_kinds_of_functions_nest_as_in_published_sources_that_nothing_was_fitted_to() -> None:
    wanted = statistics.statistics(read_lines(reference("pcfgset/pcfgset/dev.src.gz")))
    found = statistics.statistics(made())
    assert statistics.distances(found, wanted)["nesting"] < 0.01


def test_long_sources_vary_in_function_count_as_the_published_ones() -> None:
    # Of one grammar the standard deviation would be 1.8 instead of 2.2.
    wanted, found = (
        [one.functions for one in map(parse, sources) if 21 <= one.length <= 25]
        for sources in (
            read_lines(reference(PUBLISHED)),
            made(),
        )
    )
    assert deviation(found) == pytest.approx(deviation(wanted), abs=0.15)


def test_the_built_in_pairs_are_those_of_the_published_test_set() -> None:
    counts: Counter[str] = Counter()
    for expression in map(parse, read_lines(reference(PUBLISHED))):
        counts.update([str(expression.outermost), *statistics.argument_pairs(expression)])
    assert published_pairs() == counts


def test_names_are_dealt_until_each_is_used_up() -> None:
    names = FunctionNames({"echo": 1, "copy": 2, "copy copy": 1, "copy shift": 1, "echo reverse": 1})
    dealt = [names.with_new_names(["repeat", "repeat", 2], Random(seed)) for seed in range(6)]
    assert Counter(str(shape[0]) for shape in dealt) == {"copy": 4, "echo": 2}
    assert Counter(f"{shape[0]} {shape[1]}" for shape in dealt) == {"copy copy": 2, "copy shift": 2, "echo reverse": 2}


def test_a_name_is_that_of_its_argument() -> None:
    names = FunctionNames({"append": 1, "append copy": 1, "append , echo": 1, "echo shift": 1})
    shape: list[str | int] = ["prepend", "reverse", 2, ",", "reverse", "reverse", 3]
    assert names.with_new_names(list(shape), Random(0)) == ["append", "copy", 2, ",", "echo", "shift", 3]


def test_a_shape_has_the_depth_and_length_that_was_wanted() -> None:
    natural, random = Natural(17, 71), Random(0)
    for depth, length in ((1, 3), (1, 12), (3, 20), (9, 40), (17, 71), (2, 4)):
        shape = natural.draw(depth, length, random)
        found = parse(" ".join(" ".join(["A1"] * part) if isinstance(part, int) else part for part in shape))
        assert (found.depth, found.length) == (depth, length)
    assert not natural.possible(1, 2)
    assert not natural.possible(18, 71)


def deviation(values: list[int]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
