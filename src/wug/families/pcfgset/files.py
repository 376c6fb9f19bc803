"""Files of PCFG SET: which tests a folder or a file has, by the published names, and their sources and targets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from wug.errors import FormulaError, InputError
from wug.families.pcfgset.language import FUNCTIONS, SYMBOLS, Expression, arity, parse
from wug.families.predictions import at, squeeze, text_lines
from wug.files import head
from wug.problems import Problem, ProblemList

Test: TypeAlias = Literal[
    "plain", "per_function", "increasing_length", "substitutivity", "localism", "overgeneralisation"
]
SPLITS = ("test", "dev", "train")
MAX_FOLDER_DEPTH = 2
SUFFIX = re.compile(r"\.(src|tgt|tsv)(\.gz)?$")


class FilesOfTest(NamedTuple):
    """A test and the files of its sources."""

    test: Test
    name: str
    files: tuple[Path, ...]


def find_tests(path: Path, split: str, levels: int = MAX_FOLDER_DEPTH) -> list[FilesOfTest]:
    """The tests of a folder or of one file; a folder without tests has those of the folders in it."""
    if not path.is_dir():
        return _of_file(path)
    return list(_of_folder(path, split)) or list(_tests_below(path, split, levels))


def file_name(path: Path) -> str:
    """The name of a file without `.src`, `.tgt` or `.tsv`, and without `.gz`."""
    return SUFFIX.sub("", path.name)


def base_name(path: Path) -> str:
    """The common beginning of the file names of a test: sources, targets, synonyms, exceptions."""
    return re.sub(r"_(twin|exception|original)$", "", file_name(path))


def name_in_folder(gold: Path, *, synonyms: bool = False) -> str:
    """The name of the test of a `.src` file in results: its folder."""
    return _folder_name(gold.absolute().parent, file_name(gold), synonyms)


def ratio_name(name: str) -> str:
    """The name of an overgeneralisation test in results: by the ratio in the name of its file."""
    match = re.search(r"ratio=[\d.e-]*\d", name)
    return f"overgeneralisation_{match[0]}" if match else f"overgeneralisation_{name.removesuffix('_exception')}"


def name_of_answers(path: Path, test: str) -> str:
    """The name of the test of a prediction file: `test`, or more if its file or folder has a published name."""
    folder = path.absolute().parent.name
    if test == "overgeneralisation" and "ratio=" in path.name:
        return ratio_name(path.name)
    if test == "substitutivity" and folder in ("equally_distributed", "primitive"):
        return f"substitutivity_{folder}"
    return folder if test == "pcfgset" and folder in ("systematicity", "productivity") else test


def looks_like_sources(text: str) -> bool:
    """Whether most of the first lines begin with a function, or at least continue like a source."""
    lines = [line.split() for line in text.split("\n")[:40] if line.strip()]
    return sum(map(_like_a_source, lines)) * 2 > len(lines)


def _like_a_source(words: Sequence[str]) -> bool:
    """Whether words begin with a function or, if that is misspelt, continue with its arguments."""
    rest = [word in SYMBOLS or arity(word) is not None for word in words[1:] if word != ","]
    return arity(words[0]) is not None or (bool(rest) and all(rest))


def looks_like_targets(text: str) -> bool:
    """Whether most of the first lines only have symbols of the language."""
    lines = [line.split() for line in text.split("\n")[:40] if line.strip()]
    return sum(SYMBOLS.issuperset(words) for words in lines) * 2 > len(lines)


def looks_unrolled(text: str) -> bool:
    """Whether some of the first lines have the labels of a localism file."""
    return re.search(r"^(unrolled|original)\t.*\t", text, re.MULTILINE) is not None


def _tests_below(folder: Path, split: str, levels: int) -> Iterator[FilesOfTest]:
    for child in sorted(folder.iterdir()):
        if levels and child.is_dir() and not child.name.startswith("."):
            yield from _of_folder(child, split)
            yield from _tests_below(child, split, levels - 1)


def _of_folder(folder: Path, split: str) -> Iterator[FilesOfTest]:
    sources = _by_stem(folder, "src")
    unrolled = _by_stem(folder, "tsv")
    if f"unrolled_{split}" in unrolled:
        yield FilesOfTest("localism", _localism_name(split), (unrolled[f"unrolled_{split}"],))
    for name, path in sources.items():
        if name.endswith("_exception"):
            yield FilesOfTest("overgeneralisation", ratio_name(name), (path,))
    if "increasing_length" in sources:
        yield FilesOfTest("increasing_length", "increasing_string_length", (sources["increasing_length"],))
    single = tuple(sources[f"{split}_{name}"] for name in FUNCTIONS if f"{split}_{name}" in sources)
    if single:
        yield FilesOfTest("per_function", "per_function", single)
    if split in sources:
        synonyms = f"{split}_twin" in sources
        test: Test = "substitutivity" if synonyms else "plain"
        yield FilesOfTest(test, _folder_name(folder, split, synonyms), (sources[split],))


def _of_file(path: Path) -> list[FilesOfTest]:
    name = file_name(path)
    if not path.exists():
        raise InputError("no such file or folder", file=path)
    if looks_unrolled(head(path)) or re.search(r"\.tsv(\.gz)?$", path.name):
        return [FilesOfTest("localism", _localism_name(name.removeprefix("unrolled_")), (path,))]
    source = _source_of(path)
    if name.endswith(("_exception", "_original")):
        exception = source.with_name(source.name.replace("_original.src", "_exception.src"))
        return [FilesOfTest("overgeneralisation", ratio_name(file_name(exception)), (exception,))]
    if name == "increasing_length":
        return [FilesOfTest("increasing_length", "increasing_string_length", (source,))]
    return [FilesOfTest("plain", _folder_name(path.absolute().parent, name, synonyms=False), (source,))]


def _source_of(path: Path) -> Path:
    """The `.src` file of a `.tgt` file; otherwise the file itself."""
    if not re.search(r"\.tgt(\.gz)?$", path.name):
        return path
    for candidate in (path.with_name(f"{file_name(path)}.src{end}") for end in ("", ".gz")):
        if candidate.exists():
            return candidate
    raise InputError(f"the sources are missing: there is no {file_name(path)}.src in the same folder", file=path)


def _by_stem(folder: Path, suffix: str) -> dict[str, Path]:
    pattern = re.compile(rf"\.{suffix}(\.gz)?$")
    return {file_name(path): path for path in sorted(folder.iterdir()) if pattern.search(path.name) and path.is_file()}


def _folder_name(folder: Path, split: str, synonyms: bool) -> str:
    name = folder.name or "pcfgset"
    if synonyms:
        name = f"substitutivity_{name}" if "substitutivity" not in name else name
    return name if split == "test" else f"{name}_{split}"


def _localism_name(split: str) -> str:
    return "localism" if split == "test" else f"localism_{split}"


class SourceLine(NamedTuple):
    """A source with its target."""

    item: str
    """Its line number in results, after the file's name if there are several files."""
    number: int
    source: str
    target: str
    expression: Expression
    groups: Mapping[str, str]
    meaning: str


def line_of(expression: Expression, target: str | None, number: int, item: str | None = None) -> SourceLine:
    """A line, grouped by its outermost function, depth, length and number of functions.

    Without a target, its meaning is the target.
    """
    source, meaning = " ".join(expression.words), " ".join(expression.meaning())
    target = meaning if target is None else squeeze(target)
    return SourceLine(item or str(number), number, source, target, expression, expression.groups, meaning)


def sibling(source: Path, suffix: str = ".tgt") -> Path:
    """The file with another suffix that belongs to a `.src` file, gzipped or not."""
    name = source.name.removesuffix(".gz").removesuffix(".src")
    plain, zipped = source.with_name(f"{name}{suffix}"), source.with_name(f"{name}{suffix}.gz")
    first, second = (zipped, plain) if source.name.endswith(".gz") else (plain, zipped)
    return second if second.exists() and not first.exists() else first


def read_pair(source: Path, target: Path | None = None) -> tuple[list[SourceLine], ProblemList]:
    """The lines of a `.src` and its `.tgt` file, with the problems of both; lines with errors are left out."""
    target = target or sibling(source)
    if not target.exists():
        raise InputError(f"the targets are missing: there is no {target.name} in the same folder", file=source)
    sources, problems = text_lines(source)
    targets, more = text_lines(target)
    problems = ProblemList.of(problems, more)
    if len(sources) != len(targets):
        shorter, longer = (source, target) if len(sources) < len(targets) else (target, source)
        last = min(len(sources), len(targets))
        counts = f"{source.name} has {len(sources):,} lines, {target.name} {len(targets):,}"
        problems.error(at(longer, last + 1), f"{counts}: this line has no counterpart in {shorter.name}")
    lines: list[SourceLine] = []
    for number, (words, written_target) in enumerate(zip(sources, targets, strict=False), 1):
        try:
            line = line_of(parse(words), written_target, number)
        except InputError as refused:
            problems.append(source_error(refused, source, number))
            continue
        if error := target_error(written_target, target, number):
            problems.append(error)
        else:
            lines.append(line)
    return lines, problems


def wrong_targets(lines: Sequence[SourceLine], target: Path) -> list[Problem]:
    """Errors for targets that are not the meaning of their source."""
    message = "the target is not the meaning of the source\n    target {}\n    means  {}"
    return [
        Problem("error", at(target, line.number), message.format(line.target, line.meaning))
        for line in lines
        if line.meaning != line.target
    ]


def repeated(lines: Sequence[SourceLine], source: Path) -> list[Problem]:
    """A warning if sources are repeated."""
    first: dict[str, int] = {}
    again = [line for line in lines if first.setdefault(line.source, line.number) != line.number]
    if not again:
        return []
    message = f"repeats the source of line {first[again[0].source]}; {len(again):,} lines repeat an earlier one"
    return [Problem("warning", at(source, again[0].number), message)]


def source_error(error: InputError, path: Path, number: int) -> Problem:
    """The error of a source that has no meaning, with its place."""
    if isinstance(error, FormulaError):
        return Problem("error", f"{at(path, number)}, column {error.start + 1}", error.args[0])
    return Problem("error", at(path, number), error.message)


def target_error(target: str, path: Path, number: int) -> Problem | None:
    """The error in a target, if there is one."""
    words = target.split()
    if not words:
        return Problem("error", at(path, number), "the target is empty")
    wrong = next((word for word in words if word not in SYMBOLS), None)
    if wrong is None:
        return None
    return Problem("error", at(path, number), f"{wrong!r} is not a symbol. A target consists of symbols from A1 to Z20")
