"""PCFG SET: does a model compute a whole from its parts? (Hupkes et al. 2020)"""  # noqa: D415

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.families.pcfgset import files
from wug.families.pcfgset.language import UNARY, answer, exceptional, exceptions
from wug.families.pcfgset.localism import is_trace, localism_suite, read_trace, read_unrolled
from wug.families.pcfgset.overgeneralisation import overgeneralisation_suite, read_exceptions
from wug.families.pcfgset.substitutivity import read_synonyms, substitutivity_suite
from wug.families.pcfgset.suite import PcfgSuite, plain_suite, read_table
from wug.families.predictions import names_columns
from wug.files import head as head_of
from wug.files import read_lines
from wug.interfaces import Suite
from wug.options import Option
from wug.options import read as read_options
from wug.problems import Problem, ProblemList, refuse_errors
from wug.traits import FamilyTraits

OPTIONS = (Option("split", files.SPLITS, "test", "files of a folder to read"),)

TRAITS = FamilyTraits(
    builtin_model="wug-pcfg",
    breakdown=("function",),
    oracle_symbols=tuple(f"{letter}{number}" for letter in "ABCDE" for number in range(1, 4)),
)


def recognises(path: Path, head: str) -> bool:
    """Whether a file or a folder belongs to this family, by names and first lines."""
    if not path.is_dir():
        if re.search(r"\.src(\.gz)?$", path.name):
            return files.looks_like_sources(head)
        if re.search(r"\.tgt(\.gz)?$", path.name):
            return files.looks_like_targets(head)
        return files.looks_unrolled(head)
    try:
        first_test = next((test for split in files.SPLITS for test in files.find_tests(path, split, levels=1)), None)
    except (OSError, InputError):
        return False
    if first_test is None:
        return False
    first = head_of(first_test.files[0])
    return files.looks_unrolled(first) if first_test.test == "localism" else files.looks_like_sources(first)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The files of a folder with sources and targets, each with the reason why it is not read (empty if it is)."""
    if not recognises(folder, ""):
        return {}
    split = read_options(OPTIONS, options, "pcfgset")["split"]
    read = {(file.parent, files.base_name(file)) for test in files.find_tests(folder, split) for file in test.files}
    reasons = {}
    for file in (path for path in sorted(folder.rglob("*")) if files.SUFFIX.search(path.name) and path.is_file()):
        if not file.name.endswith((".tsv", ".tsv.gz")) or files.looks_unrolled(head_of(file)):
            name = files.base_name(file).removeprefix("unrolled_")
            why = f"run with -S split={name}" if name in files.SPLITS else "not the name of a test file"
            reasons[file] = "" if (file.parent, files.base_name(file)) in read else why
    return reasons


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The tests of a folder or a file, or one error with every problem."""
    split = read_options(OPTIONS, options, "pcfgset")["split"]
    name = files.base_name(path).removeprefix("unrolled_")
    if "split" in options and not path.is_dir() and name in files.SPLITS and name != split:
        raise InputError(f"this is the split {name}, but split={split} was given", file=path)
    tests = files.find_tests(path, split)
    if not tests:
        raise InputError(f"no {split} set here: no {split}.src, unrolled_{split}.tsv or the like", file=path)
    suites: list[Suite] = []
    for test in tests:
        suite, problems, more = _opened(test)
        refuse_errors(problems, test.files[0])
        if wrong := [problem for problem in more if problem.level == "error"]:  # outputs are compared with the targets
            counts = f"{len(wrong):,} of {len(suite):,} targets are not the meanings of their sources"
            problems.warn(wrong[0].place, f"{counts}, the first of them here")
        suites.append(replace(suite, notices=tuple(map(str, problems))))
    return suites


def oracle(source: str, *, exception: bool = False) -> str:
    """The target of a source, empty if it has none; with `exception`, exceptional pairs are remapped."""
    pair = exceptions(source)[:1] if exception else []
    return answer(exceptional(source, pair[0]) if pair else source)


def read_answers(path: Path) -> dict[str, str]:
    """The output for each source in a table or a localism trace, for `replay`; InputError if a source has two."""
    lines = read_lines(path)
    if is_trace(lines):
        answers = [pair for sample in read_trace(path) for pair in (*sample.steps, (sample.source, sample.answer))]
    elif names_columns(lines):
        answers = [(row.source or "", row.prediction) for row in read_table(path)]
    else:
        message = "neither a table with a source and a prediction column nor a localism trace"
        raise InputError(message, file=path, place="line 1")
    by_source: defaultdict[str, set[str]] = defaultdict(set)
    for source, output in answers:
        by_source[source].add(output)
    for source, outputs in by_source.items():
        if len(outputs) > 1:
            raise InputError(f"{len(outputs)} different predictions for {source!r:.80}", file=path)
    return dict(answers)


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Every problem in the test, dev and train sets of a folder, in one of them, or in one file."""
    chosen = read_options(OPTIONS, options, "pcfgset")["split"]
    splits = [chosen] if options else files.SPLITS
    tests = {test.files: test for split in splits for test in files.find_tests(path, split)}
    if not tests:
        raise InputError("no test.src, unrolled_test.tsv or the like", file=path)
    problems: list[Problem] = []
    for paths, test in tests.items():
        folder = paths[0].parent
        inside = path.is_dir() and folder != path
        lead = f"{folder.relative_to(path).as_posix()}/" if inside else ""
        try:
            _, problems_of_test, more = _opened(test)
            listed = [*problems_of_test, *more]
        except InputError as error:
            place = ", ".join(part for part in (Path(error.file or paths[0]).name, error.place) if part)
            listed = [Problem("error", place, error.message)]
        problems += [replace(problem, place=lead + problem.place) for problem in listed]
    return problems


_KEPT = {"remove_first": 1, "remove_second": 0}


def _opened(test_files: files.FilesOfTest) -> tuple[PcfgSuite[Any], ProblemList, list[Problem]]:
    """The suite of a test, the problems of its files, and targets that are wrong and sources that are repeated."""
    source = test_files.files[0]
    if test_files.test == "localism":
        samples, problems = read_unrolled(source)
        wrong: list[Problem] = []
        for sample in samples:
            if (right := " ".join(sample.expression.meaning())) != sample.target:
                message = f"the target is {sample.target}, but the source means {right}"
                wrong.append(Problem("error", f"{source.name}, sample {sample.item}", message))
        return localism_suite(test_files.name, samples), problems, wrong
    if test_files.test == "substitutivity":
        pairs, problems = read_synonyms(source)
        wrong = files.wrong_targets([pair.line for pair in pairs], files.sibling(source))
        return substitutivity_suite(test_files.name, pairs), problems, wrong
    if test_files.test == "overgeneralisation":
        items, problems = read_exceptions(source)
        original = source.with_name(source.name.replace("_exception.src", "_original.src"))
        wrong = files.wrong_targets([item.line for item in items], files.sibling(original))
        return overgeneralisation_suite(test_files.name, items), problems, wrong
    lines: list[files.SourceLine] = []
    problems, wrong = ProblemList(), []
    for path in test_files.files:
        pairs_of_lines, more = files.read_pair(path)
        problems = ProblemList.of(problems, more)
        wrong += files.wrong_targets(pairs_of_lines, files.sibling(path)) + files.repeated(pairs_of_lines, path)
        if test_files.test == "per_function":
            function = files.file_name(path).partition("_")[2]
            pairs_of_lines = [line._replace(item=f"{function}/{line.number}") for line in pairs_of_lines]
        lines += pairs_of_lines
    lines = _with_growing_lengths(lines) if test_files.test == "increasing_length" else lines
    return plain_suite(test_files.name, lines, subtest=test_files.test), problems, wrong


def _with_growing_lengths(lines: Sequence[files.SourceLine]) -> list[files.SourceLine]:
    """The lines grouped by the length of the growing string.

    With `append` and `prepend` either argument may grow, and the other may be longer while it is short. The lengths
    run through the same cycle for every function, so the position of the line decides.
    """
    sizes = [len(string) for line in lines if line.expression.outermost in UNARY for string in line.expression.strings]
    first, span = (min(sizes), max(sizes) - min(sizes) + 1) if sizes else (0, 1)
    seen: defaultdict[str, int] = defaultdict(int)
    grouped_lines = []
    for line in lines:
        function, strings = line.groups["function"], [len(string) for string in line.expression.strings]
        due = first + seen[function] % span
        seen[function] += 1
        if function in _KEPT and len(strings) == 2:
            size = strings[_KEPT[function]]
        else:
            size = due if due in strings else max(strings)
        grouped_lines.append(line._replace(groups={"function": function, "length": str(size)}))
    return grouped_lines
