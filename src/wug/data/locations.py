"""The files and folders of a set that a run uses, with the options to read them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from wug import registry
from wug.data import archives
from wug.data.catalogue import SetSelection, TestSet, catalogue, find, shared_folder, without_suffix
from wug.data.folder import (
    PART,
    VerifiedFiles,
    adopted,
    altered_files,
    folder_of,
    listed_files,
    record,
    refuse_altered,
    require,
    root,
)
from wug.errors import DataError

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class DataLocation:
    """A file or folder, and what the catalogue knows about it if it is part of a published set."""

    path: Path
    family: str = ""
    """The family of the set; empty for a file that is not part of a set."""
    record: Mapping[str, Any] | None = None
    """Title, licence, citation and commit of the set; None for other files."""
    options: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    """The name of the suite; None for that of the file."""


def run_locations(name: str) -> list[DataLocation] | None:
    """The locations for a name; None if it is not in the catalogue, NotFetched if the set is missing."""
    if name.partition("/")[0] not in catalogue():
        return None
    if (folder := adopted(name)).is_dir():
        return [DataLocation(folder, find(name).set.family, None, {}, name)]
    selection = find(name).for_run()
    tests = selection.without_training()
    require(tests, name)
    # A folder is read as a whole: the family knows which files are tests.
    used = selection if len(selection.paths) == 1 else tests
    refuse_altered(used, name)
    if len(used.paths) == 1 and (foreign := _foreign_files(used.set, folder_of(used.set) / used.paths[0])):
        raise DataError(
            f"{name}: the folder has files that are not part of the set. Move them elsewhere:{listed_files(foreign)}"
        )
    as_one_suite = is_one_suite(used.set.family)
    parts = _one_suite(used) if as_one_suite else [(part, {}) for part in used.paths]
    # In other families each file is a suite with its own name.
    by_set = as_one_suite and not used.part
    return [_place(used.set, _path(used.set, part), name, options, by_set=by_set) for part, options in parts]


def is_one_suite(family: str) -> bool:
    """Whether all files of a published set make one suite of this family."""
    return registry.family_traits(family).one_suite_per_set


def location_of(path: Path) -> DataLocation | None:
    """The location for a path in a fetched set; None for other paths.

    A file that was changed since it was fetched has no record.
    """
    try:
        name, commit, *rest = path.absolute().relative_to(root().absolute()).parts
    except ValueError:
        return None
    test_set = catalogue().get(name)
    if test_set is None or folder_of(test_set).name != commit:
        return None
    location = _place(test_set, path, "/".join((name, *rest)), {})
    within = "/".join(rest)
    files = [file for file in test_set.files if _contains(within, file.name) or _contains(_unpacked(file.name), within)]
    if not files:
        return None
    folder = folder_of(test_set)
    archived = [folder / file.name for file in files if (folder / _unpacked(file.name)).is_dir()]
    unchanged = not altered_files(test_set, files) and not _foreign_files(test_set, path)
    if unchanged and all(_is_as_unpacked(test_set, archive) for archive in archived):
        return location
    log.warning("%s: changed since it was fetched. Results do not cite %s", path, name)
    return replace(location, record=None)


def origin(path: Path) -> Mapping[str, Any] | None:
    """The record of the set of a fetched file or folder; None for others, and for changed ones."""
    location = location_of(path)
    return None if location is None else location.record


def _contains(folder: str, name: str) -> bool:
    """Whether a name is a folder or in it; the empty name contains everything."""
    return not folder or name == folder or name.startswith(f"{folder}/")


def _unpacked(name: str) -> str:
    return name + archives.UNPACKED


def _foreign_files(test_set: TestSet, path: Path) -> list[Path]:
    """Files in the folder of a set that are not part of it; unpacked archives are checked separately."""
    folder, path = folder_of(test_set).absolute(), path.absolute()
    names = {file.name for file in test_set.files}
    unpacked = tuple(f"{_unpacked(name)}/" for name in names)
    files = {file: file.relative_to(folder).as_posix() for file in sorted(path.rglob("*")) if file.is_file()}
    passing = (PART, ".DS_Store", "Thumbs.db")
    return [
        file
        for file, name in files.items()
        if name not in names and not name.startswith(unpacked) and not name.endswith(passing)
    ]


def _is_as_unpacked(test_set: TestSet, archive: Path) -> bool:
    verified = VerifiedFiles(folder_of(test_set))
    confirmed = verified.confirms(archive.with_name(_unpacked(archive.name)), partial(archives.is_as_unpacked, archive))
    verified.save()
    return confirmed


def _one_suite(selection: SetSelection) -> list[tuple[str, Mapping[str, str]]]:
    """Several files as one suite: a folder, and the files in it that count."""
    names = [file.name for file in selection.files]
    if len(names) > 1 and len({without_suffix(name) for name in names}) == 1:  # line-aligned files: one represents all
        return [(names[0], {})]
    if len(selection.paths) == 1:
        return [(selection.paths[0], {})]
    folder = shared_folder(names)
    return [(folder, {"files": ",".join(name.removeprefix(f"{folder}/") for name in names)})]


def _path(test_set: TestSet, part: str) -> Path:
    path = folder_of(test_set) / part
    if not path.name.endswith(archives.ENDINGS):
        return path
    folder = archives.unpacked(path)
    if not _is_as_unpacked(test_set, path):
        raise DataError(f"{folder}: changed since it was unpacked. Delete the folder to unpack it again")
    return folder


def _place(
    test_set: TestSet, path: Path, name: str, options: Mapping[str, str], *, by_set: bool = False
) -> DataLocation:
    language = {"language": test_set.languages[0]} if len(test_set.languages) == 1 else {}
    all_options = {**language, **test_set.options, **options}
    return DataLocation(path, test_set.family, record(test_set), all_options, name if by_set or path.is_dir() else None)
