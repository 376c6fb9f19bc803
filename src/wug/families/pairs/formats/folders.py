"""Folders of files with minimal pairs: which files count, and what their places say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import Pair, Parsed

ENDINGS = (".jsonl", ".csv", ".tsv", ".txt")
"""Of files with pairs. Where the same pairs are there in several forms, the first of these counts."""


def below(folder: Path) -> list[Path]:
    """The files in a folder and those below it, hidden ones aside, in the order of their paths."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        found += (Path(place) / name for name in names if not name.startswith("."))
    return sorted(found)


def ending(path: Path) -> str:
    """The suffix of a file's name, without that of gzip, in lower case."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def fits(path: Path, patterns: Sequence[str]) -> bool:
    """Whether a path in a folder, or the name at its end, fits one of the patterns."""
    return any(fnmatchcase(path.name, pattern) or fnmatchcase(path.as_posix(), pattern) for pattern in patterns)


def copies(parsed: Mapping[Path, Parsed]) -> dict[Path, Path]:
    """Files with no other pairs than a file of the same name with another ending, and that file."""
    by_name: dict[Path, list[Path]] = {}
    for file in parsed:
        by_name.setdefault(file.with_name(stem(file)), []).append(file)
    found: dict[Path, Path] = {}
    for files in by_name.values():
        first, *others = sorted(files, key=lambda file: ENDINGS.index(ending(file)))
        known = {(pair.good, pair.bad) for pair in parsed[first].pairs} if others else set()
        found |= {file: first for file in others if {(pair.good, pair.bad) for pair in parsed[file].pairs} <= known}
    return found


def placed(pairs: Iterable[Pair], where: Path, *, whole_name: bool = False) -> Iterator[Pair]:
    """Pairs of a file in a folder, called after the file as well, with its ending where that tells it from another.

    What has no paradigm of its own is grouped by its file, what has no phenomenon by the folder within the folder.
    """
    file, folder = f"{where.name if whole_name else stem(where)}/", "".join(f"{part}/" for part in where.parts[:-1])
    phenomenon = {"phenomenon": where.parts[0]} if len(where.parts) > 1 else {}
    for pair in with_groups(pairs, {"paradigm": stem(where), **phenomenon}):
        item = folder + (pair.item if pair.item.startswith(file) else file + pair.item)
        yield pair if item == pair.item else replace(pair, item=item)


def with_groups(pairs: Iterable[Pair], groups: Mapping[str, str]) -> Iterator[Pair]:
    """The same pairs with the groups that they lack."""
    known: dict[int, Mapping[str, str]] = {}
    for pair in pairs:
        if id(pair.groups) not in known:
            lacking = {
                name: value for name, value in groups.items() if not _NAMES.get(name, {name}) & pair.groups.keys()
            }
            known[id(pair.groups)] = {**lacking, **pair.groups} if lacking else pair.groups
        found = known[id(pair.groups)]
        yield pair if found is pair.groups else replace(pair, groups=found)


_NAMES = {"paradigm": {"paradigm", "pattern"}, "phenomenon": {"phenomenon", "term", "pattern"}}
"""The groups that make another superfluous."""
