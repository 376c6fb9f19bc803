"""COGS: does the model find the logical form of a sentence with an unseen structure?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wug.errors import InputError
from wug.families.cogs.logical_form import DIALECTS
from wug.families.cogs.metrics import CogsMetricOptions
from wug.families.cogs.read import SPLITS, looks_like_gold, problems, read_predictions
from wug.families.cogs.suite import CogsSuite, ScoredPredictions, read_gold, score_forms
from wug.families.cogs.suite import to_sample as to_sample
from wug.families.cogs.syntax import (
    SYNTAX_DIALECTS,
    SyntaxSuite,
    read_syntax,
    recognise_syntax,
    syntax_dialect,
    syntax_problems,
)
from wug.files import head as head_of
from wug.options import Option
from wug.options import read as read_options
from wug.problems import Problem
from wug.record_tables import stem
from wug.traits import FamilyTraits

OPTIONS = (
    Option(
        "split", SPLITS, None, "files of a folder to read (default: those of dev, test and gen that exist)", many=True
    ),
    Option("dialect", (*DIALECTS, *SYNTAX_DIALECTS), None, "dialect of the targets (default: that of the gold file)"),
    Option("smatch", bool, False, "also compute the F1 of terms under the best renaming of indices"),
    Option("seed", int, 0, "seed for the random starts of smatch"),
    Option("bleu", bool, True, "also compute BLEU"),
    Option("reference_compat", bool, False, "compute the metrics as the first public evaluator does"),
)
TRAITS = FamilyTraits(builtin_model="wug-cogs", breakdown=("type",))


def recognises(path: Path, head: str) -> bool:
    """Whether a file has sentences with logical forms or syntax, or a folder has files called dev, test or gen."""
    if path.is_dir():
        files = _files(path)
        return bool(files) and all(_is_gold(head_of(file)) for file in files.values())
    return _is_gold(head)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The files of a COGS folder, each with the reason why it is not read (empty if it is)."""
    if not recognises(folder, ""):
        return {}
    chosen = read_options(OPTIONS, options, "cogs")["split"]
    selected = chosen or [name for name in SPLITS if name != "train"]
    reasons = {file: "" if name in selected else f"run with -S split={name}" for name, file in _files(folder).items()}
    others = [file for file in sorted(folder.glob("*.tsv*")) if _is_gold(head_of(file))] if chosen else []
    return dict.fromkeys(others, f"not in the split {', '.join(chosen or ())}") | reasons


def read(path: Path, options: Mapping[str, str]) -> list[CogsSuite | SyntaxSuite]:
    """The suite in a file, or those in a folder: dev, test and gen."""
    values = read_options(OPTIONS, options, "cogs")
    dialect = values["dialect"]
    chosen = CogsMetricOptions(values["reference_compat"], values["smatch"], values["bleu"], values["seed"])
    if not path.is_dir():
        name = stem(path)
        if values["split"] and name in SPLITS and name not in values["split"]:
            raise InputError(f"this is the split {name}, but split={options['split']} was given", file=path)
        return [_suite(path, dialect, chosen)]
    files = _files(path)
    splits = values["split"] or [name for name in files if name != "train"]
    for name in splits:
        if name not in files:
            raise InputError(f"the folder has neither {name}.tsv nor {name}.tsv.gz", file=path)
    return [_suite(files[name], dialect, chosen) for name in splits]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Every error and warning about a gold file, or about all files of a folder."""
    values = read_options(OPTIONS, options, "cogs")
    by_split = _files(path) if path.is_dir() else {"": path}
    files = [file for name, file in by_split.items() if not name or name in (values["split"] or by_split)]
    if not files:
        return [Problem("error", "", f"the folder has none of {', '.join(f'{name}.tsv' for name in SPLITS)}")]
    all_problems: list[Problem] = []
    for file in files:
        try:
            syntax = syntax_dialect(file, values["dialect"])
            problems_of_file = list(syntax_problems(file, syntax) if syntax else problems(file, values["dialect"]))
        except InputError as error:
            problems_of_file = [Problem("error", error.place or "", error.message)]
        if len(files) > 1:
            places = (", ".join(filter(None, (file.name, problem.place))) for problem in problems_of_file)
            problems_of_file = [replace(p, place=place) for p, place in zip(problems_of_file, places, strict=True)]
        all_problems += problems_of_file
    return all_problems


def score(
    gold: Path,
    predictions: Sequence[Path],
    *,
    dialect: str | None = None,
    reference_compat: bool = False,
    smatch: bool = False,
    bleu: bool = True,
    seed: int = 0,
) -> list[ScoredPredictions]:
    """The metrics of the predictions in each file, one file per system, against a gold file.

    Every file is read before anything is scored, so an error in one of them leaves nothing half scored.
    """
    suite = read_gold(gold, dialect, CogsMetricOptions(reference_compat, smatch, bleu, seed))
    systems = [(path, *read_predictions(path, suite.items)) for path in predictions]
    return [score_forms(suite, str(path), forms, warnings) for path, forms, warnings in systems]


def _is_gold(head: str) -> bool:
    return looks_like_gold(head) or recognise_syntax(head) is not None


def _suite(path: Path, dialect: str | None, options: CogsMetricOptions) -> CogsSuite | SyntaxSuite:
    syntax = syntax_dialect(path, dialect)
    return read_syntax(path, syntax) if syntax else read_gold(path, dialect, options)


def _files(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for name in SPLITS:
        for ending in (".tsv", ".tsv.gz"):
            if (folder / f"{name}{ending}").is_file():
                files.setdefault(name, folder / f"{name}{ending}")
    return files
