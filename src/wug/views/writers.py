"""Formats of tables: `FORMATS` has the writer of each. A new format is a new entry, and its test.

Formats for programs write `table.names` and `table.values()`, those for people the `Display` of a table. Other packages
add formats with the entry point `wug.views.writers`: a module with the attributes of a `TableFormat`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import chain, islice

from wug.errors import needs_extra
from wug.formatting import bits, escape_controls, percent
from wug.interfaces import TableFormat
from wug.tables import Display, FormattedTable, Table, Tabular, escape_formula, is_missing, json_safe, nested_text

HTML_ALIGNMENT = {"l": "left", "r": "right", "c": "center"}
ROW_GROUP_ROWS = 20_000
"""Rows of Parquet that are converted at a time if the types of all columns are known."""
MAX_CELL_COLUMNS = 60
"""Terminal columns of a cell; longer text is cut."""


def _display_of(table: Tabular) -> Display:
    """What formats for people write: the table's own display, or its columns without nested ones."""
    if table.display is not None:
        return table.display
    flat_columns = [(index, name) for index, name in enumerate(table.names) if table.kinds.get(name) is not object]
    units = [table.units.get(name, "") for _, name in flat_columns]
    rows = [
        [_cell_text(row[i], unit) for (i, _), unit in zip(flat_columns, units, strict=True)] for row in table.values()
    ]
    align = "".join("r" if table.kinds.get(name) in (int, float) else "l" for _, name in flat_columns)
    return Display([FormattedTable([table.labels.get(name, name) for _, name in flat_columns], rows, align)], long=True)


def _cell_text(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if is_missing(value):
        return ""
    if not isinstance(value, float):
        return nested_text(value)
    return percent(value) if unit == "share" else bits(value) if unit == "bits" else f"{value:.6g}"


def _delimited(table: Tabular, *, raw: bool = False, delimiter: str) -> Iterator[str]:
    """The lines of a delimited file; text that a spreadsheet would evaluate gets an apostrophe, unless `raw`."""
    out = _Line()
    # The writer quotes the characters of its line terminator: with CR LF, a lone CR in a value is quoted.
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    cell = _cell if raw else _escape_formula
    for row in chain((table.names,), table.values()):
        writer.writerow(map(cell, row))
        yield out.text


class _Line:
    """Takes one row at a time from a CSV writer."""

    text = ""

    def write(self, row: str) -> None:
        self.text = row.removesuffix("\r\n") + "\n"


def _cell(value: object) -> object:
    if is_missing(value):
        return ""
    return value if isinstance(value, (str, int, float)) else nested_text(value)


def _escape_formula(value: object) -> object:
    return escape_formula(value) if isinstance(value, str) else _cell(value)


def _records(table: Tabular) -> Iterator[str]:
    """Each row as a JSON object."""
    names = list(table.names)
    for row in table.values():
        record = json_safe(dict(zip(names, row, strict=True)))
        yield json.dumps(record, ensure_ascii=False, allow_nan=False)


def _json(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The table's document with indentation, or a list with one object per row, each on its line."""
    if table.document is not None:
        yield json.dumps(json_safe(table.document), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        return
    prefix = "["
    for record in _records(table):
        yield f"{prefix}\n{record}"
        prefix = ","
    yield "[]\n" if prefix == "[" else "\n]\n"


def _jsonl(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    return (f"{record}\n" for record in _records(table))


def _table(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The tables, each with its legend above, then notes and warnings."""
    display = _display_of(table)
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


def _markdown(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """The tables, notes, warnings and signatures."""
    display = _display_of(table)
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


def _latex(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """One tabular per table, or a longtable that continues over several pages."""
    display = _display_of(table)
    remarks = [*display.notes, *(f"warning: {text}" for text in display.warnings)]
    yield "\n\n".join(latex_table(formatted, remarks, as_longtable=display.long) for formatted in display.tables) + "\n"


def latex_table(table: FormattedTable, remarks: Iterable[str] = (), *, as_longtable: bool = False) -> str:
    """A booktabs table with its legend, remarks and signatures as comments."""
    kind = "longtable" if as_longtable else "tabular"
    legend = [f"{abbreviation} = {text}" for abbreviation, text in table.legend.items()]
    lines = [f"% {escape_controls(' '.join(text.split()))}" for text in (*legend, *remarks, *table.signatures)]
    lines.append(rf"% \usepackage{{{'booktabs,longtable' if as_longtable else 'booktabs'}}}")
    lines += [rf"\begin{{{kind}}}{{{table.align}}}", r"\toprule", latex_row(table.head)]
    lines += [r"\midrule", r"\endhead"] if as_longtable else []
    for index, row in enumerate(table.rows):
        lines += [
            *([r"\midrule"] if index in table.rules and not as_longtable else []),
            latex_row(row, {column for line, column in table.bold if line == index}),
        ]
    lines += [r"\midrule"] if not table.rows and not as_longtable else []
    return "\n".join([*lines, r"\bottomrule", rf"\end{{{kind}}}"])


def latex_row(cells: Sequence[str], bold: Collection[int] = ()) -> str:
    """A row of a table, which must not begin with [ or *: LaTeX would add it to the previous row."""
    texts = (rf"\textbf{{{latex(cell)}}}" if index in bold else latex(cell) for index, cell in enumerate(cells))
    row = " & ".join(texts)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def latex(text: str) -> str:
    """The text escaped so that LaTeX prints it unchanged, with pdfTeX and with Unicode engines."""
    return "".join(_LATEX.get(ch) or _letter(ch) for ch in text)


def _letter(ch: str) -> str:
    """An ordinary character; pdfTeX stops at one outside Latin, so it gets its code point there."""
    if ch.isspace() or not ch.isprintable():
        return " "
    if ord(ch) < 0x180:
        return ch
    return rf"\ifdefined\Umathchar {ch}\else\texttt{{U+{ord(ch):04X}}}\fi{{}}"


_LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\char96{}",
    **{ch: f"\\{ch}" for ch in "&%$#_{}"},
    "−": "$-$",
    "±": r"$\pm$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "·": r"\textperiodcentered{}",
    "→": r"$\rightarrow$",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
}


def _html(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """A fragment of a page: the tables, each with its legend above, then notes, warnings and signatures."""
    display = _display_of(table)
    for formatted in display.tables:
        for abbreviation, text in formatted.legend.items():
            yield f"<p><b>{_escaped(abbreviation)}</b> = {_escaped(text)}</p>\n"
        head = "".join(f"<th>{_escaped(name)}</th>" for name in formatted.head)
        yield f"<table><thead><tr>{head}</tr></thead><tbody>\n"
        styles = [f"text-align:{HTML_ALIGNMENT[letter]}" for letter in formatted.align]
        for row in formatted.rows:
            cells = (f'<td style="{style}">{_escaped(cell)}</td>' for cell, style in zip(row, styles, strict=True))
            yield f"<tr>{''.join(cells)}</tr>\n"
        yield "</tbody></table>\n"
    for text in (*display.notes, *(f"warning: {warning}" for warning in display.warnings)):
        yield f"<p>{_escaped(text)}</p>\n"
    for signature in dict.fromkeys(text for formatted in display.tables for text in formatted.signatures):
        yield f"<p><code>{_escaped(signature)}</code></p>\n"


def _escaped(text: str) -> str:
    return escape(escape_controls(text))


def _require_parquet() -> None:
    """MissingExtra if pyarrow is not installed."""
    with needs_extra("Parquet", "parquet"):
        import pyarrow.parquet  # noqa: F401


def _parquet(table: Tabular, *, raw: bool = False) -> Iterator[bytes]:
    """The file."""
    _require_parquet()
    import pyarrow
    import pyarrow.parquet

    source = table.values()
    has_types = all(name in table.kinds for name in table.names)
    first_batch = _batch(table, list(islice(source, ROW_GROUP_ROWS if has_types else None))).to_arrow()
    out = pyarrow.BufferOutputStream()
    with pyarrow.parquet.ParquetWriter(out, first_batch.schema) as writer:
        writer.write_table(first_batch)
        while rows := list(islice(source, ROW_GROUP_ROWS)):
            writer.write_table(_batch(table, rows).to_arrow())
    yield out.getvalue().to_pybytes()


def _batch(table: Tabular, rows: list[Sequence[object]]) -> Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.names)
    return Table(dict(zip(table.names, columns, strict=True)), table.kinds)


FORMATS: Mapping[str, TableFormat] = {
    "csv": TableFormat(partial(_delimited, delimiter=","), "text/csv; charset=utf-8", (".csv",)),
    "html": TableFormat(_html, "text/html; charset=utf-8", (".html", ".htm")),
    "json": TableFormat(_json, "application/json", (".json",)),
    "jsonl": TableFormat(_jsonl, "application/jsonl", (".jsonl",)),
    "latex": TableFormat(_latex, "text/plain", (".tex",)),
    "markdown": TableFormat(_markdown, "text/plain", (".md",)),
    "parquet": TableFormat(
        _parquet, "application/vnd.apache.parquet", (".parquet",), BINARY=True, require=_require_parquet
    ),
    "table": TableFormat(_table, "text/plain; charset=utf-8"),
    "tsv": TableFormat(partial(_delimited, delimiter="\t"), "text/tab-separated-values; charset=utf-8", (".tsv",)),
}
"""The formats by name; `table` is plain text in aligned columns, for a terminal."""
