"""Fingerprints of model files, taken before loading and confirmed after; and a cache of converted models."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from wug.errors import InputError, ModelError
from wug.files import read_object, user_path
from wug.models.spec import ModelSpec
from wug.timings import timed

IGNORED_FILES = ("README", "LICENSE", "optimizer", "scheduler", "training_args", "rng_state", "trainer_state", ".")
"""Prefixes of files that do not change an output."""
IGNORED_FOLDERS = (".", "training", "epochs", "checkpoint", "__pycache__")
"""Prefixes of folders that do not belong to the model: training state, and other models."""
MAX_FILES = 10_000
CHUNK_BYTES = 1 << 28
"""Larger files are hashed in chunks, in parallel."""
SETTLED_S = 2.0
"""Seconds after which another write changes a file's time, even on coarse file systems."""
CHECKSUMS = "checksums.json"
"""The file of a converted model with the checksums of the others."""
COMMIT = re.compile(r"[0-9a-f]{40}")

FileStates: TypeAlias = tuple[tuple[Path, tuple[int, int, int]], ...]
"""Files with inode, size and modification time."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A Hugging Face model with local files."""

    path: Path
    name: str
    """Name and fingerprint of the loaded model."""

    def settings(self, file: str) -> Mapping[str, Any]:
        """The fields of a JSON file; empty if it is missing or damaged, which loading reports."""
        return _fields(self.path / file)


def folder_of(spec: ModelSpec, options: Mapping[str, Any]) -> Folder | None:
    """The local files of a model whose identity follows from them and the options; None if only loading tells."""
    if options["dtype"] == "auto" or options["trust_remote_code"] or options.get("gguf"):
        return None
    path = user_path(spec.name)
    folder = path if path.is_dir() and spec.revision is None else None
    if spec.revision is not None and COMMIT.fullmatch(spec.revision):
        folder = snapshot(spec)
    config = {} if folder is None else _fields(folder / "config.json")
    if folder is None or not config or "quantization_config" in config:
        return None
    adapter = "" if options.get("adapter") is None else f"+{adapter_fingerprint(options['adapter'])}"
    name = f"{path.resolve().name}@{fingerprint(path)}" if folder == path else f"{spec.name}@{spec.revision:.12}"
    return Folder(folder, name + adapter)


def adapter_fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits of the files of an adapter."""
    if not folder.is_dir():
        raise ModelError(f"adapter={folder}: no such folder. Download an adapter from the Hugging Face Hub first")
    if not (folder / "adapter_config.json").is_file():
        raise ModelError(f"adapter={folder}: the folder has no adapter_config.json, so it is not an adapter of peft")
    return fingerprint(folder)


def fingerprint(folder: Path) -> str:
    """Twelve hexadecimal digits of everything in a folder that can change an output."""
    states = tuple(_file_states((folder,)).items())
    latest = max((modified for _, (_, _, modified) in states), default=0)
    # A recent file could change again without a new modification time.
    settled = time.time_ns() - latest > SETTLED_S * 1e9
    return _digested(folder, states) if settled else _digested.__wrapped__(folder, states)


@lru_cache(maxsize=64)
def _digested(folder: Path, states: FileStates) -> str:
    chunks = [(path, first) for path, (_, size, _) in states for first in range(0, max(size, 1), CHUNK_BYTES)]
    sums = dict.fromkeys((path for path, _ in states), b"")
    with ThreadPoolExecutor() as pool:  # hashing releases the lock of the interpreter
        for (path, _), chunk_digest in zip(chunks, pool.map(_chunk_digest, chunks), strict=True):
            sums[path] += chunk_digest
    digest = hashlib.sha256()
    for path, chunks_sum in sums.items():
        file_digest = chunks_sum if len(chunks_sum) == digest.digest_size else hashlib.sha256(chunks_sum).digest()
        digest.update(os.fsencode(path.relative_to(folder).as_posix()) + b"\0" + file_digest)
    return digest.hexdigest()[:12]


def _chunk_digest(chunk: tuple[Path, int]) -> bytes:
    path, first = chunk
    digest = hashlib.sha256()
    try:
        with timed("hash"), path.open("rb") as file:
            file.seek(first)
            remaining_bytes = CHUNK_BYTES
            while remaining_bytes and (data := file.read(min(remaining_bytes, 1 << 20))):
                digest.update(data)
                remaining_bytes -= len(data)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None
    return digest.digest()


def content(path: Path) -> str:
    """The SHA-256 of a file."""
    try:
        with timed("hash"), path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None


def files_within(folder: Path) -> list[Path]:
    """The files of a folder that can change an output, sorted."""
    files: list[Path] = []
    visited: set[Path] = set()
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        if (real := current.resolve()) in visited:  # a link that leads back
            continue
        visited.add(real)
        try:
            entries = list(current.iterdir())
        except OSError as error:
            raise ModelError(f"{current}: cannot be read: {error.strerror or error}") from None
        waiting += [path for path in entries if path.is_dir() and not path.name.startswith(IGNORED_FOLDERS)]
        files += [path for path in entries if path.is_file() and not path.name.startswith(IGNORED_FILES)]
        if len(files) > MAX_FILES or len(visited) > MAX_FILES:
            raise TooManyFiles(
                f"{folder}: more than {MAX_FILES:,} files, so it is not a model. Name the folder of the model itself"
            )
    return sorted(files, key=lambda path: path.relative_to(folder).parts)


class TooManyFiles(ModelError):
    """A folder with too many files for a model."""


@contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """Refuse a model whose files change while it is loaded: its fingerprint would be wrong."""
    before = _file_states(paths)
    yield
    for path, _ in before.items() ^ _file_states(paths).items():
        raise ModelError(
            f"{path}: it changed while the model was being loaded. Wait until it is complete, and run the command again"
        )


def _file_states(paths: tuple[Path, ...]) -> dict[Path, tuple[int, int, int]]:
    states = {}
    for file in (file for path in paths for file in (files_within(path) if path.is_dir() else [path])):
        with suppress(OSError):
            status = file.stat()
            states[file] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return states


def commit_of(spec: ModelSpec) -> str | None:
    """The commit of a cached model of the Hugging Face Hub; None if it is not cached."""
    folder = snapshot(spec)
    return folder.name if folder is not None and COMMIT.fullmatch(folder.name) else None


def snapshot(spec: ModelSpec) -> Path | None:
    """The cached snapshot of a model of the Hugging Face Hub; None if there is none."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ImportError:
        return None
    try:
        config = try_to_load_from_cache(spec.name, "config.json", revision=spec.revision)
    except HFValidationError:  # not a valid name on the Hugging Face Hub
        return None
    return Path(config).parent if isinstance(config, str) else None


def _fields(path: Path) -> Mapping[str, Any]:
    try:
        return read_object(path)
    except InputError:
        return {}


def conversions_folder() -> Path:
    """The folder of converted models."""
    from platformdirs import user_cache_path

    cache_path = os.environ.get("WUG_CACHE")
    folder = Path(cache_path).expanduser().parent if cache_path else user_cache_path("wug", appauthor=False)
    return folder / "converted"


def find_conversion(name: str) -> Path | None:
    """The folder of an existing conversion; None if there is none, or a damaged one."""
    folder = conversions_folder() / name
    return folder if _is_intact(folder) else None


def obtain_conversion(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of a conversion, made by `make` if there is none.

    It is made in a temporary folder and renamed when it is complete, so that other processes find all of it or nothing.
    The checksums of its files are stored with it: a damaged conversion is made again.
    """
    folder = conversions_folder() / name
    if _is_intact(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".converting-") as scratch:
            converted = Path(scratch, "model")
            make(converted)
            sums = {path.name: content(path) for path in sorted(converted.iterdir())}
            (converted / CHECKSUMS).write_text(json.dumps(sums), encoding="utf-8")
            if not _is_intact(folder):  # another process may have been faster
                if folder.exists():
                    folder.rename(Path(scratch, "damaged"))
                try:
                    converted.rename(folder)
                except OSError:
                    if not _is_intact(folder):
                        raise
    except OSError as error:
        raise ModelError(f"the converted model cannot be kept in {folder}: {error.strerror or error}") from None
    return folder


def _is_intact(folder: Path) -> bool:
    try:
        sums = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        return isinstance(sums, dict) and all(content(folder / name) == sums[name] for name in sums)
    except (OSError, ValueError, ModelError):
        return False
