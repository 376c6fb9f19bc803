"""Bringing a set onto this machine: its licence first, then every file checked and moved into place whole."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from wug.data.catalogue import File, Selection, TestSet, find
from wug.data.copies import take
from wug.data.download import download
from wug.data.folder import Progress, folder_of, missing, path, write_record
from wug.errors import DataError
from wug.files import writing


def get(name: str, *, accept: bool = False, source: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a set or a part, unless it is here and sound, and say where it lies.

    `accept` accepts a licence that does not allow every use, or that is not there. `source` is a folder that has copies
    of the files under any names; with it nothing is asked of the network.
    """
    bring(find(name), accept=accept, source=source, progress=progress)
    return path(name)


def bring(
    selection: Selection,
    *,
    accept: bool = False,
    source: str | Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Fetch what is not here, or not sound, of a selection."""
    from filelock import FileLock

    if not faulty(selection):
        return
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


def require_acceptance(selection: Selection, accept: bool) -> None:
    """An error where the licence has to be accepted and was not."""
    chosen = selection.set
    if chosen.restriction and not accept:
        raise DataError(
            f"{chosen.title} ({chosen.licence or 'no licence named'}). {chosen.restriction}\n"
            f"If that suits you: wug data get {shlex.quote(selection.name)} --accept"
        )


def faulty(selection: Selection) -> list[File]:
    """The files that are not here, or not with the bytes that they should have."""
    folder = folder_of(selection.set)
    absent = missing(selection)
    return [f for f in selection.files if f in absent or f.checksum_of(folder / f.name) != f.checksum]


def _bring(chosen: TestSet, wanted: Sequence[File], source: str | Path | None, progress: Progress) -> None:
    folder = folder_of(chosen)
    for file in wanted:
        with writing(folder / file.name):
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
    if source is None:
        download(chosen, wanted, folder, progress)
    else:
        take(chosen, wanted, folder, source, progress)
