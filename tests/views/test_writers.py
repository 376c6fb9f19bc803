"""Formats of tables: what each writes, and how one is added."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug import registry
from wug.cli import _common as common
from wug.cli.export import command as export
from wug.cli.surprisal import command as surprisal
from wug.errors import InputError, UnknownName
from wug.tables import Display, FormattedTable, RowTable, Table, format_names, format_suffixes, render_table
from wug.views import writers
from wug.views.writers.latex import latex, latex_row
from wug.views.writers.markdown import code, markdown
from wug.web.downloads import tabular_response

SURPRISALS = Table(
    {"word": ["the", "=wug"], "surprisal": [1 / 3, None], "share": [0.5, 1.0], "detail": [{"a": 1}, None]},
    labels={"surprisal": "surprisal (bits)"},
    units={"surprisal": "bits", "share": "share"},
)


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
    table = RowTable(["a"], [], display=Display([FormattedTable(["a"], [["1"]], "l")], ["a\ncomment"], long=True))
    assert render_table(table, "latex").splitlines() == [
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


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("csv", 'word,surprisal,share,detail\nthe,0.3333333333333333,0.5,"{""a"": 1}"\n\'=wug,,1.0,\n'),
        ("tsv", 'word\tsurprisal\tshare\tdetail\nthe\t0.3333333333333333\t0.5\t"{""a"": 1}"\n\'=wug\t\t1.0\t\n'),
        ("jsonl", '{"word": "the", "surprisal": 0.3333333333333333, "share": 0.5, "detail": {"a": 1}}\n'),
        ("json", '[\n{"word": "the", "surprisal": 0.3333333333333333, "share": 0.5, "detail": {"a": 1}},\n'),
        (
            "table",
            "word  surprisal (bits)   share\nthe               0.33   50.0%\n=wug                    100.0%\n",
        ),
        ("markdown", "| word | surprisal (bits) | share |\n|---|--:|--:|\n| the | 0.33 | 50.0% |\n"),
        (
            "latex",
            "% \\usepackage{booktabs,longtable}\n\\begin{longtable}{lrr}\n\\toprule\nword & surprisal (bits) & share",
        ),
        ("html", "<table><thead><tr><th>word</th><th>surprisal (bits)</th><th>share</th></tr></thead><tbody>\n"),
    ],
)
def test_a_table_in_every_text_format(form: str, text: str) -> None:
    assert render_table(SURPRISALS, form).startswith(text)


def test_parquet_is_written_to_a_file_and_not_as_text(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    with pytest.raises(InputError, match="parquet is not text"):
        render_table(SURPRISALS, "parquet")
    SURPRISALS.write(tmp_path / "words.parquet")
    assert parquet.read_table(tmp_path / "words.parquet").column("surprisal").to_pylist() == [1 / 3, None]


def test_an_unknown_format_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown format 'csw'.*csv"):
        render_table(SURPRISALS, "csw")


def test_a_document_replaces_the_rows_in_json_only() -> None:
    table = RowTable(["a"], [[1.5]], document={"rows": [float("nan")]})
    assert render_table(table, "json") == '{\n  "rows": [\n    null\n  ]\n}\n'
    assert render_table(table, "csv") == "a\n1.5\n"


def test_a_new_format_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shout.py").write_text(
        "SUFFIXES = ('.shout',)\nMEDIA_TYPE = 'text/shout'\n"
        "def write(table, *, raw=False):\n"
        "    yield ' '.join(table.names).upper() + '\\n'\n"
    )
    monkeypatch.setattr(writers, "__path__", [*writers.__path__, str(tmp_path)])
    registry._builtin.cache_clear()
    try:
        assert "shout" in format_names()
        assert format_suffixes()[".shout"] == "shout"
        assert SURPRISALS.text("shout") == "WORD SURPRISAL SHARE DETAIL\n"
        SURPRISALS.write(tmp_path / "words.shout")
        assert (tmp_path / "words.shout").read_text() == "WORD SURPRISAL SHARE DETAIL\n"
        assert tabular_response("shout", "words", SURPRISALS).media_type == "text/shout"
    finally:
        registry._builtin.cache_clear()
        sys.modules.pop("wug.views.writers.shout", None)


def test_the_formats_of_the_command_line_are_those_in_the_folder() -> None:
    for option in (common.FORMAT, *(one for one in surprisal.params if one.name == "format")):
        assert isinstance(option.type, click.Choice)
        assert list(option.type.choices) == format_names()
    (exported,) = (one for one in export.params if one.name == "format")
    assert isinstance(exported, click.Option)
    assert ", ".join(format_names()) in (exported.help or "")
