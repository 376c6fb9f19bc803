"""LaTeX tables (booktabs), with notes and signatures as comments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from wug.formatting import escape_controls
from wug.tables import FormattedTable, Tabular
from wug.views.writers import display_of

SUFFIXES = (".tex",)
MEDIA_TYPE = "text/plain"


def write(table: Tabular, *, raw: bool = False) -> Iterator[str]:
    """One tabular per table, or a longtable that continues over several pages."""
    display = display_of(table)
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
