"""The folder of fetched sets: one per set and commit, with its licence in a JSON file. Files are verified."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from wug.data.catalogue import GIT, File, SetSelection, TestSet, find
from wug.errors import DataError, InputError, NotFetched
from wug.files import read_object, user_path, write_text, writing


class VerifiedFiles:
    """Remembers which files of a folder were verified, by their sizes and times, in a JSON file next to it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder.with_name(f"{folder.name}.checked.json")
        self._folder = folder
        self._known = self._read()
        self._new = False

    def confirms(self, path: Path, compare: Callable[[], bool]) -> bool:
        """Whether a file or folder is valid; `compare` is called if it is new or was modified."""
        name, state = path.relative_to(self._folder).as_posix(), _state(path)
        if self._known.get(name) == state:
            return True
        if not compare():
            return False
        self._known[name], self._new = state, True
        return True

    def save(self) -> None:
        """Save what was verified."""
        if self._new:
            with suppress(InputError):  # without write access, files are compared each time
                write_text(self._file, json.dumps(self._known, indent=0))

    def _read(self) -> dict[str, str]:
        try:
            return read_object(self._file)
        except InputError:
            return {}


def _state(path: Path) -> str:
    """A digest of the names, sizes and times of a file, or of all files in a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = [(str(file), file.stat()) for file in files]
    rows = [[name, status.st_size, status.st_mtime_ns, status.st_ctime_ns] for name, status in states]
    return hashlib.sha256(json.dumps(rows).encode("utf-8", "surrogatepass")).hexdigest()[:16]


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


def fetched(name: str) -> bool:
    """Whether all of a set or a part is fetched and unchanged."""
    selection = find(name)
    return not missing(selection) and not altered_files(selection.set, selection.files)


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
    locations = [folder_of(selection.set) / part for part in selection.paths]
    return locations[0] if len(locations) == 1 else Path(os.path.commonpath(locations))


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


def require(selection: SetSelection, name: str) -> None:
    """Raise NotFetched if a file is missing, DataError if one was changed."""
    if missing(selection):
        raise NotFetched(_not_fetched(find(name)))
    refuse_altered(selection, name)


def refuse_altered(selection: SetSelection, name: str) -> None:
    """Raise DataError if a file was changed."""
    if changed := altered_files(selection.set, selection.files):
        accept = " --accept" if selection.set.restriction else ""
        raise DataError(
            f"{name}: changed since it was fetched, so it is no longer the published version:{listed_files(changed)}\n"
            f"Fetch it again: wug data get {shlex.quote(name)}{accept}. To run your own version, copy it elsewhere"
        )


def altered_files(test_set: TestSet, files: Iterable[File]) -> list[Path]:
    """The files that were changed."""
    folder = folder_of(test_set)
    checked = VerifiedFiles(folder)
    changed = []
    for file in files:
        path = folder / file.name
        if path.is_file() and not checked.confirms(path, partial(file.matches, path)):
            changed.append(path)
    checked.save()
    return changed


def listed_files(paths: Sequence[object]) -> str:
    """The first files, one per line, for a message."""
    more = [f"… and {len(paths) - SHOWN} more"] if len(paths) > SHOWN else []
    return "".join(f"\n    {path}" for path in [*paths[:SHOWN], *more])


def _not_fetched(selection: SetSelection) -> str:
    test_set = selection.set
    name = selection.name
    accept = " --accept" if test_set.restriction else ""
    licence = test_set.licence or "no licence named"
    return (
        f"{name} is not on this machine: {test_set.title} ({test_set.citation})\n"
        f"    {selection.extent} from {test_set.repository}, licence: {licence}\n"
        f"    wug data get {shlex.quote(name)}{accept}    (or run it with --fetch{accept})"
    )


def _is_here(path: Path, file: File) -> bool:
    try:
        return path.is_file() and file.size in (None, path.stat().st_size)
    except OSError:
        return False


def _labelled(checksum: str) -> str:
    return f"Git blob {checksum.removeprefix(GIT)}" if checksum.startswith(GIT) else f"SHA-256 {checksum}"
