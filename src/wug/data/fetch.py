"""Fetch a set: accept its licence, download or copy its files, verify them, and move them into place."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from wug.data import folder as data_folder
from wug.data.catalogue import GIT, File, SetSelection, TestSet, find, megabytes
from wug.data.folder import PART, SHOWN, Progress, altered, folder_of, install, listed_files, missing, write_record
from wug.errors import DataError, InputError
from wug.files import max_unpacked_bytes, shortened, user_path, writing

if TYPE_CHECKING:
    import httpx


def _copy(test_set: TestSet, files: Sequence[File], folder: Path, source: str | Path, progress: Progress) -> None:
    """Copy files into a folder; DataError for those that the source lacks, after the others are in place."""
    source_folder = user_path(source)
    if not source_folder.is_dir():
        raise InputError("no such folder", file=source)
    copies = _find(source_folder, files)
    total = sum(path.stat().st_size for path in copies.values())
    done = 0
    for file, path in copies.items():
        target = folder / file.name
        part = target.with_name(target.name + PART)
        with writing(part):
            shutil.copyfile(path, part)
        install(file, part, target, path)
        done += target.stat().st_size
        progress(done, total)
    if absent := [file for file in files if file not in copies]:
        lines = [_missing_file_line(file, source_folder) for file in absent[:SHOWN]]
        raise DataError(
            f"{source_folder}: {len(absent)} of {len(files)} files of {test_set.name} are not there, by their "
            f"checksums:{listed_files([*lines, *absent[SHOWN:]])}\n"
            f"They are in {test_set.repository} at commit {test_set.commit}"
        )


def _find(source: Path, files: Sequence[File]) -> dict[File, Path]:
    """A copy of each file, if there is one; only files of the right size are read."""
    copies: dict[File, Path] = {}
    for path in _files(source):
        size = path.stat().st_size
        checksums: dict[bool, str] = {}
        for file in files:
            if size == file.size or (file.size is None and size <= max_unpacked_bytes()):
                kind = file.checksum.startswith(GIT)
                checksums[kind] = checksums.get(kind) or file.checksum_of(path)
                if checksums[kind] == file.checksum:
                    copies[file] = path
    return {file: copies[file] for file in files if file in copies}


def _files(source: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (path for name in sorted(names) if (path := Path(folder, name)).is_file())


def _missing_file_line(file: File, source: Path) -> str:
    """A missing file; if another one has its name, how they differ."""
    name = Path(file.path).name
    namesake = next((path for path in _files(source) if path.name == name), None)
    if namesake is None:
        return f"{file.path} ({file.checksum})"
    size = namesake.stat().st_size
    if file.size not in (None, size):  # enough to rule it out
        return f"{file.path}: expected {file.size:,} bytes, found {size:,} in {namesake}"
    return f"{file.path}: expected {file.checksum}, found {file.checksum_of(namesake)} in {namesake}"


ADDRESS = "WUG_DATA_URL"
GITHUB = "https://raw.githubusercontent.com"
ATTEMPTS = 8
_PATIENCE = 60.0
"""Seconds without a byte before a connection counts as broken."""
_ELSEWHERE = "On a machine without a network: wug data get NAME --from FOLDER, with a folder that has the files"


def _download(test_set: TestSet, files: Sequence[File], folder: Path, progress: Progress) -> None:
    """Download files into a folder over one connection."""
    import httpx

    base = os.environ.get(ADDRESS) or GITHUB
    repository = f"{base.rstrip('/')}/{test_set.repository.removeprefix('github.com/')}/{test_set.commit}"
    done, total = 0, sum(file.size or 0 for file in files)

    def report(received: int) -> None:
        progress(done + received, max(done + received, total))

    try:
        # Compressed responses cannot be resumed.
        headers = {"Accept-Encoding": "identity"}
        with httpx.Client(headers=headers, follow_redirects=True, timeout=_PATIENCE) as client:
            for file in files:
                target = folder / file.name
                _fetch(client, f"{repository}/{quote(file.path)}", file, target, report)
                done += target.stat().st_size
    except httpx.InvalidURL as error:
        raise DataError(f"{ADDRESS}={os.environ.get(ADDRESS)!r}: cannot be used as an address ({error})") from None


def _fetch(client: httpx.Client, url: str, file: File, target: Path, report: Callable[[int], None]) -> None:
    import httpx

    part = target.with_name(target.name + PART)
    for _ in range(ATTEMPTS):
        start = _size(part)
        try:
            complete = _receive(client, url, file, part, report)
            reason = "the server ended early"
        except httpx.RequestError as error:
            complete, reason = False, str(error) or type(error).__name__
        if complete and start and not file.matches(part):
            part.unlink()  # the first part was wrong: start again
        elif complete:
            return install(file, part, target, url)
        elif _size(part) <= start:
            break
    kept_bytes = _size(part)
    remedy = f"{megabytes(kept_bytes)} of it are kept: the same command resumes" if kept_bytes else _ELSEWHERE
    raise DataError(f"{url}: cannot be fetched: {shortened(reason)}. {remedy}")


def _receive(client: httpx.Client, url: str, file: File, part: Path, report: Callable[[int], None]) -> bool:
    """Download the rest of a file; whether it is complete, by its size."""
    start = _size(part)
    if start and start == file.size:
        return True  # complete, but not verified yet
    headers = {"Range": f"bytes={start}-"} if start else {}
    with client.stream("GET", url, headers=headers) as answer:
        if answer.status_code == 416:  # no such range: the part is of another file
            part.unlink()
            return _receive(client, url, file, part, report)
        if answer.status_code not in (200, 206):
            raise DataError(f"{url}: the server answers {answer.status_code} {answer.reason_phrase}. {_ELSEWHERE}")
        resumes = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        with writing(part), part.open("ab" if resumes else "wb") as out:
            received = start if resumes else 0
            for piece in answer.iter_raw():
                out.write(piece)
                out.flush()  # so that the size on disk is right
                received += len(piece)
                report(received)
                if file.size is not None and received > file.size:
                    break  # it is another file
    return file.size is None or received >= file.size


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def get(name: str, *, accept: bool = False, source: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch a set or a part, unless it is here and valid, and return its path.

    `accept` accepts a restricted or missing licence. `source` is a folder with copies of the files under any names,
    which works offline.
    """
    fetch_selection(find(name), accept=accept, source=source, progress=progress)
    return data_folder.path(name)


def fetch_selection(
    selection: SetSelection,
    *,
    accept: bool = False,
    source: str | Path | None = None,
    progress: Progress | None = None,
) -> None:
    """Fetch the missing or invalid files of a selection."""
    from filelock import FileLock

    if not _damaged(selection):
        return
    require_acceptance(selection, accept)
    test_set, report = selection.set, progress or (lambda done, total: None)
    folder = folder_of(test_set)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(f"{folder.name}.lock"))
        lock.acquire()
    try:
        files = _damaged(selection)  # another process may have fetched it
        for file in files:
            with writing(folder / file.name):
                (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
        if files:
            write_record(test_set)
            if source is None:
                _download(test_set, files, folder, report)
            else:
                _copy(test_set, files, folder, source, report)
    finally:
        lock.release()


def require_acceptance(selection: SetSelection, accept: bool) -> None:
    """Raise DataError if the licence must be accepted and was not."""
    test_set = selection.set
    if test_set.restriction and not accept:
        raise DataError(
            f"{test_set.title} ({test_set.licence or 'no licence named'}). {test_set.restriction}\n"
            f"To accept: wug data get {shlex.quote(selection.name)} --accept"
        )


def _damaged(selection: SetSelection) -> list[File]:
    """The files that are missing or have a wrong checksum."""
    damaged = {*missing(selection), *altered(selection)}
    return [file for file in selection.files if file in damaged]
