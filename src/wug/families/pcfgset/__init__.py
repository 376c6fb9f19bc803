"""PCFG SET: does a model compute a whole from its parts? (Hupkes et al. 2020)"""  # noqa: D415

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from wug.errors import InputError
from wug.families.pcfgset.language import answer, exceptional, exceptions
from wug.families.pcfgset.layout import (
    SPLITS,
    base_name,
    find_tests,
    looks_like_sources,
    looks_like_targets,
    looks_unrolled,
)
from wug.families.pcfgset.lines import refuse
from wug.families.pcfgset.read import problems_of, suite_of
from wug.files import head as head_of
from wug.options import Option
from wug.options import read as read_options
from wug.types import Problem, Suite

OPTIONS = (Option("split", SPLITS, "test", "which files of a folder to take"),)

BREAKDOWN = ("function",)
"""What a first look at a result is broken down by: the first that there is."""

BUILTIN_MODEL = "wug-pcfg"


def recognises(path: Path, head: str) -> bool:
    """Whether a file or a folder is one of this family's, by its names and its first lines."""
    if not path.is_dir():
        if re.search(r"\.src(\.gz)?$", path.name):
            return looks_like_sources(head)
        if re.search(r"\.tgt(\.gz)?$", path.name):
            return looks_like_targets(head)
        return looks_unrolled(head)
    try:
        found = next((test for split in SPLITS for test in find_tests(path, split, levels=1)), None)
    except (OSError, InputError):
        return False
    if found is None:
        return False
    first = head_of(found.files[0])
    return looks_unrolled(first) if found.test == "localism" else looks_like_sources(first)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The files of a folder and those below it with sources and targets; why one of them is not read."""
    if not recognises(folder, ""):
        return {}
    split = read_options(OPTIONS, options, "pcfgset")["split"]
    read = {(file.parent, base_name(file)) for test in find_tests(folder, split) for file in test.files}
    every = (
        file
        for file in sorted(folder.rglob("*"))
        if re.search(r"\.(src|tgt|tsv)(\.gz)?$", file.name) and file.is_file()
    )
    return {
        file: "" if (file.parent, base_name(file)) in read else _left_out(file)
        for file in every
        if not file.name.endswith((".tsv", ".tsv.gz")) or looks_unrolled(head_of(file))
    }


def _left_out(file: Path) -> str:
    name = base_name(file).removeprefix("unrolled_")
    return f"run with -S split={name}" if name in SPLITS else "not a file of a test, by its name"


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The tests of a folder or a file, or an error with the place of every fault."""
    split = read_options(OPTIONS, options, "pcfgset")["split"]
    name = base_name(path).removeprefix("unrolled_")
    if "split" in options and not path.is_dir() and name in SPLITS and name != split:
        raise InputError(f"it is the split {name}, and split={split} is asked for", file=path)
    tests = find_tests(path, split)
    if not tests:
        raise InputError(f"no {split} set here: no {split}.src, unrolled_{split}.tsv or the like", file=path)
    suites: list[Suite] = []
    for test in tests:
        suite, problems = suite_of(test)
        refuse(problems, test.files[0])
        suites.append(suite)
    return suites


def oracle(source: str, *, exception: bool = False) -> str:
    """The meaning of a source, empty if it has none; with `exception`, overgeneralisation pairs are remapped."""
    pair = exceptions(source)[:1] if exception else []
    return answer(exceptional(source, pair[0]) if pair else source)


def read_answers(path: Path) -> dict[str, str]:
    """The answer to each source in a file of predictions, for `replay`; InputError where a source has two."""
    from wug.families.pcfgset.predictions import answers

    found = answers(path)
    for source, given in found.items():
        if len(set(given)) > 1:
            raise InputError(f"{len(set(given))} different predictions for {source!r:.80}", file=path)
    return {source: given[0] for source, given in found.items()}


def check(path: Path, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Everything wrong or odd in the test, dev and train sets of a folder, or in one of them, or in one file."""
    wanted = read_options(OPTIONS, options or {}, "pcfgset")["split"]
    try:
        every = {test.files: test for split in ([wanted] if options else SPLITS) for test in find_tests(path, split)}
        if not every:
            raise InputError("no test.src, unrolled_test.tsv or the like", file=path)
    except InputError as fault:
        return [Problem("error", fault.place or "", fault.message)]
    problems = []
    for files, test in every.items():
        folder = files[0].parent
        inside = path.is_dir() and folder != path
        lead = f"{folder.relative_to(path).as_posix()}/" if inside else ""
        problems += [Problem(p.level, lead + p.place, p.message) for p in problems_of(test)]
    return problems
