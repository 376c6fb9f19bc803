"""The contents of a folder: which files each family reads, and why the others are not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wug import registry
from wug.data import DataLocation
from wug.errors import InputError
from wug.files import head, require_text, shortened
from wug.interfaces import Family
from wug.options import names
from wug.record_tables import columns_of, stem, suffix_of

DATA_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".tab", ".txt", ".src", ".gz")
"""Suffixes of files with test data."""
TABLE_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl")
MAX_FILES = 2000
EMPTY_FILE = "the file is empty"
UNKNOWN_FORMAT = "not in a format that wug reads"


@dataclass(slots=True)
class ResolvedSuites:
    """The files and folders that a name of suites refers to."""

    locations: list[DataLocation] = field(default_factory=list)
    """Files, and folders that a family reads as a whole."""
    unread: dict[Path, str] = field(default_factory=dict)
    """Files of a folder that look like test data but are not read, with the reason."""
    ignored: dict[Path, str] = field(default_factory=dict)
    """Other files of the folder (hidden, documents, other splits), with the reason."""


def contents(place: DataLocation, family: str | None, options: Mapping[str, str]) -> ResolvedSuites:
    """The files of a folder and its subfolders, with their families; InputError if nothing can be read."""
    folder = place.path
    if sum(1 for _, _ in zip(folder.rglob("*"), range(MAX_FILES + 1), strict=False)) > MAX_FILES:
        raise InputError(f"it has more than {MAX_FILES:,} files. Name a folder with fewer", file=folder)
    scan = _Scan(place, [registry.family(family)] if family else registry.families(), options)
    scan.folder(folder)
    scanned = scan.contents()
    if not scanned.locations:
        reasons = [f"{file.relative_to(folder)}: {why}" for file, why in {**scanned.unread, **scanned.ignored}.items()]
        more = [f"and {len(reasons) - 10} more"] if len(reasons) > 10 else []
        listed = "".join(f"\n  {line}" for line in reasons[:10] + more)
        if any(why == UNKNOWN_FORMAT for why in scanned.unread.values()):
            listed += "".join(f"\n{hint}" for hint in _hints("text_hint"))
        what = f"no file in this folder can be read as test data{listed}" if reasons else "the folder is empty"
        raise InputError(what, file=folder)
    return scanned


def unread_reason(path: Path) -> str:
    """Why no family recognises a file."""
    if path.is_file() and path.stat().st_size == 0:
        return EMPTY_FILE
    try:
        require_text(path)
    except InputError as error:
        return error.message
    columns = columns_of(head(path)) if path.name.lower().removesuffix(".gz").endswith(TABLE_SUFFIXES) else ()
    if columns:
        return f"no known format has these columns: {shortened(', '.join(columns))}"
    return UNKNOWN_FORMAT


def not_recognised(path: Path) -> InputError:
    """The error for a file that no family recognises, with what to do about it."""
    require_text(path)
    why = unread_reason(path)
    if path.suffix.lower() in (".yaml", ".yml"):
        why = 'YAML, which wug does not read. A sweep file is TOML: models = ["causal:gpt2"] and suites = ["blimp"]'
    elif "columns" in why:
        why += f". Name them: {', or '.join(sorted(_hints('column_hint'), key=len))}"
    elif why != EMPTY_FILE:
        hints = "".join(f". {hint}" for hint in _hints("text_hint"))
        why += f" ({', '.join(registry.names('families'))}){hints}"
    return InputError(why, file=path)


class _Scan:
    """A walk through a folder."""

    def __init__(self, place: DataLocation, families: Sequence[Family], options: Mapping[str, str]) -> None:
        self._place, self._families, self._options = place, families, options
        self._contents = ResolvedSuites()
        self._known: set[Path] = set()
        self._companions: dict[Path, Family] = {}
        """Files that a family recognises although their suffixes are not those of test data."""

    def folder(self, folder: Path) -> None:
        """Scan what families read as a whole, then every other file, then subfolders."""
        for family in self._families:
            files = _files_in(family, folder, self._options)
            new = {file: why for file, why in files.items() if file not in self._known}
            if "" in new.values():
                self._read(folder, family)
            self._contents.ignored.update((file, why) for file, why in new.items() if why)
            self._known |= new.keys()
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            self._contents.unread[folder] = f"cannot be read: {error.strerror}"
            return
        for path in paths:
            if path in self._known:
                continue
            if path.name.startswith((".", "__")):
                self._contents.ignored[path] = "hidden"
            elif not path.is_dir():
                self._file(path)
            elif path.is_symlink():
                self._contents.ignored[path] = "a link to a folder"
            else:
                self.folder(path)

    def _read(self, path: Path, family: Family) -> None:
        self._contents.locations.append(replace(self._place, path=path, family=family.name))

    def _file(self, path: Path) -> None:
        start = head(path)
        family = next((family for family in self._families if family.recognises(path, start)), None)
        # A compressed file may have the suffix before `.gz`, or none.
        if suffix_of(path) in DATA_SUFFIXES or (path.suffix == ".gz" and not suffix_of(path)):
            if family is None:
                why = unread_reason(path)
                chosen = len(self._families) == 1 and why != EMPTY_FILE
                self._contents.unread[path] = f"not recognised as {self._families[0].name}" if chosen else why
            else:
                self._read(path, family)
        elif family is not None:
            self._companions[path] = family
        else:
            self._contents.ignored[path] = "not a file of test data, by its name"

    def contents(self) -> ResolvedSuites:
        """The contents; a file such as `a.tgt` is read with `a.src`."""
        read = {(place.path.parent, stem(place.path)) for place in self._contents.locations}
        # Whether the other files of this name are read with it.
        leads = {file: suffix_of(file) == family.TRAITS.leading_suffix for file, family in self._companions.items()}
        for file in sorted(leads, key=lambda file: not leads[file]):
            if (file.parent, stem(file)) in read:
                continue
            if leads[file]:
                self._read(file, self._companions[file])
                read.add((file.parent, stem(file)))
            else:
                self._contents.unread[file] = "name the file itself to read it"
        return self._contents


def _files_in(family: Family, folder: Path, options: Mapping[str, str]) -> Mapping[Path, str]:
    """The files of a folder that a family knows: "" for those that it reads, the reason for others."""
    if family.files_in is None:  # a family that takes a folder as a whole, or none at all
        return dict.fromkeys(folder.rglob("*"), "") if family.recognises(folder, "") else {}
    own = {name: value for name, value in options.items() if name in names(family.OPTIONS)}
    return family.files_in(folder, own)


def _hints(name: str) -> list[str]:
    """What families suggest for files that they do not read."""
    return [hint for family in registry.families() if (hint := getattr(family.TRAITS, name))]
