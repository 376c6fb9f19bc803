"""Two more ways to split a PCFG SET corpus: by function pairs (systematicity) and by size (productivity)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wug.errors import InputError
from wug.families.pcfgset.language import FUNCTIONS, HELD_OUT, arity, pairs
from wug.families.pcfgset.make.pcfg import Sample


@dataclass(frozen=True, slots=True)
class Split:
    """What is trained on and what is tested."""

    train: list[Sample]
    test: list[Sample]


def systematicity(samples: Sequence[Sample], held_out: Sequence[str] = HELD_OUT) -> Split:
    """Sources with one of the function pairs are tested, those without any are trained on."""
    for pair in held_out:
        words = pair.split()
        if len(words) != 2 or any(word not in FUNCTIONS for word in words):
            raise InputError(f"{pair!r} is no pair of functions. Write two, such as 'repeat remove_second'")
    wanted = set(held_out)
    return _split(samples, lambda words: not wanted.isdisjoint(pairs(words)))


def productivity(samples: Sequence[Sample], most: int = 8) -> Split:
    """Sources of more than `most` functions are tested, the others are trained on."""
    if most < 1:
        raise InputError(f"at most {most} functions in training leaves nothing to train on")
    return _split(samples, lambda words: sum(arity(word) is not None for word in words) > most)


def _split(samples: Sequence[Sample], tested: Callable[[list[str]], bool]) -> Split:
    split = Split([], [])
    for sample in samples:
        (split.test if tested(sample.source.split()) else split.train).append(sample)
    return split
