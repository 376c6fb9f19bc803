"""All sets of the PCFG SET family, as files with the published names and formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

from wug.errors import InputError, UnknownName
from wug.families.pcfgset.language import SourceFault
from wug.families.pcfgset.make import exceptions, lengths, localism, pcfg, splits, twins
from wug.families.pcfgset.make.grammar import Grammar
from wug.families.pcfgset.make.pcfg import Sample
from wug.families.pcfgset.make.table import Table
from wug.files import read_lines

Files: TypeAlias = dict[str, list[str]]
"""The lines of each file, by its name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to make, and from what; the defaults make the published sizes."""

    seed: int = 0
    sizes: Mapping[str, int] = field(default_factory=lambda: pcfg.SPLITS)
    """Lines of each split of a generated corpus."""
    base: Path | None = None
    """A folder with train, dev and test, or one file of sources, to start from instead of a generated corpus."""
    natural: bool = True
    """Draw to a table of depths and lengths; otherwise by the grammar alone."""
    table: Table | None = None
    """The published test set's where absent."""
    grammar: Grammar | None = None
    ratios: Sequence[float] = exceptions.RATIOS
    per_function: int | None = None
    """Substitutivity test lines per function."""
    most: int = 8
    """Functions in a productivity training line."""
    rounds: int = 53
    """Increasing-length lines for each function and length."""
    longest: int = 20
    """Symbols in the longest increasing-length string."""


def make(kind: str, plan: Plan) -> Files:
    """The files of one of the kinds of data; the same plan always gives the same files."""
    if kind not in _MAKERS:
        raise UnknownName("kind of PCFG SET data", kind, _MAKERS)
    return _MAKERS[kind](plan)


def read_samples(path: Path) -> list[Sample]:
    """The sources of a file with the meaning of each; a `.tgt` file beside it is not needed."""
    samples = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            samples.append(Sample.of(" ".join(line.split())))
        except SourceFault as fault:
            raise InputError(fault.args[0], file=path, place=f"line {number}") from None
    if not samples:
        raise InputError("the file has no sources", file=path)
    return samples


def sources_of(files: Files) -> Files:
    """The sources in files that were made, by the name of the first file that has them."""
    found: Files = {}
    for name, lines in files.items():
        if name.endswith(".tsv"):
            lines = [line.split("\t")[1] for line in lines if line.startswith("original\t")]
        if not name.endswith(".tgt") and lines not in found.values():
            found[name] = lines
    return found


def _pcfgset(plan: Plan) -> Files:
    files: Files = {}
    for name, samples in _corpus(plan).items():
        files |= _pair(name, samples)
    return files


def _split(plan: Plan, split: Callable[[Sequence[Sample]], splits.Split]) -> Files:
    made = _corpus(plan)
    parts = split([*made["train"], *made["test"]])
    return _pair("train", parts.train) | _pair("dev", made["dev"]) | _pair("test", parts.test)


def _localism(plan: Plan) -> Files:
    made = _corpus(plan)
    files = {
        f"unrolled_{name}.tsv": localism.unrolled(sample.source for sample in made[name]) for name in ("train", "test")
    }
    if not any(files.values()):
        raise InputError("there is nothing to unroll: no source has more than one function", file=plan.base)
    return {name: lines for name, lines in files.items() if lines}


def _substitutivity(plan: Plan) -> Files:
    made, random = _corpus(plan), Random(plan.seed)
    beside = twins.beside_twins(made["test"], random, plan.per_function)
    test = _pair("test", [sample for sample, _ in beside]) | _pair("test_twin", [twin for _, twin in beside])
    every = [sample for samples in made.values() for sample in samples]
    strings = pcfg.Strings(random, pcfg.strings_of(every))
    conditions = {
        "equally_distributed": twins.equally_distributed(made["train"], random),
        "primitive": twins.primitive(made["train"], strings, random),
    }
    files: Files = {}
    for condition, train in conditions.items():
        parts = _pair("train", train) | _pair("dev", made["dev"]) | test
        files |= {f"{condition}/{name}": lines for name, lines in parts.items()}
    return files


def _overgeneralisation(plan: Plan) -> Files:
    made = _corpus(plan)
    if not made["train"]:
        raise InputError("exceptions need training lines: a folder with train.src", file=plan.base)
    files = _pair("dev", made["dev"])
    for ratio in plan.ratios:
        found = exceptions.overgeneralisation(made["train"], ratio, Random(plan.seed))
        files |= _pair(f"train_pcfg_ratio={ratio:g}", found.train)
        exceptional = [Sample(line.source, line.exception) for line in found.remapped]
        original = [Sample(line.source, line.original) for line in found.remapped]
        files |= _pair(f"test_pcfg_ratio={ratio:g}_exception", exceptional)
        files |= _pair(f"test_pcfg_ratio={ratio:g}_original", original)
    return files


def _increasing(plan: Plan) -> Files:
    made = lengths.increasing(Random(plan.seed), rounds=plan.rounds, longest=plan.longest)
    return _pair("increasing_length", made)


def _corpus(plan: Plan) -> dict[str, list[Sample]]:
    """The train, dev and test lines to start from; a split that is not there is empty."""
    empty: dict[str, list[Sample]] = {"train": [], "dev": [], "test": []}
    if plan.base is None:
        made = pcfg.corpus(plan.sizes, seed=plan.seed, table=plan.table, grammar=plan.grammar, natural=plan.natural)
        return empty | made
    if not plan.base.is_dir():
        return empty | {"test": read_samples(plan.base)}
    for name in empty:
        files = [path for path in (plan.base / f"{name}.src", plan.base / f"{name}.src.gz") if path.exists()]
        if files:
            empty[name] = read_samples(files[0])
    if not any(empty.values()):
        raise InputError("no train.src, dev.src or test.src in this folder", file=plan.base)
    return empty


def _pair(name: str, samples: Sequence[Sample]) -> Files:
    """The `.src` and `.tgt` file of samples; none at all without samples."""
    if not samples:
        return {}
    return {
        f"{name}.src": [sample.source for sample in samples],
        f"{name}.tgt": [sample.target for sample in samples],
    }


_MAKERS: Mapping[str, Callable[[Plan], Files]] = {
    "pcfgset": _pcfgset,
    "systematicity": lambda plan: _split(plan, splits.systematicity),
    "productivity": lambda plan: _split(plan, lambda samples: splits.productivity(samples, plan.most)),
    "substitutivity": _substitutivity,
    "localism": _localism,
    "overgeneralisation": _overgeneralisation,
    "increasing-length": _increasing,
}
