"""Folders of files with minimal pairs: which files count, and what their places say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import Pair

ENDINGS = (".jsonl", ".csv", ".tsv", ".txt")
"""Of files with pairs. Where the same pairs are there in several forms, the first of these counts."""
DEEPEST = 4
"""Folders within folders that are looked into."""
MOST = 2000
"""Files that a folder of pairs may have."""
Told = tuple[Path, str | None]
"""A file and the name of its format, if it is in one."""


def files(folder: Path, format_of: Callable[[Path], str | None], patterns: Sequence[str] = ()) -> list[Told]:
    """The files of a folder that make a suite, those of no format among them; none where most are of no format.

    They are those in the folder itself, or, where it has none, those in the folders below; with `patterns` the ones
    whose names or paths fit.
    """
    every = _below(folder)
    if patterns:
        chosen = [file for file in every if _fits(file.relative_to(folder), patterns)]
        return [(file, format_of(file)) for file in chosen]
    here = [file for file in every if file.parent == folder] or every
    for ending in ENDINGS:
        some = [file for file in here if file.name.removesuffix(".gz").endswith(ending)]
        found = [(file, format_of(file)) for file in some]
        known = sum(name is not None for _, name in found)
        if known and 2 * known >= len(found):
            return found
    return []


def placed(pairs: Iterable[Pair], where: Path) -> Iterator[Pair]:
    """Pairs of a file in a folder, called after the file as well.

    What has no paradigm of its own is grouped by its file, what has no phenomenon by the folder within the folder.
    """
    file, folder = f"{stem(where)}/", "".join(f"{part}/" for part in where.parts[:-1])
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


def _below(folder: Path) -> list[Path]:
    """The files with the right endings in a folder and those below it, in the order of their paths."""
    found: list[Path] = []
    try:
        for place, folders, names in os.walk(folder):
            here = Path(place)
            depth = len(here.relative_to(folder).parts)
            folders[:] = [] if depth >= DEEPEST else [name for name in folders if not name.startswith((".", "__"))]
            names = [name for name in names if name.removesuffix(".gz").endswith(ENDINGS) and name[0] != "."]
            found += (here / name for name in names)
            if len(found) > MOST:
                return []
    except OSError:
        return []
    return sorted(found)


def _fits(path: Path, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path.name, pattern) or fnmatchcase(path.as_posix(), pattern) for pattern in patterns)
