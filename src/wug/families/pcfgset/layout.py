"""Which tests a folder or a file holds, by the published file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from wug.errors import InputError
from wug.families.pcfgset.language import FUNCTIONS, SYMBOL, arity
from wug.files import head

Test: TypeAlias = Literal[
    "plain", "per_function", "increasing_length", "substitutivity", "localism", "overgeneralisation"
]
SPLITS = ("test", "dev", "train")
_DEEPEST = 2
"""Folders below a folder that are looked into."""


@dataclass(frozen=True, slots=True)
class Found:
    """A test and the files of its sources."""

    test: Test
    name: str
    files: tuple[Path, ...]


def find_tests(path: Path, split: str, levels: int = _DEEPEST) -> list[Found]:
    """The tests of a folder or of one file.

    A folder with a test in it is that test; folders below it are tests of their own. A folder
    without any has all the tests of the folders below it.
    """
    if not path.is_dir():
        return _of_file(path)
    return list(_of_folder(path, split)) or list(_below(path, split, levels))


def stem(path: Path) -> str:
    """The name of a file without `.src`, `.tgt` or `.tsv` and without `.gz`."""
    return re.sub(r"\.(src|tgt|tsv)(\.gz)?$", "", path.name)


def base_name(path: Path) -> str:
    """What the names of all files of a test begin with: its sources and targets, twins and exceptions."""
    return re.sub(r"_(twin|exception|original)$", "", stem(path))


def name_beside(gold: Path, *, twinned: bool = False) -> str:
    """What results call the test of a `.src` file: its folder."""
    return _folder_name(gold.absolute().parent, stem(gold), twinned)


def ratio_name(name: str) -> str:
    """What results call an overgeneralisation test: by the ratio in the name of its file."""
    found = re.search(r"ratio=[\d.e-]*\d", name)
    return f"overgeneralisation_{found[0]}" if found else f"overgeneralisation_{name.removesuffix('_exception')}"


def name_of_answers(path: Path, test: str) -> str:
    """What results call the test that answers belong to: `test`, or more where file or folder has a published name."""
    folder = path.absolute().parent.name
    if test == "overgeneralisation" and "ratio=" in path.name:
        return ratio_name(path.name)
    if test == "substitutivity" and folder in ("equally_distributed", "primitive"):
        return f"substitutivity_{folder}"
    return folder if test == "pcfgset" and folder in ("systematicity", "productivity") else test


def looks_like_sources(text: str) -> bool:
    """Whether most of the first lines begin with a function of the language, or go on as if they did."""
    lines = [line.split() for line in text.split("\n")[:40] if line.strip()]
    return sum(map(_like_a_source, lines)) * 2 > len(lines)


def _like_a_source(words: Sequence[str]) -> bool:
    """Whether words begin with a function; or, where that is misspelt, are arguments of one behind it."""
    rest = [word for word in words[1:] if word != ","]
    return arity(words[0]) is not None or (
        bool(rest) and all(SYMBOL.fullmatch(word) or arity(word) is not None for word in rest)
    )


def looks_like_targets(text: str) -> bool:
    """Whether most of the first lines are symbols of the language and nothing else."""
    lines = [line.split() for line in text.split("\n")[:40] if line.strip()]
    return sum(all(SYMBOL.fullmatch(word) for word in words) for words in lines) * 2 > len(lines)


def looks_unrolled(text: str) -> bool:
    """Whether some of the first lines have the labels of a localism file."""
    return re.search(r"^(unrolled|original)\t.*\t", text, re.MULTILINE) is not None


def _below(folder: Path, split: str, levels: int) -> Iterator[Found]:
    """The tests of all folders below a folder, so many levels down."""
    for child in sorted(folder.iterdir()):
        if levels and child.is_dir() and not child.name.startswith("."):
            yield from _of_folder(child, split)
            yield from _below(child, split, levels - 1)


def _of_folder(folder: Path, split: str) -> Iterator[Found]:
    """The tests that the files of a folder make, its subfolders aside."""
    sources = _by_stem(folder, "src")
    unrolled = _by_stem(folder, "tsv")
    if f"unrolled_{split}" in unrolled:
        yield Found("localism", _localism_name(split), (unrolled[f"unrolled_{split}"],))
    for name, path in sources.items():
        if name.endswith("_exception"):
            yield Found("overgeneralisation", ratio_name(name), (path,))
    if "increasing_length" in sources:
        yield Found("increasing_length", "increasing_string_length", (sources["increasing_length"],))
    single = tuple(sources[f"{split}_{name}"] for name in FUNCTIONS if f"{split}_{name}" in sources)
    if single:
        yield Found("per_function", "per_function", single)
    if split in sources:
        twinned = f"{split}_twin" in sources
        yield Found("substitutivity" if twinned else "plain", _folder_name(folder, split, twinned), (sources[split],))


def _of_file(path: Path) -> list[Found]:
    name = stem(path)
    if not path.exists():
        raise InputError("no such file or folder", file=path)
    if looks_unrolled(head(path)) or re.search(r"\.tsv(\.gz)?$", path.name):
        return [Found("localism", _localism_name(name.removeprefix("unrolled_")), (path,))]
    source = _source_of(path)
    if name.endswith(("_exception", "_original")):
        exception = source.with_name(source.name.replace("_original.src", "_exception.src"))
        return [Found("overgeneralisation", ratio_name(stem(exception)), (exception,))]
    if name == "increasing_length":
        return [Found("increasing_length", "increasing_string_length", (source,))]
    return [Found("plain", _folder_name(path.absolute().parent, name, twinned=False), (source,))]


def _source_of(path: Path) -> Path:
    """The `.src` file of a `.tgt` file; any other file is its own."""
    if not re.search(r"\.tgt(\.gz)?$", path.name):
        return path
    beside = [path.with_name(f"{stem(path)}.src{end}") for end in ("", ".gz")]
    for candidate in beside:
        if candidate.exists():
            return candidate
    raise InputError(f"the sources are missing: there is no {beside[0].name} beside it", file=path)


def _by_stem(folder: Path, suffix: str) -> dict[str, Path]:
    """The files of a folder that end in a suffix, gzipped or not, by their stems."""
    pattern = re.compile(rf"\.{suffix}(\.gz)?$")
    return {stem(path): path for path in sorted(folder.iterdir()) if pattern.search(path.name) and path.is_file()}


def _folder_name(folder: Path, split: str, twinned: bool) -> str:
    name = folder.name or "pcfgset"
    if twinned:
        name = f"substitutivity_{name}" if "substitutivity" not in name else name
    return name if split == "test" else f"{name}_{split}"


def _localism_name(split: str) -> str:
    return "localism" if split == "test" else f"localism_{split}"
