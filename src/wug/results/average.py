"""Means over several runs of one test, as papers report them."""

from __future__ import annotations

from collections.abc import Sequence

from wug.files import checksum
from wug.identity import ModelId
from wug.stats import mean_over_runs
from wug.types import Result, Signature


def averages(results: Sequence[Result], *, population: bool = False) -> list[Result]:
    """The mean of each test with several results, ± one standard deviation.

    Results are of the same test if their signatures differ only in the model.
    """
    tests: dict[Signature, list[Result]] = {}
    for result in results:
        tests.setdefault(result.signature.without("model"), []).append(result)
    return [_average(each, population) for each in tests.values() if len(each) > 1]


def _average(results: Sequence[Result], population: bool) -> Result:
    first = results[0]
    digest = checksum(*sorted(result.model for result in results))
    model = str(ModelId("mean", f"{len(results)} runs", digest))
    fields = [(key, model if key == "model" else value) for key, value in first.signature.fields]
    return Result(
        suite=first.suite,
        kind=first.kind,
        model=model,
        status="complete",
        signature=Signature((*fields, ("sd", "population" if population else "sample"))),
        n=first.n,
        estimates=tuple(mean_over_runs([result.estimates for result in results], population=population)),
        meta=first.meta,
        metrics=first.metrics,
    )
