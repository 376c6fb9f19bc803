"""A cache of converted models, next to the answer cache.

A conversion is made in a temporary folder and renamed when it is complete, so that another process finds all of it or
nothing. The checksums of its files are stored with it: a damaged conversion is made again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from wug.errors import ModelError
from wug.models._fingerprint import content

CHECKSUMS = "checksums.json"


def home() -> Path:
    """The folder of converted models."""
    from platformdirs import user_cache_path

    answers = os.environ.get("WUG_CACHE")
    return (Path(answers).expanduser().parent if answers else user_cache_path("wug", appauthor=False)) / "converted"


def find(name: str) -> Path | None:
    """The folder of an existing conversion; None if there is none, or a damaged one."""
    folder = home() / name
    return folder if _is_intact(folder) else None


def obtain(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of a conversion, made by `make` if there is none."""
    folder = home() / name
    if _is_intact(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".converting-") as scratch:
            made = Path(scratch, "model")
            make(made)
            sums = {path.name: content(path) for path in sorted(made.iterdir())}
            (made / CHECKSUMS).write_text(json.dumps(sums), encoding="utf-8")
            if not _is_intact(folder):  # another process may have been faster
                if folder.exists():
                    folder.rename(Path(scratch, "damaged"))
                _publish(made, folder)
    except OSError as error:
        raise ModelError(f"the converted model cannot be kept in {folder}: {error.strerror or error}") from None
    return folder


def _publish(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not _is_intact(folder):
            raise


def _is_intact(folder: Path) -> bool:
    try:
        sums = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        return isinstance(sums, dict) and all(content(folder / name) == known for name, known in sums.items())
    except (OSError, ValueError, ModelError):
        return False
