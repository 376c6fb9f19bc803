"""How often the 95% intervals of wug contain the truth, in simulated models.

    python benchmarks/compare_coverage.py [--times 4000] [--seed 1] [--only differences|bounds|sources]

Differences, as `wug compare` shows them. Items have a difficulty that both models share, as real ones do, so that
their answers go together. Right or wrong: a model answers with the probability of a logistic curve, and Tango's
interval is asked. Several sentences per item: 1 to 4 of them share the item's difficulty, and the interval by items is
computed, and the one that treats every sentence as an independent item. Numbers: scores between 0 and 1,
surprisals (differences with heavy tails), and distances that are mostly 0; next to the t interval is the BCa
bootstrap (fewer times, for it is slow).

Bounds: means of one model whose values are mostly 0 (edit distances of a system with few lines wrong), and F1 counted
over lines that are mostly right. An interval may be refused, so three numbers count: how often one is given, how often
one is given and misses the truth, and how often those that are given contain it.

Sources: shares over rows of which several ask the same source, as in substitutivity. Either the rows of a source are
all equal, or half of the sources are so, or none.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wug.outcomes import Interval
from wug.stats import effective_number, ratio_interval, wilson
from wug.stats_paired import bca_interval, t_interval, tango

Floats = NDArray[np.float64]
Sample = tuple[Floats, Floats]
"""The sum of differences of each item, and how many there are."""
SLOW = 8
"""The bootstrap is computed once in this many trials."""
SLOWER = 20
"""The same for values at a bound and for sources."""


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
    parser.add_argument("--only", choices=("differences", "bounds", "sources"))
    given = parser.parse_args()
    for name, show in (("differences", differences), ("bounds", bounds), ("sources", sources)):
        if given.only in (None, name):
            show(np.random.default_rng(given.seed), given.times)
            print(f"{given.times} times each, seed {given.seed}", end="\n\n", flush=True)


def differences(rng: np.random.Generator, times: int) -> None:
    """Print the table of paired differences."""
    print(f"{'data':34} {'items':>6} {'true difference':>16} {'covered':>8}  for comparison")
    missed = 0
    for row in (*judgements(rng, times), *clusters(rng, times), *numbers(rng, times)):
        within = 0.93 <= row.coverage <= 0.97
        missed += not within
        mark = "" if within else "  outside 93–97 %"
        print(f"{row.what:34} {row.n:6} {row.truth:+16.3f} {row.coverage:8.1%}  {row.other}{mark}", flush=True)
    print(f"outside 93–97 %: {missed}")


def bounds(rng: np.random.Generator, times: int) -> None:
    """Print the table of means near a bound, next to Student's interval and the BCa bootstrap."""
    sizes: dict[str, Callable[[int], Floats]] = {
        "edit distances, long tail": lambda k: np.ceil(rng.lognormal(1.5, 1, k)),
        "edit distances, 1–3 or 30–59": lambda k: np.where(
            rng.random(k) < 0.85, rng.integers(1, 4, k), rng.integers(30, 60, k)
        ).astype(float),
        "normalised distances": lambda k: rng.beta(1, 4, k),
    }
    print(f"{'data':30} {'lines':>5} {'wrong':>5} {'given':>6} {'missed':>6} {'covered':>7}  for comparison")
    for name, draw in sizes.items():
        mean = float(draw(4_000_000).mean())
        for n in (20, 50, 200, 1000):
            for wrong in (0.02, 0.05, 0.2, 0.5):
                samples = (np.where(rng.random(n) < wrong, draw(n), 0.0) for _ in range(times))
                _show_bound(name, n, wrong, wrong * mean, ((values, np.ones(n)) for values in samples))
    for n in (20, 50, 200, 1000):
        for wrong in (0.02, 0.05, 0.2, 0.5):
            # A form of 2 to 12 terms; in a wrong line each is right with probability 0.7.
            truth = 1 - wrong * 0.3
            _show_bound("F1 counted over lines", n, wrong, truth, (_counted(rng, n, wrong) for _ in range(times)))


def _counted(rng: np.random.Generator, n: int, wrong: float) -> Sample:
    terms = rng.integers(2, 13, n)
    right = np.where(rng.random(n) < wrong, rng.binomial(terms, 0.7), terms)
    return 2 * right.astype(np.float64), 2 * terms.astype(np.float64)


def _show_bound(name: str, n: int, wrong: float, truth: float, samples: Iterator[Sample]) -> None:
    given = held = student = bootstrap = asked = times = 0
    for place, (tops, bottoms) in enumerate(samples):
        made = ratio_interval(tops, bottoms).interval
        given += made is not None
        held += _in(made, truth)
        student += _in(t_interval(tops, bottoms), truth)
        if place % SLOWER == 0 and n <= 200:
            asked += 1
            bootstrap += _in(bca_interval(tops, bottoms, seed=place), truth)
        times += 1
    covered = f"{held / given:7.1%}" if given >= times / 20 else f"{'–':>7}"
    bca = f", bca {bootstrap / asked:.1%}" if asked else ""
    missed = (given - held) / times
    print(
        f"{name:30} {n:5} {wrong:5.0%} {given / times:6.1%} {missed:6.1%} {covered}  t {student / times:.1%}{bca}",
        flush=True,
    )


def sources(rng: np.random.Generator, times: int) -> None:
    """Print the table of shares over rows that repeat sources, next to other methods for that."""
    print(f"{'sources':>7} {'share':>5} {'alike':>5} {'covered':>7}  for comparison")
    for count in (20, 60, 300, 1371):
        for share in (0.5, 0.9, 0.98):
            for alike in (0.0, 0.5, 1.0):
                held, drawn = np.zeros(3), []
                for place in range(times):
                    sums, sizes = _rows_of_sources(rng, count, share, alike)
                    held += [_in(one, share) for one in _of_sources(sums, sizes)]
                    if place % SLOWER == 0:
                        drawn.append(_in(_drawn_sources(rng, sums, sizes), share))
                ours, naive, design = held / times
                bootstrap = sum(drawn) / len(drawn)
                print(
                    f"{count:7} {share:5.0%} {alike:5.0%} {ours:7.1%}  not clustered {naive:.1%}, estimated design "
                    f"effect {design:.1%}, bootstrap of sources {bootstrap:.1%}",
                    flush=True,
                )


def _rows_of_sources(rng: np.random.Generator, count: int, share: float, alike: float) -> Sample:
    """How many rows of each source are right, and how many there are: as many as in the built-in set."""
    sizes = rng.choice(4, count, p=np.array([853, 414, 97, 7]) / 1371) + 1
    together = rng.random(count) < alike
    right = np.where(together, sizes * (rng.random(count) < share), rng.binomial(sizes, share))
    return right.astype(float), sizes.astype(float)


def _of_sources(sums: Floats, sizes: Floats) -> tuple[Interval, ...]:
    n = float(sizes.sum())
    share, rows = float(sums.sum()) / n, effective_number(sizes)
    spread = float(np.square(sums - share * sizes).sum()) * len(sums) / (len(sums) - 1)
    # Kish's number where all rows are right, or none: nothing varies.
    design = max(1.0, spread / (n * share * (1 - share))) if 0 < share < 1 else n / rows
    return wilson(share * rows, rows), wilson(share * n, n), wilson(share * n / design, n / design)


def _drawn_sources(rng: np.random.Generator, sums: Floats, sizes: Floats) -> Interval:
    drawn = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), 999)
    low, high = np.quantile((drawn @ sums) / (drawn @ sizes), [0.025, 0.975])
    return Interval(float(low), float(high))


def judgements(rng: np.random.Generator, times: int) -> Iterator[Row]:
    """Right or wrong, one outcome per item."""
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
    """Right or wrong, several sentences per item."""
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
            yield Row("several sentences per item, t", n, truth, held / times, f"not clustered {naive / times:.1%}")


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
