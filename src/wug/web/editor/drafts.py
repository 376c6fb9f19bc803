"""Suites in the making, kept on the server's disk so that a crash of browser or server loses nothing.

A draft is a file of its own, written whole or not at all. Its revision counts the writes: a page that writes
over a revision it has not seen is told so, and gets the other version to choose from.
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
    """A suite as the editor has it, faults and all."""

    id: str
    revision: int
    """How often it was written."""
    changed: int
    """When the user last changed it, by the browser's clock, in milliseconds since 1970."""
    document: Mapping[str, Any]
    """The suite in its JSON form."""
    origin: str = ""
    """Where it was taken from, in words."""

    @property
    def name(self) -> str:
        """The suite's name, empty where it has none yet."""
        meta = self.document.get("meta")
        name = meta.get("name") if isinstance(meta, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def items(self) -> int:
        """How many items it has."""
        items = self.document.get("items")
        return len(items) if isinstance(items, list) else 0


class Conflict(InputError):
    """The draft was changed elsewhere in the meantime; `theirs` is what it is now."""

    def __init__(self, theirs: Draft) -> None:
        self.theirs = theirs
        super().__init__("the suite was changed in another window in the meantime")


class Drafts:
    """The drafts in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writing = threading.Lock()

    def all(self) -> list[Draft]:
        """Every draft that can be read, the last changed first."""
        found = []
        for path in self.folder.glob("*.json") if self.folder.is_dir() else ():
            if _ID.match(path.stem):
                try:
                    found.append(_read(path))
                except InputError:  # damaged by hand: it is no use to list it, and it stays where it is
                    continue
        return sorted(found, key=lambda draft: draft.changed, reverse=True)

    def find(self, id: str) -> Draft | None:
        """The draft of that id; None where there is none."""
        path = self._path(id)
        return _read(path) if path.is_file() else None

    def new(self, document: Mapping[str, Any], changed: int, origin: str = "", id: str | None = None) -> Draft:
        """A draft made of a suite, with an id of its own where none is given."""
        return self._write(Draft(id or secrets.token_hex(6), 1, changed, document, origin))

    def keep(self, id: str, document: Mapping[str, Any], changed: int, seen: int | None) -> Draft:
        """The draft with what the page has now; Conflict where its revision is not the one the page has seen.

        A draft that is gone is made again: the page that still has it knows best. Without `seen` it is written
        whatever there is.
        """
        with self._writing:
            before = self.find(id)
            if before is None:
                return self._write(Draft(id, (seen or 0) + 1, changed, document))
            if before.document == document:
                return before
            if seen is not None and before.revision != seen:
                raise Conflict(before)
            return self._write(Draft(id, before.revision + 1, changed, document, before.origin))

    def remove(self, id: str) -> None:
        """Throw a draft away."""
        self._path(id).unlink(missing_ok=True)

    def _path(self, id: str) -> Path:
        if not _ID.match(id):
            raise InputError(f"{id!r} is not the id of a draft")
        return self.folder / f"{id}.json"

    def _write(self, draft: Draft) -> Draft:
        fields = {key: getattr(draft, key) for key in ("revision", "changed", "origin", "document")}
        path = self._path(draft.id)
        write_text(path, json.dumps(fields), private=True)
        self._close_to_others()
        return draft

    def _close_to_others(self) -> None:
        """Close the folder to others, where an earlier version left it open."""
        with contextlib.suppress(OSError):  # a folder that someone else made
            if stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
                self.folder.chmod(0o700)


def _read(path: Path) -> Draft:
    try:
        fields = json.loads(read_text(path))
        document = fields["document"]
        if not isinstance(document, dict):
            raise TypeError("no suite in it")
        return Draft(path.stem, int(fields["revision"]), int(fields["changed"]), document, str(fields["origin"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"this draft is damaged: {error}", file=path) from None
