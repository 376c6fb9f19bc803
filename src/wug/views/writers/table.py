"""Plain text in aligned columns, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.formatting import visible
from wug.tables import FormattedTable, Tabular
from wug.views.writers import display_of

SUFFIXES = ()
MEDIA_TYPE = "text/plain; charset=utf-8"
MAX_CELL_COLUMNS = 40
"""Terminal columns of a cell; longer text is cut."""


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The tables, each with its legend above, then notes and warnings."""
    display = display_of(table)
    for place, one in enumerate(display.tables):
        yield "\n" if place else ""
        yield from (f"{short} = {visible(text)}\n" for short, text in one.legend.items())
        yield from _lines(one)
    yield from (f"{visible(note)}\n" for note in display.notes)
    yield from (f"warning: {visible(warning)}\n" for warning in display.warnings)


def _lines(table: FormattedTable) -> Iterator[str]:
    cells = [[visible(text).replace("\n", "\\n") for text in row] for row in (table.head, *table.rows)]
    columns = [_padded(column, align) for column, align in zip(zip(*cells, strict=True), table.align, strict=True)]
    return (f"{'  '.join(row).rstrip()}\n" for row in zip(*columns, strict=True))


def _padded(cells: Sequence[str], align: str) -> list[str]:
    """The cells of a column, equally wide; a Chinese character takes two columns."""
    from rich.cells import cell_len, set_cell_size

    width = min(MAX_CELL_COLUMNS, max(map(cell_len, cells)))
    cut = [cell if cell_len(cell) <= width else f"{set_cell_size(cell, width - 1)}…" for cell in cells]
    spaces = [" " * (width - cell_len(cell)) for cell in cut]
    return [space + cell if align == "r" else cell + space for cell, space in zip(cut, spaces, strict=True)]
