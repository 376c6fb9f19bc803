"""Suites given in memory: a dictionary, a data frame, or the text of a file."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.evaluation.suites import open_suites
from wug.files import existing
from wug.interfaces import Suite
from wug.tables import is_missing


@contextmanager
def as_file(source: str | Mapping[str, Any] | Sequence[Mapping[str, Any]], name: str = "suite") -> Iterator[Path]:
    """A suite as a temporary file; errors contain `name` instead of its path, and rows of a data frame as rows."""
    content, ending = (source, _ending(source)) if isinstance(source, str) else _written(source)
    name = name if name.endswith(ending) else f"{name}{ending}"
    in_memory = not isinstance(source, str)
    shown = name.removesuffix(ending) if in_memory else name
    with tempfile.TemporaryDirectory(prefix="wug-") as folder:
        path = Path(folder) / name
        path.write_text(content, encoding="utf-8")
        try:
            yield path
        except InputError as error:
            text = str(error).replace(str(path), shown)
            error.args = (re.sub(r"\bline (?=\d)", "row ", text) if in_memory else text,)
            error.file = shown if error.file == str(path) else error.file
            raise


def read_suite(
    source: str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    options: Mapping[str, str] | None = None,
    *,
    name: str = "suite",
    family: str | None = None,
) -> Suite:
    """The suite in a dictionary, a list of dictionaries (one row per pair), a file, or the text of a file.

    `name` is the name of a suite that does not contain one.
    """
    if isinstance(source, Suite):
        raise InputError(f"{source.name} is already a suite")
    if not name.strip() or "/" in name or "\0" in name:
        raise InputError(f"name={name!r}: write a valid file name, without /")
    if isinstance(source, Path) or (isinstance(source, str) and (not _is_content(source) or existing(source))):
        return _require_one(open_suites(str(source), options, family), str(source))
    with as_file(source, name) as path:
        return _require_one(open_suites(str(path), options, family), path.name)


def _require_one(suites: Sequence[Suite], source: str) -> Suite:
    if len(suites) != 1:
        raise InputError(f"contains {len(suites)} suites: use wug.open_suites", file=source)
    return suites[0]


def _is_content(text: str) -> bool:
    """Whether a text is the content of a suite, not a name."""
    return "\n" in text.strip() or text.lstrip().startswith(("{", "["))


def _ending(text: str) -> str:
    """The suffix for a file with this text, by which a family recognises it."""
    first = text.lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return ".tsv" if "\t" in first else ".csv"
    try:
        json.loads(first)
    except ValueError:
        return ".json"
    return ".json" if "\n" not in text.strip() and '"items"' in first else ".jsonl"


def _written(source: Any) -> tuple[str, str]:
    """A dictionary, a list of dictionaries or a data frame as the text of a file, and its suffix."""
    if hasattr(source, "to_dicts"):  # Polars, and tables of wug
        source = source.to_dicts()
    elif hasattr(source, "iterrows"):  # pandas
        source = source.to_dict("records")
    if isinstance(source, list) and all(isinstance(row, Mapping) for row in source):
        source = [{name: None if is_missing(value) else value for name, value in row.items()} for row in source]
    try:
        if isinstance(source, Mapping):
            return json.dumps(dict(source), indent=1), ".json"
        if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
            return "".join(json.dumps(dict(row)) + "\n" for row in source), ".jsonl"
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the suite is not JSON-serializable: {error}") from None
    raise InputError(
        f"{type(source).__name__} is not a suite. Give a dictionary, a list of them, a data frame, a path, or text"
    )
