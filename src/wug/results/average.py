"""Means over several runs of one test, as papers report them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from wug.errors import InputError, UnknownName
from wug.files import checksum
from wug.identity import ModelId
from wug.outcomes import Result, Signature
from wug.stats import mean_over_runs

SEED = re.compile(r"[-_/.]?seed[-_=]?\d+", re.IGNORECASE)
PoolBy: TypeAlias = Literal["seed", "model"]


def averages(results: Sequence[Result], *, population: bool = False) -> list[Result]:
    """The mean of each test with several results, ± one standard deviation.

    Results are of the same test if their signatures differ only in the model.
    """
    tests: dict[Signature, list[Result]] = {}
    for result in results:
        tests.setdefault(result.signature.without("model"), []).append(result)
    return [_average(each, f"{len(each)} runs", population) for each in tests.values() if len(each) > 1]


def pool(results: Sequence[Result], by: PoolBy = "seed") -> list[Result]:
    """One result per suite and model without its seed, or per suite: means, with one standard deviation over runs.

    Raises:
        InputError: If no two results differ in their seed (or model) alone.
    """
    if by not in get_args(PoolBy):
        raise UnknownName("value of by", str(by), get_args(PoolBy))
    tests: dict[tuple[Signature, str], list[Result]] = {}
    for result in results:
        if result.status == "complete":
            training = without_seed(ModelId.parse(result.model).name) if by == "seed" else ""
            tests.setdefault((result.signature.without("model", "seed"), training), []).append(result)
    if all(len(each) < 2 for each in tests.values()):
        named = "models called NAME-seed1, NAME-seed2, … or run with --seed" if by == "seed" else "several models"
        raise InputError(f"no two results differ in their {by} alone: pool results of {named} on the same suite")
    noun = "seeds" if by == "seed" else "models"
    return [
        _average(each, f"{name}, {len(each)} {noun}".lstrip(", ")) if len(each) > 1 else each[0]
        for (_, name), each in tests.items()
    ]


def without_seed(name: str) -> str:
    """The name of a model without its seed: what runs of one training with different seeds share."""
    return SEED.sub("", name) or name


def _average(results: Sequence[Result], name: str, population: bool = False) -> Result:
    first = results[0]
    digest = checksum(*sorted(f"{result.model}|{result.signature}" for result in results))
    model = str(ModelId("mean", name, digest))
    fields = [(key, model if key == "model" else value) for key, value in first.signature.fields if key != "seed"]
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
