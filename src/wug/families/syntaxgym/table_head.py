"""What stands above a suite's table: its name, its predictions and the rest of `meta`, a line each.

    # name: number_prep
    # prediction: (3;%match%) < (3;%mismatch%)

A table has rows for sentences alone, so what is said about all of them stands in lines that begin with `#`. A
spreadsheet may put such a line in quotes or fill it up with commas: it is read all the same.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wug.errors import suggestion
from wug.families.syntaxgym.faults import Faults
from wug.files import shortened

TEXTS = ("name", "author", "reference", "description", "comment")
LISTS = ("metric", "tags")
FIELDS = ("prediction", *TEXTS, *LISTS)
"""What a line of the head may begin with."""

_FIELD = re.compile(r"#\s*([^\W\d][\w-]*)\s*:(.*)\Z", re.DOTALL)


@dataclass(slots=True)
class Head:
    """What the lines above a table say."""

    meta: dict[str, Any] = field(default_factory=dict)
    predictions: list[str] = field(default_factory=list)
    lines: int = 0
    """Lines of the file that stand above the table, empty ones too."""


def read_head(text: str, faults: Faults) -> Head:
    """The head of a table's text; lines that begin with `#` and are no field are the author's own words."""
    head = Head()
    for line in text.removesuffix("\n").split("\n"):
        content = line.strip().removeprefix('"').lstrip()
        if content and not content.startswith("#"):
            break
        head.lines += 1
        if content and (found := _FIELD.match(_unquoted(line))):
            _take(head, found[1].lower(), found[2].strip(), faults)
    return head


def head_lines(meta: Mapping[str, Any], predictions: Sequence[str]) -> Iterator[str]:
    """The lines that say as much of a suite as a table can hold."""
    for key in (*TEXTS, *LISTS):
        value = meta.get(key)
        if key in LISTS and isinstance(value, list) and all(isinstance(one, str) for one in value):
            plain = all(
                one and one == one.strip() and one.isprintable() and not set(',;"[') & set(one) for one in value
            )
            yield f"# {key}: {', '.join(value)}" if plain and value else f"# {key}: {json.dumps(value)}"
        elif isinstance(value, str):
            yield f"# {key}: {_one_line(value)}"
    for formula in predictions:
        yield f"# prediction: {_one_line(formula)}"


def left_out(meta: Mapping[str, Any]) -> list[str]:
    """The fields of `meta` that `head_lines` cannot write."""
    written = {line[2:].partition(":")[0] for line in head_lines(meta, ())}
    return [key for key in meta if key not in written]


def write_head(out: io.StringIO, lines: Iterable[str], delimiter: str, end: str) -> None:
    """Write lines above a table, in quotes where a spreadsheet would take one apart."""
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerows([line] for line in lines)


def _take(head: Head, key: str, value: str, faults: Faults) -> None:
    place = f"line {head.lines}"
    if key not in FIELDS:
        meant = suggestion(key, FIELDS)
        if "mean" in meant:
            faults.error(place, f"{key!r} is nothing that can stand above a table.{meant}")
        else:
            fields = ", ".join(FIELDS)
            faults.warn(place, f"{shortened(key, 60)!r} is passed over: above a table may stand {fields}")
    elif key in head.meta:
        faults.error(place, f"{key} stands twice above the table")
    elif not value:
        faults.error(place, f"{key} is empty. Write something behind the colon, or take the line out")
    elif key == "prediction":
        head.predictions.append(_text(value))
    elif key in TEXTS:
        head.meta[key] = _text(value)
    else:
        names = _names(value)
        if names is None:
            faults.error(place, f"{key} must be names with commas between them, not {shortened(value, 60)!r}")
        else:
            head.meta[key] = names[0] if key == "metric" and len(names) == 1 else names


def _unquoted(line: str) -> str:
    """A line without what a spreadsheet put around it: quotes, and empty cells behind it."""
    line = line.strip()
    if line.startswith('"'):
        try:
            return next(csv.reader([line], strict=False), [""])[0].strip()
        except csv.Error:  # a field beyond what csv takes
            return line
    return re.sub(r"[,;\t\s]+\Z", "", line)


def _one_line(text: str) -> str:
    """A text that fits into a line and comes back as it was."""
    plain = text and text == text.strip() and text.isprintable() and not re.search(r'^"|[,;]\Z', text)
    return text if plain else json.dumps(text)


def _text(value: str) -> str:
    """What `_one_line` wrote."""
    if len(value) > 1 and value.startswith('"') and value.endswith('"'):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):  # somebody's own quotation marks
            return value
        return str(found)
    return value


def _names(value: str) -> list[str] | None:
    """The entries of a list, written with commas or as JSON; None where they cannot be told."""
    if not value.startswith("["):
        return [name for part in value.split(",") if (name := part.strip())] or None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None
