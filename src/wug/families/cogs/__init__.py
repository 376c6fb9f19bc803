"""COGS: does the model find the logical form of a sentence of a new shape?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError
from wug.families.cogs.predictions import read_predictions
from wug.families.cogs.read import looks_like_gold, plain_name, problems, read_gold
from wug.families.cogs.settings import OPTIONS, SPLITS, Settings
from wug.families.cogs.suite import CogsSuite
from wug.files import head as head_of
from wug.options import read as read_options
from wug.types import Problem

if TYPE_CHECKING:
    from wug.families.cogs.scoring import Judged

BREAKDOWN = ("type",)
"""What a first look at a result is broken down by: the first that there is."""

BUILTIN_MODEL = "wug-cogs"


def recognises(path: Path, head: str) -> bool:
    """Whether a file has sentences with logical forms, or a folder has files called dev, test or gen that do."""
    if path.is_dir():
        found = _files(path)
        return bool(found) and all(looks_like_gold(head_of(file)) for file in found.values())
    return looks_like_gold(head)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The files of a COGS folder; why one of them is not read."""
    if not recognises(folder, ""):
        return {}
    chosen = read_options(OPTIONS, options, "cogs")["split"]
    asked = chosen or [name for name in SPLITS if name != "train"]
    found = {file: "" if name in asked else f"run with -S split={name}" for name, file in _files(folder).items()}
    others = [file for file in sorted(folder.glob("*.tsv*")) if looks_like_gold(head_of(file))] if chosen else []
    return dict.fromkeys(others, f"not in the split {', '.join(chosen or ())}") | found


def read(path: Path, options: Mapping[str, str]) -> list[CogsSuite]:
    """The suite of a file, or those of a folder: dev, test and gen."""
    values = read_options(OPTIONS, options, "cogs")
    dialect = values["dialect"]
    chosen = Settings(values["reference_compat"], values["smatch"], values["bleu"], values["seed"])
    if not path.is_dir():
        name = plain_name(path)
        if values["split"] and name in SPLITS and name not in values["split"]:
            raise InputError(f"it is the split {name}, and split={options['split']} is asked for", file=path)
        return [CogsSuite(read_gold(path, dialect), chosen)]
    files = _files(path)
    wanted = values["split"] or [name for name in files if name != "train"]
    for name in wanted:
        if name not in files:
            raise InputError(f"there is no {name}.tsv and no {name}.tsv.gz in it", file=path)
    return [CogsSuite(read_gold(files[name], dialect), chosen) for name in wanted]


def check(path: Path, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Every fault and oddity of a gold file, or of all files of a folder."""
    values = read_options(OPTIONS, options or {}, "cogs")
    named = _files(path) if path.is_dir() else {}
    files = [file for name, file in named.items() if name in (values["split"] or named)] if path.is_dir() else [path]
    if not files:
        return [Problem("error", "", f"no file called {', '.join(f'{name}.tsv' for name in SPLITS)} in it")]
    found: list[Problem] = []
    for file in files:
        try:
            faults = list(problems(file, values["dialect"]))
        except InputError as error:
            faults = [Problem("error", error.place or "", error.message)]
        if len(files) > 1:
            faults = [replace(p, place=f"{file.name}, {p.place}" if p.place else file.name) for p in faults]
        found += faults
    return found


def score(gold: Path, predictions: Sequence[Path], *, dialect: str | None = None, **measures: Any) -> list[Judged]:
    """What the predictions in each file, of a system each, are worth against a gold file; `measures` as in `Settings`.

    Every file is read before anything is judged, so that a fault in one leaves nothing half scored.
    """
    from wug.families.cogs.scoring import judge_predictions

    chosen = Settings(**measures)
    against = read_gold(gold, dialect)
    systems = [read_predictions(path, against) for path in predictions]
    return [judge_predictions(against, system, chosen) for system in systems]


def _files(folder: Path) -> dict[str, Path]:
    """The files of a COGS folder by split, gzipped or not."""
    found: dict[str, Path] = {}
    for name in SPLITS:
        for ending in (".tsv", ".tsv.gz"):
            if (folder / f"{name}{ending}").is_file():
                found.setdefault(name, folder / f"{name}{ending}")
    return found
