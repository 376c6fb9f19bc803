"""BabyLM: the zero-shot tasks of the challenge, scored as its pipeline does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from wug.errors import InputError
from wug.families.babylm.adoption import VERSIONS, adopt
from wug.families.babylm.submission import export_run, to_sample
from wug.families.babylm.suite import BabylmSuite
from wug.families.babylm.tasks import TASKS, counts_of, read_task, rebuild, size_warnings, task_of
from wug.options import Option
from wug.options import read as read_options
from wug.types import Problem, ScoringProtocol, Suite

__all__ = ["OPTIONS", "BabylmSuite", "adopt", "check", "export_run", "read", "recognises", "to_sample"]

OPTIONS = (Option("fast", bool, False, "the short version of each task (fast_eval)"),)
PROTOCOLS = {
    "babylm": ScoringProtocol(
        "the BabyLM evaluation pipeline of 2025 and 2026: special tokens as the tokenizer adds them, sums, ties won by "
        "the first",
        model_options={"bos": "tokenizer", "pll": "original"},
    )
}
BREAKDOWN = ("field", "paradigm")
BUILTIN_MODEL = "wug-causal"
READS_FOLDERS = True
VOCABULARY = "vocab.txt"
ELSEWHERE = (
    "not run, since their data is only in the archive of the challenge (OSF ryjfm): {}. Download evaluation_data, and "
    "run `wug run evaluation_data/{} --protocol babylm`"
)


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
        return [_suite(folder)]
    found = [_suite(below) for below in sorted(folder.iterdir()) if below.is_dir() and task_of(below) is not None]
    if not found:
        names = ", ".join(name for task in TASKS.values() for name in task.folders)
        raise InputError(f"no task of BabyLM is in this folder. Its tasks are in folders such as {names}", file=folder)
    missing = [name for name in TASKS if name not in {suite.name for suite in found}]
    left = ", ".join([*missing, "reading", "aoa"])
    return [replace(found[0], notices=(*found[0].notices, f"not run: {left}")), *found[1:]]


def check(path: Path, options: Mapping[str, str] | None = None) -> list[Problem]:
    """All errors and warnings about a folder."""
    try:
        return [Problem("warning", suite.name, text) for suite in read(path, options or {}) for text in suite.notices]  # type: ignore[attr-defined]
    except InputError as error:
        return [Problem("error", error.place or "", error.message)]


def _suite(folder: Path) -> BabylmSuite:
    name = task_of(folder)
    assert name is not None
    items = read_task(name, folder)
    return BabylmSuite(name, folder.name, tuple(items), size_warnings(name, folder.name, counts_of(items)))


def _from_blimp(path: Path, fast: bool) -> BabylmSuite:
    """The filtered BLiMP, made of the set next to that of the vocabulary."""
    if path.name.removesuffix(".gz") != VOCABULARY:
        raise InputError("BabyLM is read from folders: name the folder of a task, or full_eval", file=path)
    if fast:
        raise InputError(ELSEWHERE.format("all fast tasks", VERSIONS[1]))
    pairs = next(iter(sorted(path.resolve().parents[2].glob("blimp/*/adjunct_island.jsonl*"))), None)
    if pairs is None:
        raise InputError("blimp_filtered is made of BLiMP, which is not here: wug data get blimp")
    items = rebuild(pairs.parent, path)
    others = ", ".join([*(name for name in TASKS if name != "blimp"), "reading", "aoa"])
    notices = (*size_warnings("blimp", "blimp_filtered", counts_of(items)), ELSEWHERE.format(others, VERSIONS[0]))
    return BabylmSuite("blimp", "blimp_filtered", tuple(items), notices)
