"""The catalogue of published test sets, `catalogue.toml`, and the names of sets and their parts."""

from __future__ import annotations

import functools
import hashlib
import os.path
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.resources import files as resources
from pathlib import Path, PurePosixPath
from typing import Any

from wug.errors import UnknownName
from wug.formatting import plural


@dataclass(frozen=True, slots=True)
class File:
    """A file of a set."""

    path: str
    name: str
    """Its path in the set's folder: the path without the folders that all files share."""
    checksum: str
    size: int | None
    """Bytes; None if unknown."""

    def matches(self, path: Path) -> bool:
        """Whether another file has the same content."""
        return self.checksum_of(path) == self.checksum

    def checksum_of(self, path: Path) -> str:
        """The checksum of another file, by the same method."""
        with path.open("rb") as content:
            if not self.checksum.startswith(GIT):
                return hashlib.file_digest(content, "sha256").hexdigest()
            digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
            while piece := content.read(1 << 20):
                digest.update(piece)
            return GIT + digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Paper:
    """What to cite."""

    key: str
    short: str
    kind: str
    """article, inproceedings or misc, as in BibTeX."""
    fields: Mapping[str, str | int]

    def bibtex(self) -> str:
        """The BibTeX entry."""
        # A second pair of braces keeps the capitals of names such as BLiMP.
        values = {key: f"{{{value}}}" if key == "title" else value for key, value in self.fields.items()}
        lines = "".join(f"  {key} = {{{value}}},\n" for key, value in values.items())
        return f"@{self.kind}{{{self.key},\n{lines}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSet:
    """A published test set, at one commit of its repository."""

    __test__ = False  # pytest would collect the class by its name

    name: str
    title: str
    family: str
    """The family that runs it; `other` is for sets that wug does not run."""
    languages: tuple[str, ...]
    items: str
    licence: str | None = None
    """An SPDX expression; None if the authors name no licence."""
    terms: str | None = None
    papers: tuple[Paper, ...]
    repository: str
    commit: str
    note: str | None = None
    suite: tuple[str, ...] = ()
    """The parts that a run of the whole set uses; empty for all."""
    training: tuple[str, ...] = ()
    """Patterns of training files, which a run leaves out."""
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Names for groups of files, in addition to files and folders."""
    options: Mapping[str, str] = field(default_factory=dict)
    files: tuple[File, ...]
    hub: str | None = None
    """Its id on the Hugging Face Hub, if it has one."""
    plain_text: bool = True
    """Whether its items may be published as plain text."""
    groups: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """Parts and files by group field and value, where parts alone do not tell the groups of results."""

    def groups_of(self, file: File) -> dict[str, str]:
        """The groups of the results of a file: its paradigm, and the parts and groups that it belongs to."""

        def holding(groups: Mapping[str, Sequence[str]]) -> str | None:
            matches = (name for name, parts in groups.items() if any(file in self.select(part) for part in parts))
            return next(matches, None)

        term = holding(self.parts)
        groups = {"term": term, "paradigm": PurePosixPath(without_suffix(file.name)).name, "phenomenon": term}
        groups |= {name: value for name, values in self.groups.items() if (value := holding(values))}
        return {name: value for name, value in groups.items() if value}

    @property
    def restriction(self) -> str | None:
        """Why users must accept the licence before fetching; None if it is free to use."""
        if self.terms:
            return self.terms
        if self.licence is None:
            return "Its authors name no licence: you must find out whether you may use it."
        return "Its licence allows no commercial use." if "-NC-" in self.licence else None

    @property
    def citation(self) -> str:
        """The citation in one line."""
        return "; ".join(paper.short for paper in self.papers)

    def part_names(self) -> list[str]:
        """The names of all parts: groups, folders and files without suffixes."""
        folders = (str(folder) for file in self.files for folder in PurePosixPath(file.name).parents)
        return sorted({*self.parts, *(without_suffix(file.name) for file in self.files), *folders} - {"."})

    def select(self, part: str) -> tuple[File, ...]:
        """The files of a part: a group, a folder, a file with or without its suffix, or a pattern such as `*_1.csv`.

        A file may be named without its folders.
        """
        patterns = self.parts.get(part, (part,))
        files = [file for file in self.files if any(_belongs(file.name, pattern) for pattern in patterns)]
        return tuple(files or (file for file in self.files if _belongs(PurePosixPath(file.name).name, part)))


@dataclass(frozen=True, slots=True)
class SetSelection:
    """A set, or a part of it."""

    set: TestSet
    part: str
    files: tuple[File, ...]

    @property
    def name(self) -> str:
        """The name as users write it."""
        return f"{self.set.name}/{self.part}" if self.part else self.set.name

    @property
    def size(self) -> int:
        """Bytes, of the files whose size is known."""
        return sum(file.size or 0 for file in self.files)

    @property
    def extent(self) -> str:
        """The number of files and bytes, for people."""
        unknown = sum(file.size is None for file in self.files)
        rest = f" and {unknown} of unknown size" if unknown else ""
        return f"{plural(len(self.files), 'file')}, {megabytes(self.size)}{rest}"

    @property
    def paths(self) -> list[str]:
        """The only folder with exactly these files, or else the files, relative to the set's folder."""
        if len(self.files) > 1:
            folder = shared_folder([file.name for file in self.files])
            if sum(contains(folder, file.name) for file in self.set.files) == len(self.files):
                return [folder]
        return [file.name for file in self.files]

    def for_run(self) -> SetSelection:
        """What a run uses: the test data of a whole set."""
        if self.part or not self.set.suite:
            return self
        files = [file for part in self.set.suite for file in self.set.select(part)]
        return SetSelection(self.set, self.part, tuple(files))

    def without_training(self) -> SetSelection:
        """The selection without training data, unless it has nothing else."""
        tests = [file for file in self.files if not any(_belongs(file.name, pattern) for pattern in self.set.training)]
        return SetSelection(self.set, self.part, tuple(tests) or self.files)


GIT = "git:"
"""The prefix of checksums that are Git blob hashes; others are SHA-256."""


def names(family: str | None = None, language: str | None = None) -> list[str]:
    """The names of the sets of a family or a language, if given; `fr` includes `fr-CA`."""
    return [
        name
        for name, test_set in catalogue().items()
        if family in (None, test_set.family)
        and (
            language is None or any(code == language or code.startswith(f"{language}-") for code in test_set.languages)
        )
    ]


def find(name: str) -> SetSelection:
    """The set of a name such as `blimp`, or the part of one such as `blimp/anaphor_agreement`."""
    first, _, part = name.partition("/")
    sets = catalogue()
    if first not in sets:
        raise UnknownName("test set", name, sets)
    test_set = sets[first]
    files = test_set.select(part) if part else test_set.files
    if not files:
        raise UnknownName(f"part of {first}", part, test_set.part_names())
    return SetSelection(test_set, part, files)


def is_known(name: str) -> bool:
    """Whether a name is that of a set or a part of one."""
    try:
        find(name)
    except UnknownName:
        return False
    return True


def cite(name: str) -> str:
    """The BibTeX entries of a set, after a comment with its licence and version."""
    test_set = find(name).set
    licence = test_set.licence or "no licence named"
    about = f"% {test_set.title} ({test_set.name}): {licence}\n% {test_set.repository} at {test_set.commit}"
    return "\n\n".join([about, *(paper.bibtex() for paper in test_set.papers)])


def megabytes(size: int) -> str:
    """A number of bytes for people."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"


@functools.cache
def catalogue() -> Mapping[str, TestSet]:
    """Every set by its name, in alphabetical order."""
    content = tomllib.loads(_text())
    papers = {
        key: Paper(key, fields.pop("short"), fields.pop("type"), fields) for key, fields in content["papers"].items()
    }
    sets = {}
    for name, fields in sorted(content["sets"].items()):
        cited, files = tuple(papers[key] for key in fields.pop("cite")), tuple(_files(fields.pop("files")))
        rest: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
        }
        sets[name] = TestSet(name=name, papers=cited, files=files, **rest)
    return sets


def _text() -> str:
    return (resources("wug.data") / "catalogue.toml").read_text(encoding="utf-8")


def _files(text: str) -> Iterator[File]:
    rows = [line.split(" ", 2) for line in text.strip().splitlines()]
    folder = shared_folder([path for _, _, path in rows])
    for checksum, size, path in rows:
        name = path.removeprefix(f"{folder}/") if folder else path
        yield File(path, name, checksum, None if size == "-" else int(size))


def shared_folder(paths: Sequence[str]) -> str:
    """The deepest common folder of the files; empty for the root."""
    return os.path.commonpath([str(PurePosixPath("/", path).parent) for path in paths]).strip("/")


def contains(folder: str, name: str) -> bool:
    """Whether a name is a folder or in it; the empty name contains everything."""
    return not folder or name == folder or name.startswith(f"{folder}/")


def _belongs(name: str, part: str) -> bool:
    return without_suffix(name) == part or contains(part, name) or fnmatchcase(name, part)


def without_suffix(name: str) -> str:
    """A file's name without its suffix, or both suffixes of `.tar.gz` and the like."""
    return str(PurePosixPath(name.removesuffix(".gz")).with_suffix(""))
