"""HTML tables, as a fragment of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from wug.formatting import escape_controls
from wug.tables import Tabular
from wug.views.writers import display_of

SUFFIXES = (".html", ".htm")
MEDIA_TYPE = "text/html; charset=utf-8"
ALIGNMENT = {"l": "left", "r": "right", "c": "center"}


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The tables, each with its legend above, then notes, warnings and signatures."""
    display = display_of(table)
    for formatted in display.tables:
        for abbreviation, text in formatted.legend.items():
            yield f"<p><b>{_text(abbreviation)}</b> = {_text(text)}</p>\n"
        yield f"<table><thead><tr>{''.join(f'<th>{_text(name)}</th>' for name in formatted.head)}</tr></thead><tbody>\n"
        yield from (_row(row, formatted.align) for row in formatted.rows)
        yield "</tbody></table>\n"
    for text in (*display.notes, *(f"warning: {warning}" for warning in display.warnings)):
        yield f"<p>{_text(text)}</p>\n"
    for signature in dict.fromkeys(text for formatted in display.tables for text in formatted.signatures):
        yield f"<p><code>{_text(signature)}</code></p>\n"


def _row(cells: Sequence[str], align: str) -> str:
    styled_cells = (f'<td style="text-align:{ALIGNMENT[a]}">{_text(c)}</td>' for c, a in zip(cells, align, strict=True))
    return f"<tr>{''.join(styled_cells)}</tr>\n"


def _text(text: str) -> str:
    return escape(escape_controls(text))
