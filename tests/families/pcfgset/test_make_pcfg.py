"""Generated corpora."""

from __future__ import annotations

import pytest

from wug.errors import InputError
from wug.families.pcfgset.language import meaning, parse
from wug.families.pcfgset.make.corpus import (
    SPLITS,
    DepthLength,
    DepthLengthTable,
    Strings,
    corpus,
    published,
    share_out,
    strings_of,
)
from wug.families.pcfgset.make.grammar import PcfgGrammar
from wug.families.pcfgset.make.statistics import FIELDS, SourceStatistics, distances, statistics


def published_shares() -> SourceStatistics:
    depths: dict[int | str, int] = {}
    lengths: dict[int | str, int] = {}
    for cell, weight in published().weights:
        depths[cell.depth] = depths.get(cell.depth, 0) + int(weight)
        lengths[cell.length] = lengths.get(cell.length, 0) + int(weight)
    return SourceStatistics(9_721, {field: {} for field in FIELDS} | {"depths": depths, "lengths": lengths})


def test_depths_and_lengths_are_those_of_the_published_test_set() -> None:
    made = corpus({"train": 8_000, "test": 2_000}, seed=1)
    for samples in made.values():
        away = distances(statistics(sample.source for sample in samples), published_shares())
        assert away["depths"] < 0.01
        assert away["lengths"] < 0.01


def test_targets_are_the_meanings_of_their_sources() -> None:
    for sample in corpus({"test": 200}, seed=2)["test"]:
        assert sample.target == meaning(sample.source)


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another() -> None:
    assert corpus({"test": 50}, seed=3) == corpus({"test": 50}, seed=3)
    assert corpus({"test": 50}, seed=3) != corpus({"test": 50}, seed=4)


def test_no_string_is_used_twice_in_any_split() -> None:
    made = corpus({"train": 3_000, "dev": 200, "test": 300}, seed=5)
    strings = [string for samples in made.values() for s in samples for string in parse(s.source).strings]
    assert len(strings) == len(set(strings))


def test_strings_are_drawn_from_520_symbols_in_sizes_2_to_5() -> None:
    made = corpus({"test": 3_000}, seed=6)["test"]
    strings = [string for sample in made for string in parse(sample.source).strings]
    assert {len(string) for string in strings} == {2, 3, 4, 5}
    assert len({symbol for string in strings for symbol in string}) == 520


def test_a_table_of_ones_own_is_followed() -> None:
    table = DepthLengthTable(((DepthLength(3, 1), 1.0), (DepthLength(7, 2), 3.0)))
    made = corpus({"test": 40}, seed=7, table=table)["test"]
    found = [parse(sample.source) for sample in made]
    assert sorted((one.depth, one.length) for one in found) == [(1, 3)] * 10 + [(2, 7)] * 30


def test_a_table_with_an_impossible_cell_is_refused() -> None:
    with pytest.raises(InputError, match="the table has depth 5 with 4 words"):
        corpus({"test": 1}, seed=0, table=DepthLengthTable(((DepthLength(4, 5), 1.0),)))


def test_without_a_table_the_grammar_decides() -> None:
    made = corpus({"test": 100}, seed=8, grammar=PcfgGrammar(function=0.0), natural=False)["test"]
    assert {parse(sample.source).depth for sample in made} == {1}


def test_when_strings_run_out_that_is_an_error() -> None:
    grammar = PcfgGrammar(unary=1.0, function=0.0, strings={1: 1.0})
    with pytest.raises(InputError, match="all 520 strings of 1 symbols are used up"):
        corpus({"test": 521}, seed=9, grammar=grammar, natural=False)


def test_strings_already_used_are_not_given_again() -> None:
    from random import Random

    used = {f"{letter}{number}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(1, 21)} - {"K7"}
    assert Strings(Random(0), used).new(1) == "K7"


def test_the_strings_of_samples_are_found() -> None:
    made = corpus({"test": 5}, seed=10)["test"]
    assert strings_of(made) == {" ".join(string) for s in made for string in parse(s.source).strings}


def test_a_split_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="'dev' cannot have -1 lines"):
        corpus({"dev": -1}, seed=0)


def test_lines_are_shared_out_in_the_published_proportions() -> None:
    assert share_out(97_203) == dict(SPLITS)
    assert share_out(1_000) == {"train": 851, "dev": 49, "test": 100}
    assert share_out(1) == {"train": 1, "dev": 0, "test": 0}
