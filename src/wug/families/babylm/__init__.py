"""BabyLM: the zero-shot tasks of the challenge, scored as its pipeline does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from wug.errors import InputError
from wug.families.babylm.submission import export_run, to_sample
from wug.families.babylm.suite import (
    WITH_SPACE,
    AgesSuite,
    BabylmSuite,
    ReadingTimesSuite,
    read_children,
)
from wug.families.babylm.tasks import TASKS, VERSIONS, adopt, read_task, rebuild, size_warnings, task_of
from wug.interfaces import Suite
from wug.options import Option
from wug.options import read as read_options
from wug.problems import Problem
from wug.traits import FamilyTraits, ScoringProtocol

__all__ = ["OPTIONS", "TRAITS", "BabylmSuite", "adopt", "check", "export_run", "read", "recognises", "to_sample"]

OPTIONS = (Option("fast", bool, False, "the short version of each task (fast_eval)"),)
TRAITS = FamilyTraits(
    builtin_model="wug-causal",
    breakdown=("field", "paradigm"),
    protocols={
        "babylm": ScoringProtocol(
            "the BabyLM evaluation pipeline of 2025 and 2026: special tokens as the tokenizer adds them, sums, ties "
            "won by the first",
            model_options={"bos": "tokenizer", "pll": "original"},
        )
    },
    reads_folders=True,
)
VOCABULARY = "vocab.txt"
ARCHIVE = "Download evaluation_data of the challenge (OSF ryjfm), and run `wug data get babylm --from evaluation_data`"
EWOK = "EWoK is gated: accept its terms on the Hugging Face Hub, and run the pipeline's ewok/dl_and_filter.py"


def recognises(path: Path, head: str) -> bool:
    """Never: the files are those of other families, unless the user names the protocol."""
    return False


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The suites of evaluation_data, of one of its versions, of one task, or of the vocabulary and BLiMP."""
    fast: bool = read_options(OPTIONS, options, "babylm")["fast"]
    if path.is_file():
        return [_from_blimp(path, fast)]
    version, other = path / VERSIONS[fast], path / VERSIONS[not fast]
    if other.is_dir() and not version.is_dir():
        raise InputError(
            f"{version.name} is not here, only {other.name}: run it {'without' if fast else 'with'} --fast", file=path
        )
    folder = version if version.is_dir() else path
    if task_of(folder) is not None:
        return [*_suites(folder)]
    suites = [suite for below in sorted(folder.iterdir()) if below.is_dir() for suite in _suites(below)]
    if not suites:
        names = ", ".join(name for task in TASKS.values() for name in task.folders)
        raise InputError(f"no task of BabyLM is in this folder. Its tasks are in folders such as {names}", file=folder)
    omissions = _left_out({suite.name for suite in suites}, fast or folder.name == VERSIONS[1])
    return [replace(suites[0], notices=(*suites[0].notices, *omissions)), *suites[1:]]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """All errors and warnings about a folder."""
    return [Problem("warning", suite.name, text) for suite in read(path, options) for text in suite.notices]  # type: ignore[attr-defined]


def _suites(folder: Path) -> Iterator[BabylmSuite]:
    """The suites of a task's folder; none if it is another folder."""
    name = task_of(folder)
    if name is None:
        return
    items = read_task(name, folder)
    notices = size_warnings(name, folder.name, (item.uid for item in items))
    if name == "aoa":
        yield replace(AgesSuite.of(name, folder.name, items, notices), proportions=read_children(folder))
    elif name == "reading":
        yield ReadingTimesSuite.of(name, folder.name, items, notices)
        yield ReadingTimesSuite.of(WITH_SPACE, folder.name, items)
    else:
        yield BabylmSuite.of(name, folder.name, items, notices)


def _left_out(present: Collection[str], fast: bool) -> Iterator[str]:
    """What is not run, and how to get it."""
    missing = [name for name, task in TASKS.items() if name not in present and not (fast and task.full_only)]
    if missing:
        gated = f". {EWOK}" if "ewok" in missing and not fast else ""
        yield f"not run, since their data is not here: {', '.join(missing)}. {ARCHIVE}{gated}"
    yield "not run: glue, which needs fine-tuning"


def _from_blimp(path: Path, fast: bool) -> BabylmSuite:
    """The filtered BLiMP, made of the set next to that of the vocabulary."""
    if path.name.removesuffix(".gz") != VOCABULARY:
        raise InputError(
            "the protocol babylm reads folders: name the folder of a task, or full_eval. Other suites are scored by "
            "its rules with -M bos=tokenizer -S ties=first",
            file=path,
        )
    if fast:
        raise InputError(f"the data of the fast tasks is not here. {ARCHIVE}")
    pairs = next(iter(sorted(path.resolve().parents[2].glob("blimp/*/adjunct_island.jsonl*"))), None)
    if pairs is None:
        raise InputError("blimp_filtered is made of BLiMP, which is not here: wug data get blimp")
    items = rebuild(pairs.parent, path)
    wrong = size_warnings("blimp", "blimp_filtered", (item.uid for item in items))
    return BabylmSuite.of("blimp", "blimp_filtered", items, (*wrong, *_left_out({"blimp"}, fast)))
