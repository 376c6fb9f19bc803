"""Reading times: how well does a model's surprisal predict human readers?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wug.families.reading.settings import OPTIONS, ReadingSettings, settings
from wug.interfaces import Suite
from wug.problems import Problem
from wug.traits import FamilyTraits

if TYPE_CHECKING:
    from wug.families.reading.suite import ReadingSuite

__all__ = ["OPTIONS", "TRAITS", "check", "read", "recognises", "suite_of"]

TRAITS = FamilyTraits(
    builtin_model="wug-causal",
    metric_label=lambda metric: metric.replace("delta_ll", "ΔLL"),
    identifying_options=("measure",),
    compared_options=("predictors",),
    column_hint="--kind reading -S measure=COLUMN -S word=COLUMN -S text=COLUMN -S position=COLUMN",
)


def recognises(path: Path, head: str) -> bool:
    """False: nothing in a table says which column has reading times."""
    return False


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The suite of a table, or an error with its place."""
    return [suite_of(path, settings(options))]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """What keeps a table from being read, and warnings about it."""
    suite = suite_of(path, settings(options))
    return [Problem("warning", "", warning) for warning in suite.prepared.warnings]


def suite_of(source: object, chosen: ReadingSettings) -> ReadingSuite:
    """The suite of a path, a `wug.Table` or a data frame."""
    from wug.families.reading.prepare import prepare
    from wug.families.reading.suite import ReadingSuite
    from wug.families.reading.table import read_words

    table = read_words(source)
    name = Path(table.file).name.removesuffix(".gz").removesuffix(".xz")
    checksum = table.checksum  # before columns are added
    return ReadingSuite(name.rpartition(".")[0] or name, prepare(table, chosen), checksum)
