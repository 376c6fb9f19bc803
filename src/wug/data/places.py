"""What a run takes of a set: files and folders, with what the catalogue knows about reading them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wug.data import archives
from wug.data.catalogue import Selection, TestSet, catalogue, find, shared_folder, stem
from wug.data.folder import folder_of, record, require, root


@dataclass(frozen=True, slots=True)
class Place:
    """A file or a folder, and what the catalogue knows about it where it is of a published set."""

    path: Path
    family: str = ""
    """That runs the set, as the catalogue says; empty for a file of no set, whose content tells."""
    record: Mapping[str, Any] | None = None
    """Title, licence, citation and commit of the set; None for a file of no set."""
    options: Mapping[str, str] = field(default_factory=dict)
    """How it is read, where its content does not tell; for families that have such options."""
    name: str | None = None
    """What the suite is called; None for a file that has a name of its own."""


def for_a_run(name: str) -> list[Place] | None:
    """What a run of a name takes; None for a name that is not in the catalogue, NotFetched for a set not here."""
    if name.partition("/")[0] not in catalogue():
        return None
    selection = find(name).for_a_run()
    tests = selection.without_training()
    require(tests, name)
    # A folder is read as a whole: which of its files are tests, the family knows.
    chosen = selection if len(selection.places) == 1 else tests
    found = _one_suite(chosen) if chosen.set.family == "pairs" else [(place, {}) for place in chosen.places]
    # Of other families a file is a suite of its own, with a name of its own.
    whole = chosen.set.family == "pairs" and not chosen.part
    return [_place(chosen.set, _path(chosen.set, place), name, options, whole=whole) for place, options in found]


def known(path: Path) -> Place | None:
    """What the catalogue knows about a path that a user wrote; None where it is not one of a fetched set."""
    try:
        name, commit, *rest = path.absolute().relative_to(root().absolute()).parts
    except ValueError:
        return None
    chosen = catalogue().get(name)
    if chosen is None or folder_of(chosen).name != commit:
        return None
    return _place(chosen, path, "/".join((name, *rest)), {})


def _one_suite(selection: Selection) -> list[tuple[str, Mapping[str, str]]]:
    """Files of pairs as one suite: a folder, and which of its files count."""
    names = [file.name for file in selection.files]
    if len(names) > 1 and len({stem(name) for name in names}) == 1:  # line-aligned files, of which one stands for all
        return [(names[0], {})]
    if len(selection.places) == 1:
        return [(selection.places[0], {})]
    folder = shared_folder(names)
    return [(folder, {"files": ",".join(name.removeprefix(f"{folder}/") for name in names)})]


def _path(chosen: TestSet, place: str) -> Path:
    path = folder_of(chosen) / place
    return archives.unpacked(path) if path.name.endswith(archives.ENDINGS) else path


def _place(chosen: TestSet, path: Path, name: str, options: Mapping[str, str], *, whole: bool = False) -> Place:
    language = {"language": chosen.languages[0]} if len(chosen.languages) == 1 else {}
    how = {**language, **chosen.options, **options}
    return Place(path, chosen.family, record(chosen), how, name if whole or path.is_dir() else None)
