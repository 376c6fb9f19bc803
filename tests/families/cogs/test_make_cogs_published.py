"""Generated and published data: equally long and deep, of the same constructions, but not the same sentences."""

from __future__ import annotations

from collections import Counter
from functools import cache
from statistics import mean

import pytest

from reference import reference
from wug.families.cogs.make import Files, Sizes, make
from wug.families.cogs.make.grammar import CogsLine
from wug.files import read_lines


@cache
def made() -> Files:
    return make(1, Sizes(train=24_155, test=1_000, each=200))


def published(name: str) -> list[CogsLine]:
    return [CogsLine(*line.split("\t")) for line in read_lines(reference(f"cogs/{name}.gz"))]


@pytest.mark.parametrize("name", ["train.tsv", "test.tsv", "gen.tsv"])
def test_sentences_and_forms_are_as_long_as_the_published(name: str) -> None:
    ours, theirs = made()[name], published(name)
    for column in (0, 1):
        ratio = mean(len(line[column].split()) for line in ours) / mean(len(line[column].split()) for line in theirs)
        assert 0.93 < ratio < 1.07


def test_every_type_is_as_long_as_the_published() -> None:
    ours, theirs = (by_type(lines) for lines in (made()["gen.tsv"], published("gen.tsv")))
    assert set(ours) == set(theirs)
    for kind, length in ours.items():
        assert length == pytest.approx(theirs[kind], rel=0.15)


@pytest.mark.parametrize("marks", [{"that"}, {"in", "on", "beside"}, {"was"}, {"by"}, {"to"}])
def test_constructions_are_as_frequent_as_in_the_published_training_set(marks: set[str]) -> None:
    ours, theirs = (shares(lines, marks) for lines in (made()["train.tsv"], published("train.tsv")))
    for count in range(3):
        assert ours[count] == pytest.approx(theirs[count], abs=0.03)


def test_the_types_of_training_lines_are_the_published() -> None:
    ours, theirs = (Counter(line.type for line in lines) for lines in (made()["train.tsv"], published("train.tsv")))
    assert ours == theirs


def test_sentences_are_published_ones_only_by_chance_where_they_are_short() -> None:
    theirs = {line.sentence for name in ("train.tsv", "dev.tsv", "test.tsv", "gen.tsv") for line in published(name)}
    ours = {line.sentence for lines in made().values() for line in lines if " " in line.sentence}
    assert len(ours & theirs) < 0.005 * len(ours)
    assert max(len(sentence.split()) for sentence in ours & theirs) <= 5  # "The student danced ."


def by_type(lines: list[CogsLine]) -> dict[str, float]:
    kinds = {line.type for line in lines}
    return {kind: mean(len(line.sentence.split()) for line in lines if line.type == kind) for kind in kinds}


def shares(lines: list[CogsLine], marks: set[str]) -> Counter[int]:
    counts = Counter(sum(word in marks for word in line.sentence.split()) for line in lines)
    return Counter({count: found / len(lines) for count, found in counts.items()})
