"""All sets of the PCFG SET family, as files with the published names and formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

from wug.errors import InputError, UnknownName
from wug.families.pcfgset.language import parse
from wug.families.pcfgset.make import corpus
from wug.families.pcfgset.make.corpus import DepthLengthTable, SourceTarget
from wug.families.pcfgset.make.grammar import PcfgGrammar
from wug.files import read_lines

Files: TypeAlias = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class DataPlan:
    """What to make, and from what; the defaults are the published sizes."""

    seed: int = 0
    sizes: Mapping[str, int] = field(default_factory=lambda: corpus.SPLITS)
    base: Path | None = None
    """A folder with train, dev and test, or one file of sources, to start from instead of a generated corpus."""
    natural: bool = True
    """Whether to follow a table of depths and lengths; otherwise the grammar alone decides."""
    table: DepthLengthTable | None = None
    """None for that of the published test set."""
    grammar: PcfgGrammar | None = None
    ratios: Sequence[float] = corpus.RATIOS
    per_function: int | None = None
    max_functions: int = 8
    rounds: int = 53
    """Increasing-length lines for each function and length."""
    longest: int = 20
    """Symbols in the longest increasing-length string."""


def make(kind: str, plan: DataPlan) -> Files:
    """The files of one kind of data; the same plan always gives the same files."""
    if kind not in _MAKERS:
        raise UnknownName("kind of PCFG SET data", kind, _MAKERS)
    return _MAKERS[kind](plan)


def read_samples(path: Path) -> list[SourceTarget]:
    """The sources of a file with their meanings; no `.tgt` file is needed."""
    samples = []
    for number, line in enumerate(read_lines(path), 1):
        expression = parse(line, file=path, place=f"line {number}")
        samples.append(SourceTarget(" ".join(expression.words), " ".join(expression.meaning())))
    if not samples:
        raise InputError("the file has no sources", file=path)
    return samples


def sources_of(files: Files) -> Files:
    """The sources in made files, by the name of the first file that has them."""
    sources: Files = {}
    for name, lines in files.items():
        if name.endswith(".tsv"):
            lines = [line.split("\t")[1] for line in lines if line.startswith("original\t")]
        if not name.endswith(".tgt") and lines not in sources.values():
            sources[name] = lines
    return sources


def _pcfgset(plan: DataPlan) -> Files:
    files: Files = {}
    for name, samples in _corpus(plan).items():
        files |= _pair(name, samples)
    return files


def _split(plan: DataPlan, split: Callable[[Sequence[SourceTarget]], corpus.Split]) -> Files:
    lines = _corpus(plan)
    parts = split([*lines["train"], *lines["test"]])
    return _pair("train", parts.train) | _pair("dev", lines["dev"]) | _pair("test", parts.test)


def _localism(plan: DataPlan) -> Files:
    parts = _corpus(plan)
    files = {f"unrolled_{name}.tsv": corpus.unrolled(line.source for line in parts[name]) for name in ("train", "test")}
    if not any(files.values()):
        raise InputError("there is nothing to unroll: no source has more than one function", file=plan.base)
    return {name: lines for name, lines in files.items() if lines}


def _substitutivity(plan: DataPlan) -> Files:
    corpus_lines, random = _corpus(plan), Random(plan.seed)
    both = corpus.synonym_pairs(corpus_lines["test"], random, plan.per_function)
    test = _pair("test", [sample for sample, _ in both]) | _pair("test_twin", [twin for _, twin in both])
    samples = [sample for samples in corpus_lines.values() for sample in samples]
    strings = corpus.Strings(random, corpus.strings_of(samples))
    conditions = {
        "equally_distributed": corpus.equally_distributed(corpus_lines["train"], random),
        "primitive": corpus.primitive(corpus_lines["train"], strings, random),
    }
    files: Files = {}
    for condition, train in conditions.items():
        parts = _pair("train", train) | _pair("dev", corpus_lines["dev"]) | test
        files |= {f"{condition}/{name}": lines for name, lines in parts.items()}
    return files


def _overgeneralisation(plan: DataPlan) -> Files:
    corpus_lines = _corpus(plan)
    if not corpus_lines["train"]:
        raise InputError("exceptions need training lines. Give a folder with train.src", file=plan.base)
    files = _pair("dev", corpus_lines["dev"])
    for ratio in plan.ratios:
        train, changed = corpus.overgeneralisation(corpus_lines["train"], ratio, Random(plan.seed))
        files |= _pair(f"train_pcfg_ratio={ratio:g}", train)
        for reading in ("exception", "original"):
            lines = [SourceTarget(line.source, getattr(line, reading)) for line in changed]
            files |= _pair(f"test_pcfg_ratio={ratio:g}_{reading}", lines)
    return files


def _corpus(plan: DataPlan) -> dict[str, list[SourceTarget]]:
    empty: dict[str, list[SourceTarget]] = {"train": [], "dev": [], "test": []}
    if plan.base is None:
        lines = corpus.corpus(plan.sizes, seed=plan.seed, table=plan.table, grammar=plan.grammar, natural=plan.natural)
        return empty | lines
    if not plan.base.is_dir():
        return empty | {"test": read_samples(plan.base)}
    for name in empty:
        files = [path for path in (plan.base / f"{name}.src", plan.base / f"{name}.src.gz") if path.exists()]
        if files:
            empty[name] = read_samples(files[0])
    if not any(empty.values()):
        raise InputError("no train.src, dev.src or test.src in this folder", file=plan.base)
    return empty


def _pair(name: str, samples: Sequence[SourceTarget]) -> Files:
    """The `.src` and `.tgt` file of samples; none if there are no samples."""
    sources, targets = [sample.source for sample in samples], [sample.target for sample in samples]
    return {f"{name}.src": sources, f"{name}.tgt": targets} if samples else {}


_MAKERS: Mapping[str, Callable[[DataPlan], Files]] = {
    "pcfgset": _pcfgset,
    "systematicity": lambda plan: _split(plan, corpus.systematicity),
    "productivity": lambda plan: _split(plan, lambda samples: corpus.productivity(samples, plan.max_functions)),
    "substitutivity": _substitutivity,
    "localism": _localism,
    "overgeneralisation": _overgeneralisation,
    "increasing-length": lambda plan: _pair(
        "increasing_length",
        corpus.increasing_lengths(Random(plan.seed), rounds=plan.rounds, longest=plan.longest),
    ),
}
