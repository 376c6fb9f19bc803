"""Items as plain text: lines that a terminal shows and a search finds.

What differs stands between marks, `[+right+]`, `[-wrong-]` and `[neither]`; the number of a word in brackets behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from rich.cells import cell_len

from wug.views.marked import Piece, Pieces
from wug.views.markup import visible
from wug.views.parts import Cell, Code, Facts, Item, Lines, Part, Prose, Table, Tree, Verdicts

WIDE = 120
"""Columns up to which the cells of a table stand beside each other."""
MARKS = {"ins": ("[+", "+]"), "del": ("[-", "-]"), "mark": ("[", "]")}


def item_lines(item: Item) -> Iterator[str]:
    """An item with what explains the judgement on it."""
    if item.sentence:
        yield _flat(item.sentence)
    if item.chips:
        yield _flat(", ".join(item.chips))
    for part in item.parts:
        yield from part_lines(part)


def part_lines(part: Part) -> Iterator[str]:
    """A part of an item; what only a page can show, such as a chart, is nothing here."""
    match part:
        case Prose(text):
            yield _flat(text)
        case Code(text):
            yield from visible(text).splitlines()
        case Lines(lines):
            wide = max((cell_len(line.label) for line in lines), default=0)
            for line in lines:
                text = "" if line.side is not None else pieces_text(line.pieces, line.mark)
                yield "  ".join(filter(None, (_padded(_flat(line.label), wide), text, line.value)))
        case Verdicts(rows):
            for row in rows:
                yield _flat(f"{'holds' if row.holds else 'fails'}  {row.text}  {row.code}")
        case Facts(values):
            yield from _facts(values)
        case Table():
            yield from _table(part)
        case Tree():
            yield from _tree(part)


def pieces_text(pieces: Pieces, mark: str) -> str:
    """A text with marks around what differs."""
    if not pieces:
        return "(nothing)"
    texts = [_piece(piece, *MARKS[mark]) for piece in pieces]
    spaces = [" " * bool(piece.shade and after.shade) for piece, after in pairwise(pieces)]
    return "".join(text + space for text, space in zip(texts, [*spaces, ""], strict=True))


def _piece(piece: Piece, begin: str, end: str) -> str:
    text = f"{begin}{_flat(piece.text)}{end}" if piece.differs else _flat(piece.text)
    return f"{text} ({piece.value})" if piece.value else text


def _table(table: Table) -> Iterator[str]:
    """Cells beside each other under their heads; those of a wide table below each other, each behind its head."""
    heads = [_flat(column.name) for column in table.columns]
    rows = [[*map(_cell, row.cells)] for _, some in table.groups for row in some]
    wide = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=False)]
    if sum(wide) + 2 * len(wide) <= WIDE:
        for row in (heads, *rows):
            yield "  ".join(map(_padded, row, wide)).rstrip()
        return
    indent = max(map(cell_len, heads[1:]), default=0)
    for first, *others in rows:
        yield first
        yield from (
            f"  {_padded(head, indent)}  {text}".rstrip() for head, text in zip(heads[1:], others, strict=False)
        )


def _cell(cell: Cell) -> str:
    text = pieces_text(cell.pieces, cell.mark) if cell.pieces else _flat(cell.text)
    shown = "" if cell.shown is None else f"{cell.shown.text} {cell.shown.interval}"
    return "  ".join(filter(None, (text, shown, cell.under, _flat(cell.small))))


def _tree(tree: Tree) -> Iterator[str]:
    depth = 0
    for node in tree.nodes:
        depth += 1 if node.down else -node.up
        state = {"": "", "first": "first wrong here", "later": "wrong"}[node.state]
        right = f"right: {pieces_text(node.right, 'ins')}" if node.state else ""
        parts = (_flat(node.function), pieces_text(node.answer, "del"), state, right)
        yield "  " * max(0, depth - 1) + "  ".join(filter(None, parts))
    if tree.cut:
        yield "The rest of this tree is left out."


def _facts(values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield f"{_flat(str(key))}:"
            yield from (f"  {line}" for line in _facts(value))
        else:
            yield f"{_flat(str(key))}: {_flat(_said(value))}"


def _said(value: object) -> str:
    """A value as a person writes it, and not as Python does."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(_said, value)) or "–"
        case Mapping():
            return ", ".join(f"{key}: {_said(inner)}" for key, inner in value.items()) or "–"
    return str(value)


def _padded(text: str, width: int) -> str:
    """The text with spaces behind it; a letter of Chinese is two columns wide."""
    return text + " " * (width - cell_len(text))


def _flat(text: str) -> str:
    """On one line, with every control character to be seen."""
    return visible(text).replace("\n", "\\n")
