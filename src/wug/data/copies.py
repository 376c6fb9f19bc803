"""Files from a checkout or another copy of a set, found by their checksums whatever they are called there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from wug.data.catalogue import GIT, File, TestSet
from wug.data.folder import PART, SHOWN, Progress, install, listed
from wug.errors import DataError, InputError
from wug.files import largest, user_path, writing


def take(chosen: TestSet, wanted: Sequence[File], folder: Path, source: str | Path, progress: Progress) -> None:
    """Copy files into a folder; those that the source does not have are an error, once the others are in place."""
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
    """For each file a copy, where there is one; only files of the right size are read, if the catalogue has it."""
    found: dict[File, Path] = {}
    for path in _files(source):
        size = path.stat().st_size
        checksums: dict[bool, str] = {}
        for file in wanted:
            if size == file.size or (file.size is None and size <= largest()):
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
    """A file that is not there; if another has its name, how the two differ."""
    name = Path(file.path).name
    namesake = next((path for path in _files(source) if path.name == name), None)
    if namesake is None:
        return f"{file.path} ({file.checksum})"
    size = namesake.stat().st_size
    if file.size not in (None, size):  # enough to rule it out, however large it is
        return f"{file.path}: expected {file.size:,} bytes, found {size:,} in {namesake}"
    return f"{file.path}: expected {file.checksum}, found {file.checksum_of(namesake)} in {namesake}"
