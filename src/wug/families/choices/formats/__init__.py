"""The formats of choices, told apart by their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.families.choices.choice import Choice, Parsed
from wug.families.choices.formats import comps, entities, ewok, plain
from wug.families.choices.settings import Settings
from wug.families.tables import Record, columns_of, keys_of, need, read_table
from wug.files import head as head_of
from wug.files import require_text, shortened
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing choices down."""

    title: str
    columns: tuple[str, ...]
    """Those that a file of this format has."""
    parse: Callable[[Record, int, Settings, list[Problem]], Iterator[Choice]]
    """The items of a row, and what is wrong with it."""


FORMATS: Mapping[str, Format] = {
    "ewok": Format("EWoK", ewok.COLUMNS, ewok.parse),
    "comps": Format("COMPS", comps.COLUMNS, comps.parse),
    "entity-tracking": Format("entity tracking", entities.COLUMNS, entities.parse),
    "table": Format("a table with context, options and answer", ("context", "answer"), plain.parse),
}


def format_of(head: str) -> str | None:
    """The name of the format that a file is in, by its first line; None where it is in none of them."""
    columns = keys_of(head)
    for name, form in FORMATS.items():
        if columns.issuperset(form.columns) and (name != "table" or plain.option_columns(columns)):
            return name
    return None


def parse(path: Path, settings: Settings) -> Parsed:
    """The items of a file."""
    name = settings.format or _named(path, settings)
    if settings.item is not None and name != "table":
        raise InputError(f"item is for tables: the format {name} names its items itself", file=path)
    if settings.compare == "targets" and name != "ewok":
        raise InputError(f"compare=targets is for EWoK, and this is {name}", file=path)
    table = read_table(path)
    needed = FORMATS[name].columns if name != "table" else plain.needed(settings, table.header)
    problems = [*table.problems, *need(table.header, needed), *need(table.header, settings.groups)]
    if any(problem.place == "header" for problem in problems):
        return Parsed(name, [], problems)
    found = [
        choice
        for number, record in enumerate(table.records, 1)
        for choice in FORMATS[name].parse(record, number, settings, problems)
    ]
    return Parsed(name, found, problems)


def _named(path: Path, settings: Settings) -> str:
    if settings.options or settings.context != "context" or settings.answer != "answer":
        return "table"
    name = format_of(head_of(path))
    if name is None:
        require_text(path)
        if not path.exists():
            raise InputError("no such file", file=path)
        titles = ", ".join(form.title for form in FORMATS.values())
        columns = shortened(", ".join(columns_of(head_of(path))))
        remedy = f"Name its columns ({columns}): -S context=COLUMN -S options=COLUMN,COLUMN -S answer=COLUMN"
        raise InputError(f"this is none of the formats of choices ({titles}). {remedy}", file=path)
    return name
