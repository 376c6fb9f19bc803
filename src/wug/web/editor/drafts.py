"""Unsaved suites on the server's disk, so that a crash of browser or server loses nothing.

Each draft is a file that is replaced atomically. Its revision counts the writes: a page that would overwrite a revision
it has not seen gets a conflict with the other version.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.files import read_text, write_text

_ID = re.compile(r"[a-z0-9]{8,32}\Z")


@dataclass(frozen=True, slots=True)
class Draft:
    """A suite as the editor has it, with any errors."""

    id: str
    revision: int
    """Number of writes."""
    changed: int
    """Time of the user's last change by the browser's clock, in milliseconds since 1970."""
    document: Mapping[str, Any]
    """The suite in its JSON form."""
    origin: str = ""
    """Where it was copied from, in words."""

    @property
    def name(self) -> str:
        """The suite's name; empty if it has none."""
        meta = self.document.get("meta")
        name = meta.get("name") if isinstance(meta, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def items(self) -> int:
        """Number of items."""
        items = self.document.get("items")
        return len(items) if isinstance(items, list) else 0


class DraftConflict(InputError):
    """The draft was changed elsewhere; `theirs` is its current version."""

    def __init__(self, theirs: Draft) -> None:
        self.theirs = theirs
        super().__init__("the suite was changed in another window in the meantime")


class DraftStore:
    """The drafts in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = threading.Lock()

    def list(self) -> list[Draft]:
        """All readable drafts, last changed first."""
        found = []
        for path in self.folder.glob("*.json") if self.folder.is_dir() else ():
            if _ID.match(path.stem):
                try:
                    found.append(_read(path))
                except InputError:  # damaged: not listed, and left where it is
                    continue
        return sorted(found, key=lambda draft: draft.changed, reverse=True)

    def find(self, id: str) -> Draft | None:
        """The draft with that id; None if there is none."""
        path = self._path(id)
        return _read(path) if path.is_file() else None

    def create(self, document: Mapping[str, Any], changed: int, origin: str = "", id: str | None = None) -> Draft:
        """Create a draft, with a random id if none is given."""
        return self._write(Draft(id or secrets.token_hex(6), 1, changed, document, origin))

    def update(self, id: str, document: Mapping[str, Any], changed: int, seen: int | None) -> Draft:
        """Write a new revision; DraftConflict if the current one is not the one that the page has seen.

        A deleted draft is created again: the page that still has it knows best. Without `seen` it is overwritten.
        """
        with self._writing:
            before = self.find(id)
            if before is None:
                return self._write(Draft(id, (seen or 0) + 1, changed, document))
            if before.document == document:
                return before
            if seen is not None and before.revision != seen:
                raise DraftConflict(before)
            return self._write(Draft(id, before.revision + 1, changed, document, before.origin))

    def delete(self, id: str) -> None:
        """Delete a draft."""
        self._path(id).unlink(missing_ok=True)

    def _path(self, id: str) -> Path:
        if not _ID.match(id):
            raise InputError(f"{id!r} is not the id of a draft")
        return self.folder / f"{id}.json"

    def _write(self, draft: Draft) -> Draft:
        fields = {key: getattr(draft, key) for key in ("revision", "changed", "origin", "document")}
        write_text(self._path(draft.id), json.dumps(fields), private=True)
        with contextlib.suppress(OSError):  # a folder that someone else made
            if stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
                self.folder.chmod(0o700)
        return draft


def _read(path: Path) -> Draft:
    try:
        fields = json.loads(read_text(path))
        document = fields["document"]
        if not isinstance(document, dict):
            raise TypeError("it holds no suite")
        return Draft(path.stem, int(fields["revision"]), int(fields["changed"]), document, str(fields["origin"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"this draft is damaged: {error}", file=path) from None
