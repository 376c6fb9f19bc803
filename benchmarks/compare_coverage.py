"""How often the 95 % intervals of `wug compare` contain the true difference, in simulated models.

    python benchmarks/compare_coverage.py [--times 4000] [--seed 1]

Items have a difficulty that both models share, as real ones do, so that their answers go together. Right or wrong:
a model answers with the probability of a logistic curve, and Tango's interval is asked. Several sentences an item:
1 to 4 of them share the item's difficulty, and the interval by items is asked, beside the one that would take every
sentence for an item of its own. Numbers: scores between 0 and 1, surprisals (differences with heavy tails), and
distances that are mostly 0; beside the t interval stands the BCa bootstrap (fewer times, for it is slow).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wug.stats import Interval
from wug.stats_paired import bca_interval, t_interval, tango

Floats = NDArray[np.float64]
Sample = tuple[Floats, Floats]
"""The sum of differences of each item, and how many there are."""
SLOW = 8
"""The bootstrap is asked once in so many times."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    what: str
    n: int
    truth: float
    coverage: float
    other: str
    """Another interval's name, and its coverage."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    print(f"{'data':34} {'items':>6} {'true difference':>16} {'covered':>8}  for comparison")
    missed = 0
    for row in (*judgements(rng, given.times), *clusters(rng, given.times), *numbers(rng, given.times)):
        within = 0.93 <= row.coverage <= 0.97
        missed += not within
        mark = "" if within else "  outside 93–97 %"
        print(f"{row.what:34} {row.n:6} {row.truth:+16.3f} {row.coverage:8.1%}  {row.other}{mark}", flush=True)
    print(f"{given.times} times each, seed {given.seed}; outside 93–97 %: {missed}")


def judgements(rng: np.random.Generator, times: int) -> Iterator[Row]:
    """Right or wrong, one outcome an item."""
    cells = [(n, 0.3, skill) for n in (20, 50, 100, 300, 1000) for skill in (0.0, 0.4, 1.2)]
    ceiling = [(n, 3.0, skill) for n in (20, 100, 1000) for skill in (0.0, 0.8)]
    for name, some in (("right or wrong, tango", cells), ("the same near 100 %, tango", ceiling)):
        for n, start, skill in some:
            truth = _difference(skill, start)
            held = wald = 0
            for _ in range(times):
                difficulty = rng.normal(0, 1, n)
                first, second = _right(rng, difficulty + start), _right(rng, difficulty + start + skill)
                only_first, only_second = int(np.sum(first > second)), int(np.sum(second > first))
                held += _in(tango(only_first, only_second, n), truth)
                wald += _in(_wald(only_first, only_second, n), truth)
            yield Row(name, n, truth, held / times, f"wald {wald / times:.1%}")


def clusters(rng: np.random.Generator, times: int) -> Iterator[Row]:
    """Right or wrong, several sentences an item."""
    for n in (20, 50, 150, 400):
        for skill in (0.0, 0.8):
            truth = _difference(skill, own=1.0)
            held = naive = 0
            for _ in range(times):
                sizes = rng.integers(1, 5, n)
                item = np.repeat(np.arange(n), sizes)
                shared = rng.normal(0, 1, n)[item] + 0.3
                first = _right(rng, shared + rng.normal(0, 1, n)[item])
                second = _right(rng, shared + skill + rng.normal(0, 1, n)[item])
                sums = np.bincount(item, weights=second - first).astype(np.float64)
                held += _in(t_interval(sums, sizes.astype(float)), truth)
                naive += _in(t_interval(second - first, np.ones(len(item))), truth)
            yield Row("several sentences an item, t", n, truth, held / times, f"not clustered {naive / times:.1%}")


def numbers(rng: np.random.Generator, times: int) -> Iterator[Row]:
    """Means of numbers."""
    kinds: dict[str, tuple[Callable[[int], Floats], float]] = {
        "scores from 0 to 1": (lambda n: rng.beta(5, 2, n) - rng.beta(4, 2, n), 5 / 7 - 4 / 6),
        "surprisals, heavy tails": (lambda n: rng.laplace(0.4, 1.5, n), 0.4),
        "distances, mostly 0": (lambda n: np.where(rng.random(n) < 0.6, 0.0, rng.laplace(0.5, 1, n)), 0.2),
    }
    for name, (draw, truth) in kinds.items():
        for n in (20, 50, 200, 1000):
            held = bootstrap = asked = 0
            for place in range(times):
                values = draw(n)
                held += _in(t_interval(values, np.ones(n)), truth)
                if place % SLOW == 0 and n <= 200:
                    asked += 1
                    bootstrap += _in(bca_interval(values, np.ones(n), seed=place), truth)
            yield Row(f"{name}, t", n, truth, held / times, f"bca {bootstrap / asked:.1%}" if asked else "")


def _right(rng: np.random.Generator, ability: Floats) -> Floats:
    return (rng.random(len(ability)) < 1 / (1 + np.exp(-ability))).astype(float)


def _difference(skill: float, start: float = 0.3, own: float = 0.0) -> float:
    """The true difference of shares: the mean of the logistic curve over difficulties, by quadrature."""
    points, weights = np.polynomial.hermite_e.hermegauss(101)
    spread = np.sqrt(1 + own**2)

    def share(ability: float) -> float:
        return float(np.sum(weights / (1 + np.exp(-(ability + spread * points)))) / np.sqrt(2 * np.pi))

    return share(start + skill) - share(start)


def _wald(only_first: int, only_second: int, n: int) -> Interval:
    found = (only_second - only_first) / n
    half = 1.96 * float(np.sqrt(max(0.0, (only_first + only_second) / n - found**2) / n))
    return Interval(found - half, found + half)


def _in(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low <= truth <= interval.high


if __name__ == "__main__":
    main()
