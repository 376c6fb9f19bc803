"""The sets made of a corpus: splits, unrolled sources, twins, exceptions, increasing lengths."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest

from reference import reference
from wug.errors import InputError
from wug.families.pcfgset.language import (
    EXCEPTIONS,
    FUNCTIONS,
    HELD_OUT,
    TWINNED,
    exceptional,
    exceptions,
    meaning,
    pairs,
    parse,
)
from wug.families.pcfgset.make import corpus as tests
from wug.families.pcfgset.make.corpus import SourceTarget, Strings, corpus, overgeneralisation
from wug.files import read_lines


@cache
def small() -> dict[str, list[SourceTarget]]:
    """A corpus for all tests, made when the first of them needs it."""
    return corpus({"train": 4_000, "test": 600}, seed=1)


def sample(source: str) -> SourceTarget:
    return SourceTarget.of(source)


def test_systematicity_keeps_the_pairs_out_of_training() -> None:
    pool = [*small()["train"], *small()["test"]]
    split = tests.systematicity(pool)
    assert len(split.train) + len(split.test) == len(pool)
    assert not any(set(pairs(one.source.split())) & set(HELD_OUT) for one in split.train)
    assert all(set(pairs(one.source.split())) & set(HELD_OUT) for one in split.test)


def test_productivity_tests_what_is_longer_than_anything_trained_on() -> None:
    split = tests.productivity(small()["train"])
    assert max(parse(one.source).functions for one in split.train) == 8
    assert min(parse(one.source).functions for one in split.test) >= 9


def test_nothing_to_train_on_is_refused() -> None:
    with pytest.raises(InputError, match="at most 0 functions"):
        tests.productivity([], 0)


def test_a_source_is_unrolled_into_steps() -> None:
    assert tests.unroll("append copy A1 B2 , reverse echo C3 D4") == [
        "unrolled\tcopy A1 B2 \t*1",
        "unrolled\techo C3 D4 \t*2",
        "unrolled\treverse *2\t*3",
        "unrolled\tappend *1 , *3\tA1 B2 D4 D4 C3",
        "original\tappend copy A1 B2 , reverse echo C3 D4\tA1 B2 D4 D4 C3",
    ]


def test_sources_of_one_function_are_left_out() -> None:
    assert tests.unrolled(["copy A1 B2", "A1 B2"]) == []


def test_unrolling_the_published_test_sources_gives_the_published_file() -> None:
    sources = read_lines(reference("pcfgset/pcfgset/test.src.gz"))
    assert tests.unrolled(sources) == read_lines(reference("pcfgset/localism/unrolled_test.tsv.gz"))


def test_a_twin_stands_at_every_place_of_its_function() -> None:
    assert tests.with_synonym("append repeat A1 , repeat B2", "repeat") == "append repeat_twin A1 , repeat_twin B2"


def test_each_function_has_equally_many_twins_one_function_a_line() -> None:
    made = tests.synonym_pairs(small()["test"], Random(0), 50)
    replaced = Counter[str]()
    for one, twin in made:
        (function,) = {word.removesuffix("_twin") for word in twin.source.split() if word.endswith("_twin")}
        assert twin == SourceTarget(tests.with_synonym(one.source, function), one.target)
        assert meaning(twin.source) == one.target
        replaced[function] += 1
    assert replaced == dict.fromkeys(TWINNED, 50)


def test_without_a_number_there_are_as_many_twins_as_the_rarest_function_allows() -> None:
    samples = [sample("repeat swap_first_last append remove_second A1 , B2 , C3"), sample("repeat A1")]
    assert len(tests.synonym_pairs(samples, Random(0), None)) == 4


def test_too_many_twins_are_refused() -> None:
    with pytest.raises(InputError, match="of 600 test lines have the function"):
        tests.synonym_pairs(small()["test"], Random(0), 1_000)


def test_equally_distributed_turns_half_of_the_occurrences_into_twins() -> None:
    before, after = (
        Counter(word for one in samples for word in one.source.split())
        for samples in (small()["train"], tests.equally_distributed(small()["train"], Random(0)))
    )
    for function in TWINNED:
        assert after[f"{function}_twin"] == before[function] // 2
        assert after[function] + after[f"{function}_twin"] == before[function]


def test_primitive_adds_lines_with_one_twin_on_plain_strings() -> None:
    train = small()["train"]
    made = tests.primitive(train, Strings(Random(0)), Random(0))
    assert made[: len(train)] == train
    added = [parse(one.source) for one in made[len(train) :]]
    assert Counter(one.outermost for one in added) == {f"{function}_twin": 4 for function in TWINNED}
    assert {one.functions for one in added} == {1}


def test_exceptions_remap_one_pair_a_line() -> None:
    _, changed = overgeneralisation(small()["train"], 0.005, Random(0))
    assert {one.pair for one in changed} == set(EXCEPTIONS)
    for one in changed:
        assert one.pair in exceptions(one.source)
        assert one.original == meaning(one.source)
        assert one.exception == meaning(exceptional(one.source, one.pair)) != one.original


def test_only_the_exceptions_are_changed_in_training() -> None:
    train = small()["train"]
    mixed, remapped = overgeneralisation(train, 0.002, Random(0))
    changed = {(new.source, new.target) for old, new in zip(train, mixed, strict=True) if old != new}
    assert changed == {(one.source, one.exception) for one in remapped}


def test_about_half_of_the_exceptions_are_the_two_functions_alone() -> None:
    _, changed = overgeneralisation(small()["train"], 0.002, Random(0))
    short = sum(parse(one.source).functions == 2 for one in changed)
    assert 0.3 <= short / len(changed) <= 0.7


def test_a_ratio_that_is_no_share_is_refused() -> None:
    with pytest.raises(InputError, match=r"the ratio of exceptions is 1\.5"):
        overgeneralisation(small()["train"], 1.5, Random(0))


def test_increasing_lengths_have_the_published_structure() -> None:
    made = tests.increasing_lengths(Random(0))
    assert len(made) == 10_070
    sizes = Counter[tuple[str, int]]()
    for one in made:
        found = parse(one.source)
        assert found.functions == 1
        strings = [len(string) for string in found.strings]
        if found.outermost in ("remove_first", "remove_second"):
            sizes[found.outermost, len(one.target.split())] += 1
            assert min(strings) <= 5
        elif len(strings) == 1:
            sizes[str(found.outermost), strings[0]] += 1
    unambiguous = sorted(set(FUNCTIONS) - {"append", "prepend"})
    assert sizes == {(function, size): 53 for function in unambiguous for size in range(2, 21)}


def test_impossible_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="0 rounds of lengths 2 to 20"):
        tests.increasing_lengths(Random(0), rounds=0)
