"""Suite files of the editor: finding, opening and saving them."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.evaluation.inline_suites import as_file
from wug.evaluation.opening import builtin_suites
from wug.files import head, read_bytes, write_text
from wug.web.editor.families import Document, default_editor, default_family
from wug.web.request_body import replace_surrogates

MAX_LISTED_SUITES = 500
"""Suites listed per folder."""
MAX_SCANNED_ENTRIES = 5000
"""Directory entries scanned per folder."""
MAX_SAFE_INTEGER = 2**53
"""Largest integer that JavaScript represents exactly."""


class SuiteFileExists(InputError):
    """There is another file of that name."""


def suffixes() -> tuple[str, ...]:
    """Suffixes of suite files, compressed or not."""
    plain = default_editor().SUFFIXES
    return (*plain, *(f"{suffix}.gz" for suffix in plain))


def editable_builtins() -> dict[str, Path]:
    """Built-in suites that can be edited, by name."""
    return {name: path for name, path in builtin_suites().items() if path.parent.name == default_family()}


def find_suites(folder: Path) -> list[str]:
    """Suite files in a folder and its subfolders, as relative paths."""
    found = []
    for path in _files(folder):
        if path.name.endswith(suffixes()) and default_editor().is_suite(path, head(path)):
            found.append(path.relative_to(folder).as_posix())
            if len(found) == MAX_LISTED_SUITES:
                break
    return sorted(found)


def open_suite(path: Path) -> tuple[Document, list[str]]:
    """The suite in a file, with any errors it has, and notes about changes."""
    document, notes = default_editor().open_file(path)
    try:
        return _browser_safe(document, notes), list(dict.fromkeys(notes))
    except RecursionError:
        raise InputError("nested too deeply to be a suite", file=path.name) from None


def open_pasted_table(text: str) -> tuple[Document, list[str]]:
    """The suite in a table from a spreadsheet, and notes about changes."""
    with as_file(text, "the table") as path:
        return default_editor().open_table(path)


def suite_file_name(document: Mapping[str, Any], suffix: str) -> str:
    """A file name made from the suite's name."""
    meta = document.get("meta")
    name = unicodedata.normalize("NFC", str(meta.get("name") or "") if isinstance(meta, Mapping) else "")
    return (re.sub(r"[^\w.+-]+", "_", name).strip("._")[:80] or "suite") + suffix


def safe_file_name(name: str) -> str:
    """A file name that any file system accepts; the suffix, which determines the format, stays."""
    suffix = next((one for one in sorted(suffixes(), key=len, reverse=True) if name.endswith(one)), "")
    return re.sub(r"[^\w.+ -]+", "_", name.removesuffix(suffix))[:50] + suffix


def save(document: Mapping[str, Any], path: Path, *, overwrite: bool, seen: str | None = None) -> str:
    """Write a suite to a file and return the digest of its content.

    Raises:
        SuiteFileExists: there is a file with other content, unless `overwrite` or its digest is the one `seen` when it
            was last saved, so that nobody else has written to it.
    """
    suffix, plain = path.suffix.lower(), default_editor().SUFFIXES
    if suffix not in plain:
        raise InputError(f"a suite is saved as {', '.join(plain[:-1])} or {plain[-1]}, not as {path.name!r}")
    text = default_editor().to_text(document, suffix)
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path)
    digest = _digest(text.encode())
    if overwrite or (seen is not None and path.is_file() and _digest(read_bytes(path)) == seen):
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
    left = MAX_SCANNED_ENTRIES
    folders = [(folder, 0)]
    while folders:
        here, depth = folders.pop(0)
        try:
            entries = sorted(here.iterdir())
        except OSError:  # no permission
            continue
        for path in entries:
            left -= 1
            if left < 0:
                return
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_file():
                yield path
            elif path.is_dir() and depth < 2:
                folders.append((path, depth + 1))


def _browser_safe(value: Any, notes: list[str]) -> Any:
    """The value as JavaScript can represent it; changes are added to `notes`."""
    if isinstance(value, str):
        replaced = replace_surrogates(value)
        if replaced != value:
            notes.append("Halves of characters were replaced by \ufffd: no file can hold them.")
        return replaced
    if isinstance(value, dict):
        return {_browser_safe(key, notes): _browser_safe(inner, notes) for key, inner in value.items()}
    if isinstance(value, list):
        return [_browser_safe(inner, notes) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        notes.append("Numbers that are not finite were replaced by null: JSON has no such numbers.")
        return None
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        shown = str(value) if abs(value) < 10**30 else f"{str(value)[:20]}…"
        raise InputError(f"the number {shown} is too large to be kept exactly in the browser")
    return value
