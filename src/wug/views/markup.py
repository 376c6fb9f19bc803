"""Text that is only text, whatever is in it: for a terminal, in Markdown, in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""The text with `\x1b` for an escape character, and likewise for all that steers a terminal or is no character.

    So are the marks that turn the direction of writing around. Line ends (LF) and tabs stay.
    """
    return _UNSEEN.sub(_number, text)


def _number(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]], align: str) -> str:
    """A table in Markdown; `align` has l, r or c for each column."""
    rules = {"l": "---", "r": "--:", "c": ":-:"}
    made = [f"| {' | '.join(head)} |", f"|{'|'.join(rules[one] for one in align)}|"]
    return "\n".join([*made, *(f"| {' | '.join(map(markdown, line))} |" for line in lines)])


def markdown(text: str) -> str:
    """The text as Markdown shows it as it is, on one line."""
    flat = re.sub(r"[\\`*|\[\]]", r"\\\g<0>", visible(" ".join(text.split())))
    # An underscore inside a word is only an underscore.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\_", flat.replace("&", "&amp;").replace("<", "&lt;"))


def code(text: str) -> str:
    """The text as code in Markdown, on one line."""
    fence = "`" * (1 + max((len(ticks) for ticks in re.findall("`+", text)), default=0))
    air = " " if "`" in text else ""
    return f"{fence}{air}{visible(' '.join(text.split()))}{air}{fence}"


def latex_table(
    head: Sequence[str], lines: Iterable[Sequence[str]], align: str, comments: Iterable[str] = (), *, long: bool = False
) -> str:
    """A booktabs table; `long` makes it one that goes on over pages, with its head on each."""
    return latex_blocks(head, [list(lines)], align, comments, long=long)


def latex_blocks(
    head: Sequence[str],
    blocks: Iterable[Sequence[Sequence[str]]],
    align: str,
    comments: Iterable[str] = (),
    *,
    long: bool = False,
) -> str:
    """A booktabs table whose blocks are parted by a line."""
    kind = "longtable" if long else "tabular"
    made = [f"% {visible(' '.join(comment.split()))}" for comment in comments]
    made.append(rf"% \usepackage{{{'booktabs,longtable' if long else 'booktabs'}}}")
    made += [
        rf"\begin{{{kind}}}{{{align}}}",
        r"\toprule",
        latex_row(head),
        *([r"\midrule", r"\endhead"] if long else []),
    ]
    for block in blocks:
        made += [*([] if long else [r"\midrule"]), *map(latex_row, block)]
    return "\n".join([*made, r"\bottomrule", rf"\end{{{kind}}}"])


def latex_row(cells: Sequence[str]) -> str:
    """A row of a table; LaTeX would take [ or * at its beginning for a part of the row before."""
    row = " & ".join(map(latex, cells))
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def latex(text: str) -> str:
    """The text as LaTeX prints it, whatever is in it, by pdfTeX as by engines that know Unicode."""
    return "".join(_LATEX.get(ch) or _letter(ch) for ch in text)


def _letter(ch: str) -> str:
    """A character without a meaning to LaTeX. pdfTeX stops at one outside Latin, so it gets its number."""
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
