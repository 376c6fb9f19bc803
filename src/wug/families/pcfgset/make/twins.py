"""Substitutivity: functions with a synonym, `repeat` and `repeat_twin`, in both training conditions."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from wug.errors import InputError
from wug.families.pcfgset.language import TWIN, TWINNED, UNARY
from wug.families.pcfgset.make.pcfg import Sample, Strings

MOST = 2_500
"""Test lines per function in the published set."""
ADDED = 0.001
"""The share of training lines that are added for each function, as published."""


def with_twin(source: str, function: str) -> str:
    """The source with the twin of a function at every place of that function."""
    return " ".join(word + TWIN if word == function else word for word in source.split())


def beside_twins(
    samples: Sequence[Sample], random: Random, per_function: int | None = None
) -> list[tuple[Sample, Sample]]:
    """Samples beside their twins, equally many for each function, one function replaced a line.

    Without `per_function` there are as many as the rarest function allows, 2,500 at most.
    """
    having = {function: [sample for sample in samples if function in sample.source.split()] for function in TWINNED}
    fewest = min(having, key=lambda function: len(having[function]))
    wanted = min(MOST, len(having[fewest])) if per_function is None else per_function
    if wanted < 1 or wanted > len(having[fewest]):
        raise InputError(
            f"{len(having[fewest])} of {len(samples)} test lines have the function {fewest!r}, "
            f"{max(wanted, 1)} are wanted. Make a larger test set, or ask for fewer lines per function"
        )
    return [
        (sample, Sample(with_twin(sample.source, function), sample.target))
        for function in TWINNED
        for sample in random.sample(having[function], wanted)
    ]


def equally_distributed(train: Sequence[Sample], random: Random) -> list[Sample]:
    """The training set with a random half of the occurrences of each function turned into twins."""
    lines = [sample.source.split() for sample in train]
    for function in TWINNED:
        places = [(n, at) for n, words in enumerate(lines) for at, word in enumerate(words) if word == function]
        for n, at in random.sample(places, len(places) // 2):
            lines[n][at] += TWIN
    return [Sample(" ".join(words), sample.target) for words, sample in zip(lines, train, strict=True)]


def primitive(train: Sequence[Sample], strings: Strings, random: Random) -> list[Sample]:
    """The training set with lines added in which a twin is applied, once, to plain strings.

    For each function, as many as a share of its size.
    """
    added = []
    for function in TWINNED:
        for _ in range(round(ADDED * len(train))):
            arguments = [strings.new(random.randint(2, 5)) for _ in range(1 if function in UNARY else 2)]
            added.append(Sample.of(f"{function}{TWIN} {' , '.join(arguments)}"))
    return [*train, *added]
