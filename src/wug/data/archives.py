"""Unpack archives of sets: only into their own folder, and up to a maximum size."""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias
from uuid import uuid4

from wug.errors import DataError, InputError
from wug.files import max_unpacked_bytes, writing

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
UNPACKED = ".unpacked"
_LITTER = ("__MACOSX", ".DS_Store")
_PIECE = 1 << 20


ArchiveMember: TypeAlias = tuple[str, Callable[[], IO[bytes] | None]]
"""The name of a file in an archive, and what opens it, which returns None for a link or a device."""


def unpacked(archive: Path) -> Path:
    """The folder with the files of an archive, unpacked if necessary."""
    folder = archive.with_name(archive.name + UNPACKED)
    if folder.is_dir():
        return folder
    # Renamed at the end, so an existing folder is complete.
    part = archive.with_name(f"{archive.name}.{uuid4().hex[:8]}.part")
    try:
        with writing(part), _members(archive) as members:
            part.mkdir()
            room = max_unpacked_bytes()
            for member in members:
                room -= _write(archive, member, part, room)
            part.rename(folder)
    except InputError:
        if not folder.is_dir():  # another process may have been quicker
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder


def is_as_unpacked(archive: Path) -> bool:
    """Whether the folder of an archive has exactly the archive's files, byte for byte."""
    folder = archive.with_name(archive.name + UNPACKED)
    unseen = {path for path in folder.rglob("*") if path.is_file() and _is_content(path.relative_to(folder).parts)}
    with _members(archive) as members:
        for name, opened in members:
            path, source = folder / PurePosixPath(name), opened()
            if path not in unseen or source is None:
                return False
            unseen.discard(path)
            with source, path.open("rb") as unpacked:
                while piece := source.read(_PIECE):
                    if piece != unpacked.read(len(piece)):
                        return False
                if unpacked.read(1):
                    return False
    return not unseen


def _write(archive: Path, member: ArchiveMember, folder: Path, room: int) -> int:
    """Write a file into a folder and return its size; DataError if it is too large."""
    name, opened = member
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise DataError(f"{archive}: not unpacked: {name!r} would be written outside of its folder")
    source = opened()
    if source is None:
        raise DataError(f"{archive}: not unpacked: {name!r} is not a regular file")
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with source, target.open("wb") as out:
        while piece := source.read(_PIECE):
            size += len(piece)
            if size > room:
                raise DataError(
                    f"{archive}: not unpacked: it unpacks to more than {max_unpacked_bytes():,} bytes (WUG_MAX_BYTES)"
                )
            out.write(piece)
    return size


@contextmanager
def _members(archive: Path) -> Iterator[Iterator[ArchiveMember]]:
    try:
        if archive.name.endswith(".zip"):
            with zipfile.ZipFile(archive) as packed:
                yield (member for member in _zipped(archive, packed) if _is_content(PurePosixPath(member[0]).parts))
        else:
            with tarfile.open(archive) as tar:
                yield (member for member in _tarred(tar) if _is_content(PurePosixPath(member[0]).parts))
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError) as error:
        raise DataError(f"{archive}: a damaged archive ({error})") from None


def _is_content(parts: Sequence[str]) -> bool:
    return not any(part in _LITTER or part.startswith("._") for part in parts)


def _zipped(archive: Path, packed: zipfile.ZipFile) -> Iterator[ArchiveMember]:
    for info in packed.infolist():
        if info.flag_bits & 1:
            raise DataError(
                f"{archive}: encrypted against crawlers; its authors give the password. Unpack it where it is not "
                "published, and name the files by their path"
            )
        if not info.is_dir():
            link = stat.S_ISLNK(info.external_attr >> 16)
            yield info.filename, (lambda: None) if link else partial(packed.open, info)


def _tarred(tar: tarfile.TarFile) -> Iterator[ArchiveMember]:
    for info in tar:
        if not info.isdir():
            yield info.name, partial(tar.extractfile, info) if info.isreg() else (lambda: None)
