"""Where fetched sets lie: a folder for each set and commit, and beside it a JSON file with the licence."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from wug.data.catalogue import GIT, File, Selection, TestSet, find
from wug.data.integrity import Checked
from wug.errors import DataError, NotFetched
from wug.files import user_path, write_text, writing

FOLDER = "WUG_DATA"
"""The environment variable that names another folder for sets."""
PART = ".part"
"""What the name of a file ends in that has not come whole."""
SHOWN = 5
"""Files that a message names."""
Progress = Callable[[int, int], None]
"""Told how many bytes have come, and how many there will be."""


def root() -> Path:
    """The folder of all sets: what the environment says, else `data` in the user's data folder."""
    from platformdirs import user_data_path

    given = os.environ.get(FOLDER)
    return user_path(given) if given else user_data_path("wug", appauthor=False) / "data"


def folder_of(chosen: TestSet) -> Path:
    """The folder of a set; another commit has another, so that an old version is never taken for a new one."""
    return root() / chosen.name / chosen.commit[:12]


def missing(selection: Selection) -> list[File]:
    """The files that are not here, by their names and sizes."""
    folder = folder_of(selection.set)
    return [file for file in selection.files if not _is_here(folder / file.name, file)]


def fetched(name: str) -> bool:
    """Whether all of a set or a part is on this machine, with the content that the catalogue knows."""
    selection = find(name)
    return not missing(selection) and not altered(selection.set, selection.files)


def paths(name: str) -> list[Path]:
    """Where a set or a part lies: the one folder that has just its files, or else the files; NotFetched if not here."""
    selection = find(name)
    require(selection, name)
    return [folder_of(selection.set) / place for place in selection.places]


def path(name: str) -> Path:
    """The file of a name, or the folder that has its files (and maybe others); NotFetched if they are not here."""
    require(find(name), name)
    return place(name)


def place(name: str) -> Path:
    """Where the file of a name, or the folder with its files, lies once it is fetched."""
    selection = find(name)
    found = [folder_of(selection.set) / part for part in selection.places]
    return found[0] if len(found) == 1 else Path(os.path.commonpath(found))


def record(chosen: TestSet) -> dict[str, str | None]:
    """What is kept of a set beside its data, and beside results: title, licence, citation, commit."""
    return {
        "set": chosen.name,
        "title": chosen.title,
        "licence": chosen.licence,
        "terms": chosen.terms,
        "citation": chosen.citation,
        "repository": chosen.repository,
        "commit": chosen.commit,
    }


def write_record(chosen: TestSet) -> None:
    """Put the licence beside the data."""
    folder = folder_of(chosen)
    text = json.dumps(record(chosen), ensure_ascii=False, indent=2)
    write_text(folder.with_name(f"{folder.name}.json"), f"{text}\n")


def install(file: File, part: Path, target: Path, came_from: object) -> None:
    """Move a file into place whole, or refuse it, with both checksums, where it has other bytes than it should."""
    found = file.checksum_of(part)
    if found != file.checksum:
        with writing(part):
            part.unlink()
        raise DataError(
            f"{came_from}: not the bytes of {file.path} that the catalogue knows, so it is not taken\n"
            f"    expected {_labelled(file.checksum)}\n    found    {_labelled(found)}"
        )
    with writing(target):
        part.replace(target)


def require(selection: Selection, name: str) -> None:
    """NotFetched where a file is not here, DataError where one was changed; the message is about all of the name."""
    if missing(selection):
        raise NotFetched(_not_fetched(find(name)))
    refuse_altered(selection, name)


def refuse_altered(selection: Selection, name: str) -> None:
    """DataError where a file that is here has another content than the catalogue knows."""
    if changed := altered(selection.set, selection.files):
        accept = " --accept" if selection.set.restriction else ""
        raise DataError(
            f"{name}: changed since it was fetched, so it is no longer the published version:{listed(changed)}\n"
            f"Fetch it again: wug data get {shlex.quote(name)}{accept}. To run your own version, copy it elsewhere"
        )


def altered(chosen: TestSet, files: Iterable[File]) -> list[Path]:
    """Those of the files that are here with another content than the catalogue knows."""
    folder = folder_of(chosen)
    checked = Checked(folder)
    changed = []
    for file in files:
        path = folder / file.name
        if path.is_file() and not checked.confirms(path, partial(_is_right, file, path)):
            changed.append(path)
    checked.keep()
    return changed


def _is_right(file: File, path: Path) -> bool:
    return file.checksum_of(path) == file.checksum


def listed(paths: Sequence[object]) -> str:
    """The first of some files, one per line, for a message."""
    more = [f"… and {len(paths) - SHOWN} more"] if len(paths) > SHOWN else []
    return "".join(f"\n    {path}" for path in [*paths[:SHOWN], *more])


def _not_fetched(selection: Selection) -> str:
    """What it is, how large, under which licence, and the command, in three lines."""
    chosen = selection.set
    name = selection.name
    accept = " --accept" if chosen.restriction else ""
    licence = chosen.licence or "no licence named"
    return (
        f"{name} is not on this machine: {chosen.title} ({chosen.citation})\n"
        f"    {selection.extent} from {chosen.repository}, licence: {licence}\n"
        f"    wug data get {shlex.quote(name)}{accept}    (or run it with --fetch{accept})"
    )


def _is_here(path: Path, file: File) -> bool:
    try:
        return path.is_file() and file.size in (None, path.stat().st_size)
    except OSError:
        return False


def _labelled(checksum: str) -> str:
    return f"Git blob {checksum.removeprefix(GIT)}" if checksum.startswith(GIT) else f"SHA-256 {checksum}"
