"""Markdown tables, with notes and signatures below."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from wug.formatting import escape_controls
from wug.tables import Tabular
from wug.views.writers import display_of

SUFFIXES = (".md",)
MEDIA_TYPE = "text/plain"


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The tables, notes, warnings and signatures."""
    display = display_of(table)
    blocks: list[str] = []
    for formatted in display.tables:
        if formatted.legend:
            blocks.append(
                ", ".join(f"**{abbreviation}** = {markdown(text)}" for abbreviation, text in formatted.legend.items())
            )
        blocks.append(markdown_table(formatted.head, formatted.rows, formatted.align, formatted.bold))
    blocks += [f"*{markdown(note)}*" for note in display.notes]
    blocks += [f"warning: {markdown(warning)}" for warning in display.warnings]
    blocks += [
        code(text) for text in dict.fromkeys(text for formatted in display.tables for text in formatted.signatures)
    ]
    yield "\n\n".join(blocks) + "\n"


def markdown_table(
    head: Sequence[str], lines: Iterable[Sequence[str]], align: str, bold: Collection[tuple[int, int]] = ()
) -> str:
    """A Markdown table; `align` has l, r or c for each column."""
    rules = {"l": "---", "r": "--:", "c": ":-:"}
    table_lines = [f"| {' | '.join(head)} |", f"|{'|'.join(rules[letter] for letter in align)}|"]
    for row, line in enumerate(lines):
        cells = (
            f"**{markdown(cell)}**" if (row, column) in bold else markdown(cell) for column, cell in enumerate(line)
        )
        table_lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(table_lines)


def markdown(text: str) -> str:
    """The text on one line, escaped so that Markdown shows it unchanged."""
    escaped = re.sub(r"[\\`*|\[\]]", r"\\\g<0>", escape_controls(" ".join(text.split())))
    # An underscore inside a word is only an underscore.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\_", escaped.replace("&", "&amp;").replace("<", "&lt;"))


def code(text: str) -> str:
    """The text as inline code, on one line."""
    fence = "`" * (1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    air = " " if "`" in text else ""
    return f"{fence}{air}{escape_controls(' '.join(text.split()))}{air}{fence}"
