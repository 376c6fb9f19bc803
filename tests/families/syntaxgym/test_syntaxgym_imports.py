"""The published tables of SyntaxGym results as runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import refused, wug
from wug.results.store import Store

HEAD = "model,suite,item,correct\n"


def test_each_model_of_a_table_is_a_run_and_items_count_from_1(tmp_path: Path) -> None:
    rows = "grnn__0,npi_src_any,0,True\ngrnn__0,npi_src_any,1,False\nrnng_1,npi_src_any,0,True\n"
    (tmp_path / "table.csv").write_text(HEAD + rows)
    said = wug("import", tmp_path / "table.csv", "--store", tmp_path / "s", "--format", "json")
    assert [(found["model"], found["n"]) for found in said.results] == [("imported/grnn__0", 2), ("imported/rnng_1", 1)]
    values = {e["group"]: e["value"] for e in said.results[0]["estimates"]}
    assert values == {"all": 0.5, "circuit=Licensing": 0.5}
    store = Store(tmp_path / "s")
    assert [outcome.item for outcome in store.results(1)[0].outcomes] == ["1", "2"]
    compared = wug("compare", "1", "2", "--store", tmp_path / "s")
    assert compared.code == 0, compared.err
    assert wug("report", "1", "-o", tmp_path / "page.html", "--store", tmp_path / "s").code == 0
    assert "Imported from a file" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ("m,s,0,True\nm,s,0,False\n", "line 3"),
        ("m,s,x,True\n", "line 2"),
        ("m,s,0,maybe\n", "line 2"),
        ("m,s\n", "line 2"),
        ("", "no rows"),
    ],
)
def test_a_bad_table_is_one_message(rows: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(HEAD + rows)
    refused(wug("import", tmp_path / "table.csv", "--store", tmp_path / "s"), "table.csv", part)
