"""Reads tables whose columns the user names: items, groups, numbers, and rows to leave out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from wug.errors import InputError
from wug.files import shortened
from wug.formatting import plural
from wug.options import Option
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import Record, RecordTable, as_number, missing_columns, plain

Key = TypeVar("Key", bound=Hashable)
COLUMN_OPTIONS = (
    Option("item", str, (), "columns that name an item; by default `item`, or the row", many=True),
    Option("groups", str, (), "columns to break results down by", many=True),
    Option("exclude", str, (), "rows to leave out, such as phenomenon=attention check", many=True),
)
_RENAMED = {
    "n_attr": "attractors",
    "correct_number": "number",
    "linguistics_term": "term",
    "UID": "paradigm",
    "lang": "language",
}
_COLUMNS = (
    "pattern condition contrast type n_attr attractors correct_number number field linguistics_term term UID paradigm "
    "phenomenon level subtype domain lang language"
).split()
GROUP_COLUMNS: Mapping[str, str] = {name: _RENAMED.get(name, name) for name in _COLUMNS}
"""Columns by which results are always broken down, and the names of the groups."""
EXTRA_GROUPS = ("category", "category_fine")
"""Columns of published tables by which results are broken down as well."""


@dataclass(slots=True)
class NamedColumns:
    """The rows of a table that are used, and the columns that name items and groups."""

    path: Path
    records: Sequence[Record]
    header: Sequence[str]
    item: tuple[str, ...]
    groups: tuple[str, ...]
    notices: list[str] = field(default_factory=list)
    problems: ProblemList = field(default_factory=ProblemList)

    @classmethod
    def of(cls, path: Path, table: RecordTable, values: Mapping[str, tuple[str, ...]]) -> NamedColumns:
        """The rows that are not excluded; `values` are those of COLUMN_OPTIONS."""
        excluded = [_condition(text) for text in values["exclude"]]
        item = values["item"] or (("item",) if "item" in table.header else ())
        required = (*values["item"], *values["groups"], *(column for column, _ in excluded))
        refuse_errors(ProblemList.of(table.problems, missing_columns(table.header, required)), path)
        records, notices = list(table.records), []
        for column, value in excluded:
            before = len(records)
            records = [record for record in records if plain(record.fields.get(column)) != value]
            notices.append(f"{plural(before - len(records), 'row')} with {column}={value} left out")
        if not records:
            raise InputError("the table has no rows" + (" that are not excluded" if excluded else ""), file=path)
        return cls(path, records, table.header, item, values["groups"], notices)

    def require(self, *columns: str) -> None:
        """Raise a SuiteError if a column is missing."""
        refuse_errors(missing_columns(self.header, columns), self.path)

    def number(self, record: Record, column: str, *, finite: bool = True) -> float:
        """The number in a field; NaN and a problem if there is none, or it must be finite and is not."""
        value = record.fields.get(column)
        text = plain(value)
        number = math.nan if isinstance(value, bool) else as_number(text)
        if math.isnan(number) or (finite and math.isinf(number)):
            kind = "a finite number" if math.isinf(number) else "a number"
            what = f"is {shortened(text, 60)!r}, not {kind}" if text else "is empty"
            self.problems.error(record.place, f"{column} {what}")
            return math.nan
        return number

    def items(self) -> Iterator[tuple[str, Record]]:
        """Rows with the names of their items: those of the columns, joined by `/`, or the number of the row."""
        for number, record in enumerate(self.records, 1):
            name = "/".join(plain(record.fields.get(column)) for column in self.item)
            yield name or str(number), record

    def groups_by_row(self, *other: str) -> list[Mapping[str, str]]:
        """The groups of each row: known columns with several values, and those that the user names; not the others."""
        by_row = [self._groups(record, other) for record in self.records]
        values: dict[str, set[str]] = {}
        for groups in by_row:
            for name, value in groups.items():
                values.setdefault(name, set()).add(value)
        names = [name for name in values if len(values[name] - {""}) > 1 or name in self.groups]
        interned: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        small = ({name: groups[name] for name in names if groups.get(name)} for groups in by_row)
        return [interned.setdefault(tuple(groups.items()), groups) for groups in small]

    def groups_by_item(self, rows: Iterable[tuple[Key, Mapping[str, str]]]) -> dict[Key, Mapping[str, str]]:
        """The groups of each item, from those of its rows; fields in which rows of an item differ are left out."""
        first: dict[Key, Mapping[str, str]] = {}
        differing: set[str] = set()
        for key, groups in rows:
            known = first.setdefault(key, groups)
            if known is not groups:
                differing |= {name for name in (*known, *groups) if known.get(name) != groups.get(name)}
        for name in self.groups:
            if name in differing:
                self.notices.append(f"{name} is not a group: it differs between rows of an item")
        return {
            key: {name: value for name, value in groups.items() if name not in differing}
            for key, groups in first.items()
        }

    def _groups(self, record: Record, other: Sequence[str]) -> dict[str, str]:
        fields = {name: value for name, value in record.fields.items() if name not in other}
        chosen, more = (
            {name: plain(fields[name]) for name in names if name in fields} for names in (self.groups, EXTRA_GROUPS)
        )
        return chosen | groups_of(fields) | more


def groups_of(fields: Mapping[str, object]) -> dict[str, str]:
    """The groups of a row: the columns in `GROUP_COLUMNS`."""
    return {GROUP_COLUMNS[name]: plain(fields[name]) for name in GROUP_COLUMNS if name in fields}


def _condition(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals or not column:
        raise InputError(f"exclude={text}: write COLUMN=VALUE")
    return column.strip(), value.strip()
