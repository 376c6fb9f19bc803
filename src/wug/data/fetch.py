"""Fetch a set: accept its licence, download or copy its files, verify them, and move them into place."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from wug.data import folder as data_folder
from wug.data.catalogue import GIT, File, SetSelection, TestSet, find, megabytes
from wug.data.folder import PART, SHOWN, Progress, folder_of, install, listed, missing, write_record
from wug.errors import DataError, InputError
from wug.files import max_unpacked_bytes, shortened, user_path, writing

if TYPE_CHECKING:
    import httpx


def copy_files(chosen: TestSet, wanted: Sequence[File], folder: Path, source: str | Path, progress: Progress) -> None:
    """Copy files into a folder; DataError for those that the source lacks, after the others are in place."""
    given = user_path(source)
    if not given.is_dir():
        raise InputError("no such folder", file=source)
    found = _find(given, wanted)
    total = sum(path.stat().st_size for path in found.values())
    done = 0
    for file, path in found.items():
        target = folder / file.name
        part = target.with_name(target.name + PART)
        with writing(part):
            shutil.copyfile(path, part)
        install(file, part, target, path)
        done += target.stat().st_size
        progress(done, total)
    if absent := [file for file in wanted if file not in found]:
        raise DataError(_lacking(chosen, absent, len(wanted), given))


def _find(source: Path, wanted: Sequence[File]) -> dict[File, Path]:
    """A copy of each file, if there is one; only files of the right size are read."""
    found: dict[File, Path] = {}
    for path in _files(source):
        size = path.stat().st_size
        checksums: dict[bool, str] = {}
        for file in wanted:
            if size == file.size or (file.size is None and size <= max_unpacked_bytes()):
                kind = file.checksum.startswith(GIT)
                checksums[kind] = checksums.get(kind) or file.checksum_of(path)
                if checksums[kind] == file.checksum:
                    found[file] = path
    return {file: found[file] for file in wanted if file in found}


def _files(source: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if name != ".git")
        yield from (path for name in sorted(names) if (path := Path(folder, name)).is_file())


def _lacking(chosen: TestSet, absent: Sequence[File], wanted: int, source: Path) -> str:
    return (
        f"{source}: {len(absent)} of {wanted} files of {chosen.name} are not there, by their checksums:"
        f"{listed([*(_line(file, source) for file in absent[:SHOWN]), *absent[SHOWN:]])}\n"
        f"They are in {chosen.repository} at commit {chosen.commit}"
    )


def _line(file: File, source: Path) -> str:
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


def download(chosen: TestSet, wanted: Sequence[File], folder: Path, progress: Progress) -> None:
    """Download files into a folder over one connection."""
    import httpx

    # Compressed responses cannot be resumed.
    headers = {"Accept-Encoding": "identity"}
    done, total = 0, sum(file.size or 0 for file in wanted)
    try:
        with httpx.Client(headers=headers, follow_redirects=True, timeout=_PATIENCE) as client:
            for file in wanted:
                _fetch(client, address(chosen, file), file, folder / file.name, partial(_tell, progress, done, total))
                done += (folder / file.name).stat().st_size
    except httpx.InvalidURL as error:
        raise DataError(f"{ADDRESS}={os.environ.get(ADDRESS)!r}: cannot be used as an address ({error})") from None


def _tell(progress: Progress, before: int, total: int, came: int) -> None:
    progress(before + came, max(before + came, total))


def address(chosen: TestSet, file: File) -> str:
    """The URL of a file."""
    base = os.environ.get(ADDRESS) or GITHUB
    repository = chosen.repository.removeprefix("github.com/")
    return f"{base.rstrip('/')}/{repository}/{chosen.commit}/{quote(file.path)}"


def _fetch(client: httpx.Client, url: str, file: File, target: Path, tell: Callable[[int], None]) -> None:
    import httpx

    part = target.with_name(target.name + PART)
    for _ in range(ATTEMPTS):
        start = _size(part)
        try:
            whole = _receive(client, url, file, part, tell)
            reason = "the server ended early"
        except httpx.RequestError as error:
            whole, reason = False, str(error) or type(error).__name__
        if whole and start and not file.matches(part):
            part.unlink()  # the first part was wrong: start again
        elif whole:
            return install(file, part, target, url)
        elif _size(part) <= start:
            break
    kept = _size(part)
    remedy = f"{megabytes(kept)} of it are kept: the same command resumes" if kept else _ELSEWHERE
    raise DataError(f"{url}: cannot be fetched: {shortened(reason)}. {remedy}")


def _receive(client: httpx.Client, url: str, file: File, part: Path, tell: Callable[[int], None]) -> bool:
    """Download the rest of a file; whether it is complete, by its size."""
    start = _size(part)
    if start and start == file.size:
        return True  # complete, but not verified yet
    headers = {"Range": f"bytes={start}-"} if start else {}
    with client.stream("GET", url, headers=headers) as answer:
        if answer.status_code == 416:  # no such range: the part is of another file
            part.unlink()
            return _receive(client, url, file, part, tell)
        if answer.status_code not in (200, 206):
            raise DataError(f"{url}: the server answers {answer.status_code} {answer.reason_phrase}. {_ELSEWHERE}")
        goes_on = answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        with writing(part), part.open("ab" if goes_on else "wb") as out:
            came = start if goes_on else 0
            for piece in answer.iter_raw():
                out.write(piece)
                out.flush()  # so that the size on disk is right
                came += len(piece)
                tell(came)
                if file.size is not None and came > file.size:
                    break  # it is another file
    return file.size is None or came >= file.size


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

    if not faulty(selection):
        return
    require_acceptance(selection, accept)
    folder = folder_of(selection.set)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder.with_name(f"{folder.name}.lock"))
        lock.acquire()
    try:
        wanted = faulty(selection)  # another process may have fetched it
        if wanted:
            write_record(selection.set)
            _fetch_files(selection.set, wanted, source, progress or (lambda done, total: None))
    finally:
        lock.release()


def require_acceptance(selection: SetSelection, accept: bool) -> None:
    """Raise DataError if the licence must be accepted and was not."""
    chosen = selection.set
    if chosen.restriction and not accept:
        raise DataError(
            f"{chosen.title} ({chosen.licence or 'no licence named'}). {chosen.restriction}\n"
            f"To accept: wug data get {shlex.quote(selection.name)} --accept"
        )


def faulty(selection: SetSelection) -> list[File]:
    """The files that are missing or have a wrong checksum."""
    folder = folder_of(selection.set)
    absent = missing(selection)
    return [f for f in selection.files if f in absent or not f.matches(folder / f.name)]


def _fetch_files(chosen: TestSet, wanted: Sequence[File], source: str | Path | None, progress: Progress) -> None:
    folder = folder_of(chosen)
    for file in wanted:
        with writing(folder / file.name):
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
    if source is None:
        download(chosen, wanted, folder, progress)
    else:
        copy_files(chosen, wanted, folder, source, progress)
