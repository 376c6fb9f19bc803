"""The published sets of minimal pairs, read whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from reference import reference
from wug.evaluation.checking import check_file
from wug.families import pairs
from wug.families.pairs.pair import Pair
from wug.families.pairs.suite import PairsSuite
from wug.files import head


def read(path: Path, **options: str) -> list[Pair]:
    assert pairs.recognises(path, head(path))
    (suite,) = pairs.read(path, options)
    assert isinstance(suite, PairsSuite)
    return list(suite.items)


def test_all_of_blimp_is_67_paradigms_13_terms_and_4_fields() -> None:
    found = read(reference("pairs/blimp"))
    assert len(found) == len({pair.item for pair in found}) == 67_000
    for group, count in (("paradigm", 67), ("term", 13), ("field", 4)):
        assert len({pair.groups[group] for pair in found}) == count
    assert Counter(pair.groups["field"] for pair in found)["syntax_semantics"] == 14_000
    assert sum(pair.target is not None for pair in found) == 19_995  # 20 paradigms, less 5 identical pairs


def test_seven_pairs_of_blimp_are_identical() -> None:
    problems = pairs.check(reference("pairs/blimp"), {})
    assert sum("identical" in problem.message for problem in problems) == 7
    assert not any(problem.level == "error" for problem in problems)


def test_the_generated_set_has_41_original_and_369_nonce_pairs() -> None:
    found = read(reference("pairs/gulordava_en/generated.tab"))
    assert Counter(pair.groups["type"] for pair in found) == {"original": 41, "nonce": 369}
    assert found[1].good.startswith("The thing to keep in mind is that Sunni")
    assert found[1].bad.startswith("The thing to keep in mind are that Sunni")


def test_the_companions_of_the_generated_set_hold_the_same_pairs() -> None:
    table = read(reference("pairs/gulordava_en/generated.tab"))
    lines = read(reference("pairs/gulordava_en/generated.text"))
    assert [(pair.item, pair.good, pair.bad, pair.target) for pair in lines] == [
        (pair.item, pair.good, pair.bad, pair.target) for pair in table
    ]
    assert all(here.groups["type"] == there.groups["type"] for here, there in zip(lines, table, strict=True))


def test_the_filtered_linzen_set_has_pairs_with_up_to_four_attractors() -> None:
    found = read(reference("pairs/linzen_filtered/subj_agr_filtered.gold.gz"))
    assert Counter(pair.groups["attractors"] for pair in found) == {
        "0": 1972,
        "1": 1957,
        "2": 1943,
        "3": 1287,
        "4": 330,
    }


def test_the_templates_of_marvin_and_linzen_are_152300_pairs_and_10824_triples() -> None:
    found = read(reference("pairs/marvin_linzen/emnlp2018_templates.tsv.gz"))
    assert len(found) == 152_300 + 2 * 10_824
    assert sum("contrast" in pair.groups for pair in found) == 2 * 10_824


@pytest.mark.parametrize(
    ("name", "count"),
    [("de_evalset_simple_agrmt", 140), ("fr_evalset_simple_agrmt", 280), ("he_evalset_simple_agrmt", 140)],
)
def test_clams_is_read_in_every_language(name: str, count: int) -> None:
    path = reference(f"pairs/clams_sample/{name}.txt")
    assert len(read(path)) == count
    assert check_file(path, "pairs") == []


def test_every_pair_of_the_generated_set_survives_conversion(tmp_path: Path) -> None:
    old, new = reference("pairs/gulordava_en/generated.tab"), tmp_path / "generated.jsonl"
    pairs.convert(old, new, {})
    both = ([pair._replace(sentence=None) for pair in found] for found in (read(new, target="word"), read(old)))
    assert next(both) == next(both)
