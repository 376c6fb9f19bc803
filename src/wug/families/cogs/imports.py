"""Accuracies of COGS by generalisation type as runs: files `{TYPE: accuracy, "overall": mean}`, as of Orhan (2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from wug.errors import InputError
from wug.exchange.imported import Aggregate, ImportedRun, ImportedSuite
from wug.exchange.json_files import read_strict_object, require_number
from wug.families.cogs.read import GENERALISATIONS

FORMAT = "cogs-accuracies"
LINES_PER_TYPE = 1000


def recognises(path: Path, head: str) -> bool:
    """Whether a file has accuracies by generalisation type."""
    return head.lstrip().startswith("{") and sum(f'"{name}"' in head for name in (*GENERALISATIONS, "overall")) > 2


def read(files: Sequence[Path]) -> Iterator[ImportedRun]:
    """One run per file; `overall` must be the mean over the types."""
    for path in files:
        values = {name: require_number(value, name, path) for name, value in read_strict_object(path).items()}
        overall = values.pop("overall", None)
        if unknown := sorted(values.keys() - GENERALISATIONS.keys()):
            raise InputError(f"{unknown[0]!r} is not a generalisation type of COGS", file=path)
        mean = fmean(values.values())
        if overall is not None and abs(overall - mean) > 1e-6:
            raise InputError(f"overall is {overall:.6g}, and the mean over the types {mean:.6g}", file=path)
        suite = ImportedSuite("gen", "cogs")
        suite.declare("exact_match", share=True)
        for name in (name for name in GENERALISATIONS if name in values):
            groups = {"kind": GENERALISATIONS[name].kind, "type": name}
            suite.aggregates.append(Aggregate("exact_match", groups, values[name], LINES_PER_TYPE))
        name = path.name.removesuffix(".gz").removesuffix(".json").removeprefix("accuracies_")
        yield ImportedRun(name, "", FORMAT, "cogs-pretrained-lms", [path], [suite])
