"""What identifies a model that lies in files: their content, taken before they are loaded and confirmed after."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from wug.errors import ModelError
from wug.files import user_path
from wug.models._spec import ModelSpec
from wug.stages import stage

IGNORED = ("README", "LICENSE", "optimizer", "scheduler", "training_args", "rng_state", "trainer_state", ".")
"""Files of a model folder whose content changes no answer begin like this."""
ASIDE = (".", "training", "epochs", "checkpoint", "__pycache__")
"""Folders in it that hold no part of the model begin like this: what training keeps, and other models."""
MOST = 10_000
"""Files of a folder that are read: a model has a hundred, and whoever names / means something else."""
SETTLED = 2.0
"""Seconds after which a file that is written to again has another time: some file systems count in twos."""
COMMIT = re.compile(r"[0-9a-f]{40}")
"""A revision of the hub that stays what it is."""

Seen: TypeAlias = tuple[tuple[Path, tuple[int, int, int]], ...]
"""Files with what tells whether they changed: which file each is, how long, and when it was last written to."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A Hugging Face model whose files are here."""

    path: Path
    name: str
    """Name and fingerprint, as the model is known by when it is loaded."""

    def settings(self, file: str) -> Mapping[str, Any]:
        """What a JSON file in it says; nothing where there is none, or a damaged one, of which loading tells."""
        return _fields(self.path / file)


def folder_of(spec: ModelSpec, options: Mapping[str, Any]) -> Folder | None:
    """The files of a model that is what they and the options of its backend say; None where only loading tells.

    That is so where the hub decides which files they are, and where number formats depend on what is in them.
    """
    if options["dtype"] == "auto" or options["trust_remote_code"] or options.get("gguf"):
        return None
    path, fixed = user_path(spec.name), spec.revision is not None and COMMIT.fullmatch(spec.revision)
    found = path if path.is_dir() and spec.revision is None else snapshot(spec) if fixed else None
    if found is None or not (config := _fields(found / "config.json")) or "quantization_config" in config:
        return None
    on_top = "" if (adapter := options.get("adapter")) is None else f"+{adapter_fingerprint(adapter)}"
    if found is path:
        return Folder(path, f"{path.resolve().name}@{fingerprint(path)}{on_top}")
    return Folder(found, f"{spec.name}@{spec.revision:.12}{on_top}")


def adapter_fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits of the files of an adapter, or a ModelError where the folder has none."""
    if not folder.is_dir():
        raise ModelError(f"adapter={folder}: no such folder. An adapter of the hub has to be downloaded first")
    if not (folder / "adapter_config.json").is_file():
        raise ModelError(f"adapter={folder}: the folder has no adapter_config.json, so it is no adapter of peft")
    return fingerprint(folder)


def fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits of everything in a folder, at any depth, that can change an answer."""
    seen = tuple(_seen((folder,)).items())
    latest = max((written for _, (_, _, written) in seen), default=0)
    # What was written just now could be written again at what is the same time to the file system.
    settled = time.time_ns() - latest > SETTLED * 1e9
    return _digested(folder, seen) if settled else _digested.__wrapped__(folder, seen)


@lru_cache(maxsize=64)
def _digested(folder: Path, seen: Seen) -> str:
    """The fingerprint of a folder with these files: one that did not change is read once, however large it is."""
    digest = hashlib.sha256()
    for path, _ in seen:
        name = path.relative_to(folder).as_posix()
        digest.update(os.fsencode(name) + b"\0" + bytes.fromhex(content(path)))
    return digest.hexdigest()[:12]


def content(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with stage("hash"), path.open("rb") as file:
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


def commit_of(spec: ModelSpec) -> str | None:
    """The commit of a model of the hub whose files are here, as it was last fetched; None where none are."""
    found = snapshot(spec)
    return found.name if found is not None and COMMIT.fullmatch(found.name) else None


def snapshot(spec: ModelSpec) -> Path | None:
    """The folder in which the hub's programs keep a model as it was at a commit."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        return None
    try:
        config = try_to_load_from_cache(spec.name, "config.json", revision=spec.revision)
    except HFValidationError:  # no name that the hub could have
        return None
    return Path(config).parent if isinstance(config, str) else None


def _fields(path: Path) -> Mapping[str, Any]:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
