"""Text that is only text, in Markdown and in LaTeX."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.views.markup import code, latex, latex_row, latex_table, markdown


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("50 % of $x_1 & {y}#", r"50 \% of \$x\_1 \& \{y\}\#"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"),
        ("a<b|c>d", r"a\textless{}b\textbar{}c\textgreater{}d"),
        ("two\nlines\x00", "two lines "),
        ("café ± 1 − 2 …", r"café $\pm$ 1 $-$ 2 \ldots{}"),
        ("中", r"\ifdefined\Umathchar 中\else\texttt{U+4E2D}\fi{}"),
    ],
)
def test_latex_prints_the_text_as_it_is(text: str, safe: str) -> None:
    assert latex(text) == safe


@given(st.text())
def test_no_text_breaks_out_of_its_cell_in_latex(text: str) -> None:
    made = latex(text)
    assert "\n" not in made
    bare = re.sub(r"\\[a-zA-Z]+|\\[&%$#_{}]|\$(?:-|\\pm|\\rightarrow)\$", "", made)
    assert not re.search(r"[&%$#_~^\\]", bare)
    assert bare.count("{") == bare.count("}")


def test_a_row_of_latex_never_begins_with_an_option_of_the_row_before() -> None:
    assert latex_row(["[x]", "y"]) == r"{}[x] & y \\"
    assert latex_row(["*", "y"]) == r"{}* & y \\"


def test_a_long_table_repeats_its_head() -> None:
    assert latex_table(["a"], [["1"]], "l", ["a\ncomment"], long=True).splitlines() == [
        "% a comment",
        r"% \usepackage{booktabs,longtable}",
        r"\begin{longtable}{l}",
        r"\toprule",
        r"a \\",
        r"\midrule",
        r"\endhead",
        r"1 \\",
        r"\bottomrule",
        r"\end{longtable}",
    ]


@pytest.mark.parametrize(
    ("text", "safe"),
    [("number_prep", "number_prep"), ("_x_", r"\_x\_"), ("a|b*c", r"a\|b\*c"), ("<b>&\n[x]", r"&lt;b>&amp; \[x\]")],
)
def test_markdown_shows_the_text_as_it_is(text: str, safe: str) -> None:
    assert markdown(text) == safe


def test_code_in_markdown_may_hold_backticks() -> None:
    assert (code("a|b"), code("a`b")) == ("`a|b`", "`` a`b ``")
