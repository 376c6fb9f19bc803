"""Plain text in aligned columns, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.formatting import escape_controls
from wug.tables import FormattedTable, Tabular
from wug.views.writers import display_of

SUFFIXES = ()
MEDIA_TYPE = "text/plain; charset=utf-8"
MAX_CELL_COLUMNS = 60
"""Terminal columns of a cell; longer text is cut."""


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The tables, each with its legend above, then notes and warnings."""
    display = display_of(table)
    for index, formatted in enumerate(display.tables):
        yield "\n" if index else ""
        yield from (f"{abbreviation} = {escape_controls(text)}\n" for abbreviation, text in formatted.legend.items())
        yield from _lines(formatted)
    yield from (f"{escape_controls(note)}\n" for note in display.notes)
    yield from (f"warning: {escape_controls(warning)}\n" for warning in display.warnings)


def align_columns(rows: Sequence[Sequence[str]], align: str) -> Iterator[str]:
    """Rows as lines with aligned columns; a Chinese character takes two columns of a terminal."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        spaces = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [
            gap + cell if alignment == "r" else cell + gap
            for cell, gap, alignment in zip(row, spaces, align, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def cut_to_width(text: str, columns: int) -> str:
    """The text, cut to a number of columns of a terminal."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"


def _lines(table: FormattedTable) -> Iterator[str]:
    cells = [
        [cut_to_width(escape_controls(text).replace("\n", "\\n"), MAX_CELL_COLUMNS) for text in row]
        for row in (table.head, *table.rows)
    ]
    return (f"{line}\n" for line in align_columns(cells, table.align))
