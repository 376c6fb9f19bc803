"""Unpack archives of sets: only into their own folder, and up to a maximum size."""

from __future__ import annotations

import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import uuid4

from wug.errors import DataError, InputError
from wug.files import max_unpacked_bytes, writing

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
UNPACKED = ".unpacked"
_LITTER = ("__MACOSX", ".DS_Store")


def unpacked(archive: Path) -> Path:
    """The folder with the files of an archive, unpacked if necessary."""
    folder = archive.with_name(archive.name + UNPACKED)
    if folder.is_dir():
        return folder
    # Renamed at the end, so an existing folder is complete.
    part = archive.with_name(f"{archive.name}.{uuid4().hex[:8]}.part")
    try:
        with writing(part):
            part.mkdir()
            for name, content in _contents(archive):
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                (part / name).write_bytes(content)
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
    unseen = {path for path in folder.rglob("*") if path.is_file() and _is_content(path.relative_to(folder))}
    for name, content in _contents(archive):
        path = folder / name
        if path not in unseen or path.read_bytes() != content:
            return False
        unseen.discard(path)
    return not unseen


def _contents(archive: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """The path and the content of each file in an archive."""
    room = max_unpacked_bytes()
    try:
        for name, source in _files(archive):
            path = PurePosixPath(name)
            if not _is_content(path):
                continue
            if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
                raise DataError(f"{archive}: not unpacked: {name!r} would be written outside of its folder")
            if source is None:
                raise DataError(f"{archive}: not unpacked: {name!r} is not a regular file")
            with source:
                content = source.read(room + 1)
            room -= len(content)
            if room < 0:
                raise DataError(
                    f"{archive}: not unpacked: it unpacks to more than {max_unpacked_bytes():,} bytes (WUG_MAX_BYTES)"
                )
            yield path, content
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError) as error:
        raise DataError(f"{archive}: a damaged archive ({error})") from None


def _is_content(path: PurePosixPath | Path) -> bool:
    return not any(part in _LITTER or part.startswith("._") for part in path.parts)


def _files(archive: Path) -> Iterator[tuple[str, IO[bytes] | None]]:
    """The name of each file in an archive and what reads it, which is None for a link or a device."""
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if info.flag_bits & 1:
                    raise DataError(
                        f"{archive}: encrypted against crawlers; its authors give the password. Unpack it where it is "
                        "not published, and name the files by their path"
                    )
                if not info.is_dir():
                    yield info.filename, None if stat.S_ISLNK(info.external_attr >> 16) else packed.open(info)
    else:
        with tarfile.open(archive) as tar:
            for member in tar:
                if not member.isdir():
                    yield member.name, tar.extractfile(member) if member.isreg() else None
