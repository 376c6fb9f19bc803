"""Croissant 1.1: the metadata of a published set as JSON-LD."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from wug.data.catalogue import GIT, File, SetSelection, TestSet, find, without_suffix
from wug.data.folder import folder_of, missing
from wug.errors import DataError
from wug.files import ASSETS, head, read_object

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
TYPES = {
    ".jsonl": "application/jsonlines",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".csv": "text/csv",
    ".json": "application/json",
    ".zip": "application/zip",
    ".gz": "application/gzip",
}
TYPES_OF_VALUES = {bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}
HEADER_CELL = re.compile(r"[\w.:%()/#-]*(?: [\w.:%()/#-]+){0,3}")
"""Up to four words: tables whose first line has sentences have no header."""


def croissant(name: str) -> tuple[dict[str, Any], list[str]]:
    """The description of a set, and warnings about what it lacks.

    Raises:
        DataError: If a file is known by its Git hash only, and is not on this machine.
    """
    selection = find(name)
    test_set = selection.set
    warnings = []
    if test_set.licence is None:
        warnings.append("its authors name no licence: license is unknown")
    if absent := missing(selection):
        lacking = f"{len(absent)} of {len(selection.files)} files"
        warnings.append(f"recordSet lacks {lacking}. Fetch them first: wug data get {name}")
    author = test_set.papers[0].fields.get("author") if test_set.papers else None
    creators = (name.partition(",")[0].strip() for name in str(author or test_set.repository).split(" and "))
    years = [int(str(paper.fields["year"])) for paper in test_set.papers if "year" in paper.fields]
    document = {
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": selection.name,
        "description": f"{test_set.title} ({test_set.items})",
        "license": "unknown" if test_set.licence is None else _licence(test_set.licence),
        "url": f"https://{test_set.repository}",
        "version": f"1.0.0+{test_set.commit[:12]}",
        "creator": {"@type": "sc:Organization", "name": " and ".join(creators)},
        "datePublished": f"{min(years, default=1970)}-01-01",
        "citeAs": " ".join(paper.bibtex().replace("\n", " ") for paper in test_set.papers),
        "inLanguage": test_set.languages[0] if len(test_set.languages) == 1 else list(test_set.languages),
        **({"usageInfo": test_set.restriction} if test_set.restriction else {}),
        "distribution": [_file_object(test_set, file) for file in selection.files],
    }
    records = list(_record_sets(selection))
    return {**document, **({"recordSet": records} if records else {})}, warnings


def context() -> dict[str, Any]:
    """The context of the specification, unchanged: validators warn about any other."""
    return read_object(ASSETS / "schemas" / "croissant_context.json")


def _licence(licence: str) -> str | list[str]:
    urls = [f"https://spdx.org/licenses/{name}.html" for name in licence.replace(" OR ", " AND ").split(" AND ")]
    return urls[0] if len(urls) == 1 else urls


def _file_object(test_set: TestSet, file: File) -> dict[str, Any]:
    repository = test_set.repository.removeprefix("github.com/")
    local_file = folder_of(test_set) / file.name
    sha256, size = file.checksum, file.size
    if file.checksum.startswith(GIT):
        if not local_file.is_file() or file.checksum_of(local_file) != file.checksum:
            raise DataError(f"{file.path}: only its Git hash is known. Fetch it first: wug data get {test_set.name}")
        sha256, size = File(file.path, file.name, "", None).checksum_of(local_file), local_file.stat().st_size
    return {
        "@type": "cr:FileObject",
        "@id": _id(file.path),
        "name": PurePosixPath(file.path).name,
        "contentUrl": f"https://raw.githubusercontent.com/{repository}/{test_set.commit}/{quote(file.path)}",
        **({} if size is None else {"contentSize": f"{size} B"}),
        "encodingFormat": TYPES.get(PurePosixPath(file.path).suffix.lower(), "text/plain"),
        "sha256": sha256,
    }


def _id(name: str) -> str:
    """A name as mlcroissant accepts it in identifiers: without white space."""
    return re.sub(r"\s", "_", name)


def _record_sets(selection: SetSelection) -> Iterator[dict[str, Any]]:
    absent = set(missing(selection))
    stems = Counter(without_suffix(file.name) for file in selection.files)
    for file in selection.files:
        columns = {} if file in absent else _columns(head(folder_of(selection.set) / file.name), file.name)
        if columns:
            name = without_suffix(file.name) if stems[without_suffix(file.name)] == 1 else file.name.replace(".", "_")
            fields = [
                {
                    "@type": "cr:Field",
                    "@id": _id(f"{name}/{column}"),
                    "name": column,
                    "dataType": kind,
                    "source": {"fileObject": {"@id": _id(file.path)}, "extract": {"column": column}},
                }
                for column, kind in columns.items()
            ]
            yield {"@type": "cr:RecordSet", "@id": _id(name), "name": name, "field": fields}


def _columns(start: str, name: str) -> dict[str, str]:
    suffix = PurePosixPath(name).suffix.lower()
    lines = start.removesuffix("\n").replace("\r\n", "\n").split("\n")
    if len(lines) < 2:
        return {}
    if suffix == ".jsonl":
        try:
            row = json.loads(lines[0])
        except ValueError:
            return {}
        values = row if isinstance(row, dict) else {}
        return {name: TYPES_OF_VALUES.get(type(value), "sc:Text") for name, value in values.items()}
    if suffix in (".csv", ".tsv"):
        first, second = csv.reader(lines[:2], delimiter="\t" if suffix == ".tsv" else ",")
        if not all(HEADER_CELL.fullmatch(cell) for cell in first):
            return {}
        return {name: _type_of_text(text) for name, text in zip_longest(first, second[: len(first)]) if name}
    return {}


def _type_of_text(text: str | None) -> str:
    for kind in (int, float):
        with suppress(ValueError):
            return TYPES_OF_VALUES[type(kind(text or ""))]
    return "sc:Text"
