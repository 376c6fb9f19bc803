"""What identifies a model that lies in files: their content, taken before they are loaded and confirmed after."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wug.errors import ModelError

IGNORED = ("README", "LICENSE", "optimizer", "scheduler", "training_args", "rng_state", "trainer_state", ".")
"""Files of a model folder whose content changes no answer begin like this."""
ASIDE = (".", "training", "epochs", "checkpoint", "__pycache__")
"""Folders in it that hold no part of the model begin like this: what training keeps, and other models."""
MOST = 10_000
"""Files of a folder that are read: a model has a hundred, and whoever names / means something else."""


def fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits of everything in a folder, at any depth, that can change an answer."""
    digest = hashlib.sha256()
    for path in files_within(folder):
        name = path.relative_to(folder).as_posix()
        digest.update(os.fsencode(name) + b"\0" + bytes.fromhex(content(path)))
    return digest.hexdigest()[:12]


def content(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None


def files_within(folder: Path) -> list[Path]:
    """The files of a folder at any depth that can change an answer, in order."""
    found: list[Path] = []
    met: set[Path] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        if (real := here.resolve()) in met:  # a link that leads back
            continue
        met.add(real)
        try:
            within = list(here.iterdir())
        except OSError as error:
            raise ModelError(f"{here}: cannot be read: {error.strerror or error}") from None
        waiting += [path for path in within if path.is_dir() and not path.name.startswith(ASIDE)]
        found += [path for path in within if path.is_file() and not path.name.startswith(IGNORED)]
        if len(found) > MOST or len(met) > MOST:
            raise TooMany(f"{folder}: more than {MOST:,} files, so it is no model. Name the folder of the model itself")
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


class TooMany(ModelError):
    """A folder with more files than a model has."""


@contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """Refuse a model whose files are replaced or written to while it is loaded: its fingerprint would be another's."""
    before = _seen(paths)
    yield
    after = _seen(paths)
    for path in before.keys() | after.keys():
        if before.get(path) != after.get(path):
            raise ModelError(
                f"{path}: it changed while the model was being loaded. Wait until nothing is written there any more, "
                "and give the command again"
            )


def _seen(paths: tuple[Path, ...]) -> dict[Path, tuple[int, int, int]]:
    """Which file each is, how long, and when it was last written to."""
    files = [file for path in paths for file in (files_within(path) if path.is_dir() else [path])]
    found = {}
    for file in files:
        try:
            known = file.stat()
        except OSError:
            continue
        found[file] = (known.st_ino, known.st_size, known.st_mtime_ns)
    return found
