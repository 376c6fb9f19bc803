"""Items as plain text, for a terminal and for searching, and the failing items of results.

Differences are marked as `[+right+]`, `[-wrong-]` and `[neither]`; the number of a word follows in brackets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from rich.cells import cell_len, set_cell_size

from wug import registry
from wug.formatting import escape_controls, metric_label
from wug.outcomes import Result
from wug.results.queries import rows_of
from wug.rows import Filter, OutcomeRow
from wug.tables import Display, FormattedTable, RowTable
from wug.views.family_views import items_of
from wug.views.parts import (
    CodePart,
    FactsPart,
    ItemView,
    LinesPart,
    StatementsPart,
    TableCell,
    TablePart,
    TextPart,
    TreePart,
    ViewPart,
)
from wug.views.text_display import Piece, Pieces
from wug.views.writers.table import align_columns

MAX_TABLE_COLUMNS = 120
"""Width of a table in columns; the cells of a wider one are printed below each other."""
MARKS = {"ins": ("[+", "+]"), "del": ("[-", "-]"), "mark": ("[", "]")}
BATCH_ITEMS = 500
"""Items whose judgements are read together."""
COLUMNS = ("suite", "model", "item", "metrics", "note", "text")


@dataclass(frozen=True, slots=True)
class FailingItem:
    """A failing item as text."""

    suite: str
    model: str
    noun: str
    """The family's word for an item: pair, line, sample."""
    item: str
    metrics: tuple[str, ...]
    """Metrics that it fails with the same details."""
    note: str
    groups: Mapping[str, str]
    text: tuple[str, ...]
    """Its sentences and details, line by line."""

    def head(self, kind: str) -> str:
        """Suite, item, metrics and note on one line, for a family of suites."""
        metrics = ", ".join(metric_label(metric, kind) for metric in self.metrics)
        return "  ".join(filter(None, (self.suite, f"{self.noun} {self.item}", metrics, self.note)))


def item_lines(item: ItemView) -> Iterator[str]:
    """An item with its details."""
    if item.sentence:
        yield _on_one_line(item.sentence)
    if item.chips:
        yield _on_one_line(", ".join(item.chips))
    for part in item.parts:
        yield from part_lines(part)


def part_lines(part: ViewPart) -> Iterator[str]:
    """A part of an item; nothing for charts."""
    match part:
        case TextPart(text):
            yield _on_one_line(text)
        case CodePart(text):
            yield from escape_controls(text).splitlines()
        case LinesPart(lines):
            labels = [_on_one_line(line.label) for line in lines]
            label_columns = max(map(cell_len, labels), default=0)
            for label, line in zip(labels, lines, strict=True):
                text = "" if line.side is not None else pieces_text(line.pieces, line.mark)
                yield "  ".join(filter(None, (set_cell_size(label, label_columns), text, line.value)))
        case StatementsPart(rows):
            for row in rows:
                yield _on_one_line(f"{'holds' if row.holds else 'fails'}  {row.text}  {row.code}")
        case FactsPart(values):
            yield from _facts(values)
        case TablePart():
            yield from _table(part)
        case TreePart():
            yield from _tree(part)


def pieces_text(pieces: Pieces, mark: str) -> str:
    """A text with marks around differences."""
    if not pieces:
        return "(nothing)"
    texts = [_piece(piece, *MARKS[mark]) for piece in pieces]
    spaces = [" " * bool(piece.shade and next_piece.shade) for piece, next_piece in pairwise(pieces)]
    return "".join(text + space for text, space in zip(texts, [*spaces, ""], strict=True))


def _piece(piece: Piece, begin: str, end: str) -> str:
    text = f"{begin}{_on_one_line(piece.text)}{end}" if piece.differs else _on_one_line(piece.text)
    return f"{text} ({piece.value})" if piece.value else text


def _table(table: TablePart) -> Iterator[str]:
    """Aligned columns; in a wide table one line per cell, after its heading."""
    heads = [_on_one_line(column.name) for column in table.columns]
    rows = [[*map(_cell, row.cells)] for _, group in table.groups for row in group]
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=False)]
    if sum(widths) + 2 * len(widths) <= MAX_TABLE_COLUMNS:
        yield from align_columns([heads, *rows], "l" * len(heads))
        return
    indent = max(map(cell_len, heads[1:]), default=0)
    for first_cell, *other_cells in rows:
        yield first_cell
        for head, text in zip(heads[1:], other_cells, strict=False):
            yield f"  {set_cell_size(head, indent)}  {text}".rstrip()


def _cell(cell: TableCell) -> str:
    text = pieces_text(cell.pieces, cell.mark) if cell.pieces else _on_one_line(cell.text)
    estimate_text = "" if cell.estimate is None else f"{cell.estimate.text} {cell.estimate.interval}"
    return "  ".join(filter(None, (text, estimate_text, cell.line_below, _on_one_line(cell.remark))))


def _tree(tree: TreePart) -> Iterator[str]:
    depth = 0
    for node in tree.nodes:
        depth += 1 if node.down else -node.up
        state = {"": "", "first": "first wrong here", "later": "wrong"}[node.state]
        correction = f"right: {pieces_text(node.correction, 'ins')}" if node.state else ""
        parts = (_on_one_line(node.function), pieces_text(node.answer, "del"), state, correction)
        yield "  " * max(0, depth - 1) + "  ".join(filter(None, parts))
    if tree.cut:
        yield "The rest of this tree is left out."


def _facts(values: Mapping[str, object]) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield f"{_on_one_line(str(key))}:"
            yield from (f"  {line}" for line in _facts(value))
        else:
            yield f"{_on_one_line(str(key))}: {_on_one_line(_value_text(value))}"


def _value_text(value: object) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(_value_text, value)) or "–"
        case Mapping():
            return ", ".join(f"{key}: {_value_text(entry)}" for key, entry in value.items()) or "–"
    return str(value)


def _on_one_line(text: str) -> str:
    return escape_controls(text).replace("\n", "\\n")


def failing_items(result: Result) -> Iterator[FailingItem]:
    """The failing items of a result; an item is repeated for metrics with different details."""
    rows = rows_of(result)
    items = items_of(result, rows)
    summary = registry.family_traits(result.kind).summary
    failing_rows: dict[str, list[OutcomeRow]] = {}
    for row in rows.each(Filter(value="false")):
        if row.outcome.metric != summary:  # which repeats the others
            failing_rows.setdefault(row.outcome.item, []).append(row)
    rows_by_item = list(failing_rows.values())
    for start in range(0, len(rows_by_item), BATCH_ITEMS):
        batch = rows_by_item[start : start + BATCH_ITEMS]
        for item_rows, judgements in zip(batch, rows.same_items([members[0] for members in batch]), strict=True):
            metrics: list[tuple[ItemView, list[str]]] = []
            for row in item_rows:
                item = items.show(row, judgements)._replace(failed_metrics=())
                same = next((names for other_item, names in metrics if other_item == item), None)
                if same is None:
                    metrics.append((item, same := []))
                same.append(row.outcome.metric)
            for item, names in metrics:
                yield FailingItem(
                    suite=result.suite,
                    model=result.model,
                    noun=items.noun,
                    item=item_rows[0].outcome.item,
                    metrics=tuple(dict.fromkeys(names)),
                    note=item.note if item.fails else "",
                    groups=dict(item_rows[0].outcome.groups),
                    text=tuple(item_lines(item)),
                )


def failing_lines(results: Sequence[Result]) -> Iterator[str]:
    """The failing items as lines of text, or one line if there are none."""
    for result in results:
        item = None
        for item in failing_items(result):
            yield item.head(result.kind)
            yield from (f"    {line}" for line in item.text)
        if item is None:
            yield f"{result.suite}  no item fails  ({result.n:,} of {result.model})"


def failing_table(results: Sequence[Result]) -> RowTable:
    """One row per failing item and reason."""
    items = [item for result in results for item in failing_items(result)]
    rows = [
        (item.suite, item.model, item.item, ", ".join(item.metrics), item.note, "\n".join(item.text)) for item in items
    ]
    flat_rows = [[cell.replace("\n", " / ") for cell in row] for row in rows]
    display = Display([FormattedTable(COLUMNS, flat_rows, "l" * len(COLUMNS))], long=True)
    return RowTable(COLUMNS, rows, display=display, document=[asdict(item) for item in items])
