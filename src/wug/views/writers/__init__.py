"""Formats of tables: the module `csv` here writes CSV. A new format is a new module, and its test.

It offers
    SUFFIXES: tuple[str, ...]                     of its files, such as (".csv",); empty if it has none
    MEDIA_TYPE: str                               of a download
    BINARY = True                                 optional: its files are not text
    require() -> None                             optional: raises MissingExtra if packages are missing
    write(table: Tabular, *, raw: bool = False)   the file in chunks: `str`, or `bytes` if it is binary

Formats for programs write `table.names` and `table.values()`, those for people the `Display` from `display_of`. Other
packages add formats with the entry point `wug.views.writers`.
"""

from __future__ import annotations

from wug.formatting import bits, percent
from wug.tables import Display, FormattedTable, Kind, Tabular, is_missing, nested_text


def display_of(table: Tabular) -> Display:
    """What formats for people write: the table's own display, or its columns without nested ones."""
    if table.display is not None:
        return table.display
    shown = [(place, name) for place, name in enumerate(table.names) if table.kinds.get(name) is not object]
    units = [table.units.get(name, "") for _, name in shown]
    rows = [
        [_formatted(row[place], unit) for (place, _), unit in zip(shown, units, strict=True)] for row in table.values()
    ]
    align = "".join(_alignment(table.kinds.get(name)) for _, name in shown)
    return Display([FormattedTable([table.labels.get(name, name) for _, name in shown], rows, align)], long=True)


def _alignment(kind: Kind | None) -> str:
    return "r" if kind in (int, float) else "l"


def _formatted(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if is_missing(value):
        return ""
    if not isinstance(value, float):
        return nested_text(value)
    return percent(value) if unit == "share" else bits(value) if unit == "bits" else f"{value:.6g}"
