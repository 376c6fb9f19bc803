"""The suite editor: families whose suites can be edited, suite files, and drafts on the server's disk.

A draft is a file that is replaced atomically, so that a crash of browser or server loses nothing. Its revision counts
the writes: a page that would overwrite a revision it has not seen gets a conflict with the other version.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import re
import secrets
import stat
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from wug import registry
from wug.errors import InputError
from wug.evaluation.suites import builtin_suites
from wug.files import head, read_bytes, read_text, write_text
from wug.outcomes import Result
from wug.rows import OutcomeRow, Rows
from wug.views.parts import ItemView
from wug.web.request_body import replace_surrogates

Document: TypeAlias = dict[str, Any]
"""A suite in its JSON form: `meta` with its name, `items`, and what else the family needs."""
MAX_LISTED_SUITES = 500
"""Suites listed per folder."""
MAX_SCANNED_ENTRIES = 5000
"""Directory entries scanned per folder."""
MAX_SAFE_INTEGER = 2**53
"""Largest integer that JavaScript represents exactly."""
_ID = re.compile(r"[a-z0-9]{8,32}\Z")


class SuiteEditor(Protocol):
    """What the module `editor` of a family offers."""

    SUFFIXES: tuple[str, ...]
    """Suffixes of suite files, such as `.json`."""
    REGION_METRICS: Mapping[str, object]
    """Metrics of a suite, by name."""
    FIELDS: Sequence[tuple[str, str, str]]
    """Fields of `meta` that the editor shows: key, label, hint."""
    DESIGNS: Mapping[str, Document]
    """Suites to begin with, by name."""

    def is_document(self, document: object) -> bool:
        """Whether a JSON value has the keys of a suite."""

    def is_suite(self, path: Path, head: str) -> bool:
        """Whether a file is probably a suite, from its name and its first characters."""

    def open_file(self, path: Path) -> tuple[Document, list[str]]:
        """The suite in a file, with any errors it has, and notes about changes; InputError if it is not a suite."""

    def open_table(self, path: Path) -> tuple[Document, list[str]]:
        """The suite in a table, and notes about changes; InputError if it is not a suite."""

    def suite_of_item(self, result: Result, judgements: Sequence[OutcomeRow], item: ItemView) -> Document | None:
        """A suite of one item, of any family; None if its sentences are unknown."""

    def to_text(self, document: Mapping[str, Any], suffix: str) -> str:
        """A suite as the text of a file; InputError if it cannot be written."""

    def check(self, document: Mapping[str, Any], formulas: Sequence[str]) -> dict[str, Any]:
        """Check a suite: `predictions`, one entry per formula, and `problems`, as JSON data."""

    def scores(self, result: Result, rows: Rows) -> dict[str, Any]:
        """The scores of a suite as JSON data."""


class SuiteFileExists(InputError):
    """There is another file of that name."""


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
        drafts = []
        for path in self.folder.glob("*.json") if self.folder.is_dir() else ():
            if _ID.match(path.stem):
                try:
                    drafts.append(_read_draft(path))
                except InputError:  # damaged: not listed, and left where it is
                    continue
        return sorted(drafts, key=lambda draft: draft.changed, reverse=True)

    def find(self, id: str) -> Draft | None:
        """The draft with that id; None if there is none."""
        path = self._path(id)
        return _read_draft(path) if path.is_file() else None

    def create(self, document: Mapping[str, Any], changed: int, origin: str = "") -> Draft:
        """Create a draft with a random id."""
        return self._write(Draft(secrets.token_hex(6), 1, changed, document, origin))

    def update(self, id: str, document: Mapping[str, Any], changed: int, seen_revision: int | None) -> Draft:
        """Write a new revision; DraftConflict if the current one is not the one that the page has seen.

        A deleted draft is created again: the page that still has it knows best. Without `seen_revision`, the draft is
        overwritten.
        """
        with self._writing:
            stored = self.find(id)
            if stored is None:
                return self._write(Draft(id, (seen_revision or 0) + 1, changed, document))
            if stored.document == document:
                return stored
            if seen_revision is not None and stored.revision != seen_revision:
                raise DraftConflict(stored)
            return self._write(Draft(id, stored.revision + 1, changed, document, stored.origin))

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


@functools.cache
def suite_editors() -> dict[str, SuiteEditor]:
    """The editors by family."""
    modules = ((family.name, family.submodule("editor")) for family in registry.families())
    return {name: cast(SuiteEditor, editor) for name, editor in modules if editor is not None}


def editable_builtins() -> dict[str, Path]:
    """Built-in suites that can be edited, by name: those of the first family that has an editor."""
    suites = {name: path for name, path in builtin_suites().items() if path.parent.name in suite_editors()}
    first_family = next(iter(suites.values())).parent
    return {name: path for name, path in suites.items() if path.parent == first_family}


def default_editor() -> SuiteEditor:
    """The editor for new suites and opened files: that of the built-in suites that can be edited."""
    return suite_editors()[next(iter(editable_builtins().values())).parent.name]


def suite_suffixes() -> tuple[str, ...]:
    """Suffixes of suite files, compressed or not."""
    suffixes = default_editor().SUFFIXES
    return (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))


def find_suites(folder: Path) -> list[str]:
    """Suite files in a folder and its subfolders, as relative paths."""
    files = (path for path in _files(folder) if path.name.endswith(suite_suffixes()))
    suites = (path for path in files if default_editor().is_suite(path, head(path)))
    return sorted(path.relative_to(folder).as_posix() for path in islice(suites, MAX_LISTED_SUITES))


def open_suite(path: Path) -> tuple[Document, list[str]]:
    """The suite in a file, with any errors it has, and notes about changes."""
    document, notes = default_editor().open_file(path)
    try:
        return _browser_safe(document, notes), list(dict.fromkeys(notes))
    except RecursionError:
        raise InputError("nested too deeply to be a suite", file=path.name) from None


def suite_file_name(document: Mapping[str, Any], suffix: str) -> str:
    """A file name made from the suite's name."""
    meta = document.get("meta")
    name = unicodedata.normalize("NFC", str(meta.get("name") or "") if isinstance(meta, Mapping) else "")
    return (re.sub(r"[^\w.+-]+", "_", name).strip("._")[:80] or "suite") + suffix


def safe_file_name(name: str) -> str:
    """A file name that any file system accepts; the suffix, which determines the format, stays."""
    suffix = next((ending for ending in sorted(suite_suffixes(), key=len, reverse=True) if name.endswith(ending)), "")
    return re.sub(r"[^\w.+ -]+", "_", name.removesuffix(suffix))[:50] + suffix


def save_suite(document: Mapping[str, Any], path: Path, *, overwrite: bool, seen_digest: str | None = None) -> str:
    """Write a suite to a file and return the digest of its content.

    Raises:
        SuiteFileExists: there is a file with other content, unless `overwrite` or its digest is `seen_digest`, that of
            the content that was last saved: then nobody else has written to it.
    """
    suffix, suffixes = path.suffix.lower(), default_editor().SUFFIXES
    if suffix not in suffixes:
        raise InputError(f"a suite is saved as {', '.join(suffixes[:-1])} or {suffixes[-1]}, not as {path.name!r}")
    text = default_editor().to_text(document, suffix)
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path)
    digest = _digest(text.encode())
    if overwrite or (seen_digest is not None and path.is_file() and _digest(read_bytes(path)) == seen_digest):
        write_text(path, text)
        return digest
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)  # reserves the name
    except FileExistsError:
        if read_bytes(path) == text.encode():
            return digest
        raise SuiteFileExists("there is a file of this name already", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
    try:
        write_text(path, text)
    except BaseException:
        path.unlink(missing_ok=True)  # the empty file from above
        raise
    return digest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    """Files in a folder and two levels of subfolders, without hidden ones and symbolic links."""
    count, level = 0, [folder]
    for _ in range(3):
        folders: list[Path] = []
        for directory in level:
            with contextlib.suppress(OSError):  # no permission
                for path in sorted(directory.iterdir()):
                    count += 1
                    if count > MAX_SCANNED_ENTRIES:
                        return
                    if path.name.startswith(".") or path.is_symlink():
                        continue
                    if path.is_file():
                        yield path
                    elif path.is_dir():
                        folders.append(path)
        level = folders


def _browser_safe(value: Any, notes: list[str]) -> Any:
    """The value as JavaScript can represent it; changes are added to `notes`."""
    if isinstance(value, str):
        safe_text = replace_surrogates(value)
        if safe_text != value:
            notes.append("Halves of characters were replaced by \ufffd: no file can hold them.")
        return safe_text
    if isinstance(value, dict):
        return {_browser_safe(key, notes): _browser_safe(entry, notes) for key, entry in value.items()}
    if isinstance(value, list):
        return [_browser_safe(entry, notes) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        notes.append("Numbers that are not finite were replaced by null: JSON has no such numbers.")
        return None
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        digits = str(value) if abs(value) < 10**30 else f"{str(value)[:20]}…"
        raise InputError(f"the number {digits} is too large to be kept exactly in the browser")
    return value


def _read_draft(path: Path) -> Draft:
    try:
        record = json.loads(read_text(path))
        document = record["document"]
        if not isinstance(document, dict):
            raise TypeError("it holds no suite")
        return Draft(path.stem, int(record["revision"]), int(record["changed"]), document, str(record["origin"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"this draft is damaged: {error}", file=path) from None
