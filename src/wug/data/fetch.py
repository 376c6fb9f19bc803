"""Bringing a set onto this machine: its licence first, then every file checked and moved into place whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from wug.data.catalogue import File, Selection, TestSet, find
from wug.data.folder import folder_of, missing, path, write_record
from wug.errors import DataError
from wug.files import writing

Progress = Callable[[int, int], None]
"""Told how many bytes have come, and how many there will be."""
PART = ".part"
"""What the name of a file ends in that has not come whole."""


def get(name: str, *, accept: bool = False, source: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a set or a part, unless it is here and sound, and say where it lies.

    `accept` accepts a licence that does not allow every use, or that is not there. `source` is a folder that has copies
    of the files under any names; with it nothing is asked of the network.
    """
    from filelock import FileLock

    selection = find(name)
    if not faulty(selection):
        return path(name)
    require_acceptance(selection, accept)
    folder = folder_of(selection.set)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(f"{folder.name}.lock"))
        lock.acquire()
    try:
        wanted = faulty(selection)  # another process may have fetched it meanwhile
        if wanted:
            write_record(selection.set)
            _bring(selection.set, wanted, source, progress or (lambda done, total: None))
    finally:
        lock.release()
    return path(name)


def require_acceptance(selection: Selection, accept: bool) -> None:
    """An error where the licence has to be accepted and was not."""
    chosen = selection.set
    if chosen.restriction and not accept:
        raise DataError(
            f"{chosen.title} ({chosen.licence or 'no licence named'}). {chosen.restriction}\n"
            f"If that suits you: wug data get {selection.name} --accept"
        )


def faulty(selection: Selection) -> list[File]:
    """The files that are not here, or not with the bytes that they should have."""
    folder = folder_of(selection.set)
    absent = missing(selection)
    return [f for f in selection.files if f in absent or f.checksum_of(folder / f.name) != f.checksum]


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


def _bring(chosen: TestSet, wanted: Sequence[File], source: str | Path | None, progress: Progress) -> None:
    folder = folder_of(chosen)
    for file in wanted:
        with writing(folder / file.name):
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
    if source is None:
        from wug.data.download import download

        download(chosen, wanted, folder, progress)
    else:
        from wug.data.copies import take

        take(chosen, wanted, folder, source, progress)


def _labelled(checksum: str) -> str:
    return f"Git blob {checksum[4:]}" if checksum.startswith("git:") else f"SHA-256 {checksum}"
