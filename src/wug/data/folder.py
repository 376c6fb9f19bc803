"""The folder of fetched sets, one per set and commit, whose files are verified; and what a run uses of a set."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wug import registry
from wug.data import archives
from wug.data.catalogue import (
    GIT,
    File,
    SetSelection,
    TestSet,
    catalogue,
    contains,
    find,
    shared_folder,
    without_suffix,
)
from wug.errors import DataError, NotFetched
from wug.files import user_path, write_text, writing

log = logging.getLogger("wug")
FOLDER = "WUG_DATA"
PART = ".part"
SHOWN = 5
Progress = Callable[[int, int], None]


def root() -> Path:
    """The folder of all sets: that of the environment, else `data` in the user's data folder."""
    from platformdirs import user_data_path

    configured = os.environ.get(FOLDER)
    return user_path(configured) if configured else user_data_path("wug", appauthor=False) / "data"


def folder_of(test_set: TestSet) -> Path:
    """The folder of a set, one per commit."""
    return root() / test_set.name / test_set.commit[:12]


def adopted(name: str) -> Path:
    """Where the data of a set is stored that is in no repository: users have it from elsewhere (`--from`)."""
    return root() / name / "adopted"


def missing(selection: SetSelection) -> list[File]:
    """The files that are missing, by name and size."""
    folder = folder_of(selection.set)
    return [file for file in selection.files if not _is_here(folder / file.name, file)]


def altered(selection: SetSelection) -> list[File]:
    """The files whose content is not the published one."""
    files = [(folder_of(selection.set) / file.name, file) for file in selection.files]
    return [file for path, file in files if path.is_file() and not file.matches(path)]


def fetched(name: str) -> bool:
    """Whether all of a set or a part is fetched and unchanged."""
    selection = find(name)
    return not missing(selection) and not altered(selection)


def paths(name: str) -> list[Path]:
    """The folder with exactly the files of a set or part, or else the files; NotFetched if they are missing."""
    selection = find(name)
    require(selection, name)
    return [folder_of(selection.set) / part for part in selection.paths]


def path(name: str) -> Path:
    """The file of a name, or the folder with its files (and maybe others); NotFetched if they are missing."""
    require(find(name), name)
    return local_path(name)


def local_path(name: str) -> Path:
    """The path of a file or folder once it is fetched."""
    selection = find(name)
    folder = folder_of(selection.set)
    return folder / (selection.paths[0] if len(selection.paths) == 1 else os.path.commonpath(selection.paths))


def record(test_set: TestSet) -> dict[str, str | bool | None]:
    """What is stored with data and results of a set: title, licence, citation, commit."""
    return {
        "set": test_set.name,
        "title": test_set.title,
        "licence": test_set.licence,
        "terms": test_set.terms,
        "citation": test_set.citation,
        "repository": test_set.repository,
        "commit": test_set.commit,
        **({} if test_set.plain_text else {"plain_text": False}),
    }


def write_record(test_set: TestSet) -> None:
    """Write the record of a set next to its folder."""
    folder = folder_of(test_set)
    text = json.dumps(record(test_set), ensure_ascii=False, indent=2)
    write_text(folder.with_name(f"{folder.name}.json"), f"{text}\n")


def install(file: File, part: Path, target: Path, came_from: object) -> None:
    """Move a complete file into place, or refuse it if its checksum is wrong."""
    checksum = file.checksum_of(part)
    if checksum != file.checksum:
        with writing(part):
            part.unlink()
        raise DataError(
            f"{came_from}: not the published content of {file.path}, so it is not used\n"
            f"    expected {_labelled(file.checksum)}\n    found    {_labelled(checksum)}"
        )
    with writing(target):
        part.replace(target)


def require(selection: SetSelection, name: str, read: SetSelection | None = None) -> None:
    """Raise NotFetched if a file is missing, DataError if one was changed, of those that are read if they are more."""
    accept = " --accept" if selection.set.restriction else ""
    if missing(selection):
        whole = find(name)
        about = whole.set
        raise NotFetched(
            f"{whole.name} is not on this machine: {about.title} ({about.citation})\n"
            f"    {whole.extent} from {about.repository}, licence: {about.licence or 'no licence named'}\n"
            f"    wug data get {shlex.quote(whole.name)}{accept}    (or run it with --fetch{accept})"
        )
    if changed := altered(read or selection):
        files = listed_files([folder_of(selection.set) / file.name for file in changed])
        raise DataError(
            f"{name}: changed since it was fetched, so it is no longer the published version:{files}\n"
            f"Fetch it again: wug data get {shlex.quote(name)}{accept}. To run your own version, copy it elsewhere"
        )


def listed_files(paths: Sequence[object]) -> str:
    """The first files, one per line, for a message."""
    more = [f"… and {len(paths) - SHOWN} more"] if len(paths) > SHOWN else []
    return "".join(f"\n    {path}" for path in [*paths[:SHOWN], *more])


def _is_here(path: Path, file: File) -> bool:
    try:
        return path.is_file() and file.size in (None, path.stat().st_size)
    except OSError:
        return False


def _labelled(checksum: str) -> str:
    return f"Git blob {checksum.removeprefix(GIT)}" if checksum.startswith(GIT) else f"SHA-256 {checksum}"


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
    # A folder is read as a whole: the family knows which files are tests.
    used = selection if len(selection.paths) == 1 else tests
    require(tests, name, used)
    folder = folder_of(used.set)
    if len(used.paths) == 1 and (foreign := _foreign_files(used.set, folder / used.paths[0])):
        raise DataError(
            f"{name}: the folder has files that are not part of the set. Move them elsewhere:{listed_files(foreign)}"
        )
    as_one_suite = registry.family_traits(used.set.family).one_suite_per_set
    parts = _one_suite(used) if as_one_suite else [(part, {}) for part in used.paths]
    # In other families each file is a suite with its own name.
    by_set = as_one_suite and not used.part
    return [_place(used.set, _unpacked(folder / part), name, options, by_set=by_set) for part, options in parts]


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
    within = "/".join(rest)
    files = [
        file
        for file in test_set.files
        if contains(within, file.name) or contains(f"{file.name}{archives.UNPACKED}", within)
    ]
    if not files:
        return None
    location = _place(test_set, path, "/".join((name, *rest)), {})
    unchanged = not altered(SetSelection(test_set, "", tuple(files))) and not _foreign_files(test_set, path)
    if unchanged and all(_is_as_unpacked(folder_of(test_set) / file.name) for file in files):
        return location
    log.warning("%s: changed since it was fetched. Results do not cite %s", path, name)
    return replace(location, record=None)


def origin(path: Path) -> Mapping[str, Any] | None:
    """The record of the set of a fetched file or folder; None for others, and for changed ones."""
    location = location_of(path)
    return None if location is None else location.record


def _foreign_files(test_set: TestSet, path: Path) -> list[Path]:
    """Files in the folder of a set that are not part of it; unpacked archives are checked separately."""
    folder, path = folder_of(test_set).absolute(), path.absolute()
    names = {file.name for file in test_set.files}
    unpacked = tuple(f"{name}{archives.UNPACKED}/" for name in names)
    files = {file: file.relative_to(folder).as_posix() for file in sorted(path.rglob("*")) if file.is_file()}
    passing = (PART, ".DS_Store", "Thumbs.db")
    return [
        file
        for file, name in files.items()
        if name not in names and not name.startswith(unpacked) and not name.endswith(passing)
    ]


def _is_as_unpacked(archive: Path) -> bool:
    """Whether an archive was not unpacked, or its files are those of the archive."""
    return not archive.with_name(archive.name + archives.UNPACKED).is_dir() or archives.is_as_unpacked(archive)


def _one_suite(selection: SetSelection) -> list[tuple[str, Mapping[str, str]]]:
    """Several files as one suite: a folder, and the files in it that count."""
    names = [file.name for file in selection.files]
    if len(names) > 1 and len({without_suffix(name) for name in names}) == 1:  # line-aligned files: one represents all
        return [(names[0], {})]
    if len(selection.paths) == 1:
        return [(selection.paths[0], {})]
    folder = shared_folder(names)
    return [(folder, {"files": ",".join(name.removeprefix(f"{folder}/") for name in names)})]


def _unpacked(path: Path) -> Path:
    """The folder of an archive; another path as it is."""
    if not path.name.endswith(archives.ENDINGS):
        return path
    folder = archives.unpacked(path)
    if not archives.is_as_unpacked(path):
        raise DataError(f"{folder}: changed since it was unpacked. Delete the folder to unpack it again")
    return folder


def _place(
    test_set: TestSet, path: Path, name: str, options: Mapping[str, str], *, by_set: bool = False
) -> DataLocation:
    language = {"language": test_set.languages[0]} if len(test_set.languages) == 1 else {}
    all_options = {**language, **test_set.options, **options}
    return DataLocation(path, test_set.family, record(test_set), all_options, name if by_set or path.is_dir() else None)
