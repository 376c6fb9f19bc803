"""Models in another format, made once and kept beside the answer cache.

A conversion is made in a folder of its own and renamed when it is complete, so that another process finds either
all of it or nothing. The checksums of its files are kept with it: one that was damaged since is made anew.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from wug.errors import ModelError
from wug.models._fingerprint import content

SEAL = "checksums.json"


def home() -> Path:
    """The folder of converted models."""
    from platformdirs import user_cache_path

    answers = os.environ.get("WUG_CACHE")
    return (Path(answers).expanduser().parent if answers else user_cache_path("wug", appauthor=False)) / "converted"


def find(name: str) -> Path | None:
    """The folder of a conversion that was made before; None where there is none, or a damaged one."""
    folder = home() / name
    return folder if _is_whole(folder) else None


def obtain(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of a conversion, made now, by `make`, where it was not before."""
    folder = home() / name
    if _is_whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".converting-") as scratch:
            made = Path(scratch, "model")
            make(made)
            sums = {path.name: content(path) for path in sorted(made.iterdir())}
            (made / SEAL).write_text(json.dumps(sums), encoding="utf-8")
            if not _is_whole(folder):  # another process may have been faster
                if folder.exists():
                    folder.rename(Path(scratch, "damaged"))
                _settle(made, folder)
    except OSError as error:
        raise ModelError(f"the converted model cannot be kept in {folder}: {error.strerror or error}") from None
    return folder


def _settle(made: Path, folder: Path) -> None:
    try:
        made.rename(folder)
    except OSError:
        if not _is_whole(folder):
            raise


def _is_whole(folder: Path) -> bool:
    try:
        sums = json.loads((folder / SEAL).read_text(encoding="utf-8"))
        return isinstance(sums, dict) and all(content(folder / name) == known for name, known in sums.items())
    except (OSError, ValueError, ModelError):
        return False
