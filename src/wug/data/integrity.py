"""Fetched files are checked before they are read: by size and times, by content if these changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from wug.errors import InputError
from wug.files import write_text


class Checked:
    """Remembers in a file beside a folder which of its files were found right, by their sizes and times."""

    def __init__(self, folder: Path) -> None:
        self._file = folder.with_name(f"{folder.name}.checked.json")
        self._folder = folder
        self._known = self._read()
        self._new = False

    def confirms(self, path: Path, compare: Callable[[], bool]) -> bool:
        """Whether a file, or a folder with all its files, is right; `compare` tells if it is new or was written to."""
        name, state = path.relative_to(self._folder).as_posix(), _state(path)
        if self._known.get(name) == state:
            return True
        if not compare():
            return False
        self._known[name], self._new = state, True
        return True

    def keep(self) -> None:
        """Write down what was found."""
        if self._new:
            with suppress(InputError):  # where nothing can be written, files are compared each time
                write_text(self._file, json.dumps(self._known, indent=0))

    def _read(self) -> dict[str, str]:
        try:
            known = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}


def _state(path: Path) -> str:
    """A digest of the names, sizes and times of a file, or of all files in a folder."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    states = [(str(each), each.stat()) for each in files]
    listed = [[name, found.st_size, found.st_mtime_ns, found.st_ctime_ns] for name, found in states]
    return hashlib.sha256(json.dumps(listed).encode("utf-8", "surrogatepass")).hexdigest()[:16]
