"""Every number of a paper's table in the docs comes from a record that the program wrote, with recipe and signatures.

`wug reproduce NAME -o docs/tables/NAME.json` writes a record; `python tests/docs/test_docs_tables.py` the docs.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from paper_tables import as_matrix, from_json
from wug import registry
from wug.reproduce.recipe import names, read
from wug.reproduce.table import TableRow, table
from wug.tables import render_table

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORDS = sorted((DOCS / "tables").glob("*.json"))
BLOCK = re.compile(r"(<!-- paper: (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
FORMS = {"rows": lambda found: render_table(table(found), "markdown"), "matrix": as_matrix}


def rows(name: str) -> list[TableRow]:
    return from_json((DOCS / "tables" / f"{name}.json").read_text(encoding="utf-8"))


def up_to_date(text: str) -> str:
    """The page with its tables as their records have them."""
    return BLOCK.sub(lambda found: f"{found[1]}{FORMS[found[3]](rows(found[2])).rstrip()}\n{found[4]}", text)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_what_the_program_wrote_with_the_recipes_cells(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert render_table(table(from_json(text)), "json") == text
    recipe = read(path.stem)
    networks = {network.title: network for network in recipe.networks.values()}
    published = {(test.row, name): cell for test in recipe.tests for name, cell in test.published.items()}
    for row in from_json(text):
        network = networks[row.network]
        if not row.within:
            assert row.published == published[row.row, network.name], (row.row, row.network)
        if row.value is not None:
            assert row.signatures, (row.row, row.network)
            assert all(signature.startswith("wug:") for signature in row.signatures)
            assert len(row.seeds) == (len(row.signatures) if network.train else 0)


def test_every_table_of_a_paper_in_the_docs_is_that_of_its_record() -> None:
    shown = set()
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        shown |= {found[1] for found in BLOCK.findall(text)}
        assert text == up_to_date(text), f"{page}: python tests/docs/test_docs_tables.py"
    assert shown == {path.stem for path in RECORDS} <= set(names())


def test_every_kind_of_model_has_a_row_in_the_table_of_models() -> None:
    table_rows = [line for line in (DOCS / "models.md").read_text(encoding="utf-8").splitlines() if line[:3] == "| `"]
    cells = " ".join(line.split("|")[1] for line in table_rows)
    assert [name for name in registry.names("models") if f"`{name}:" not in cells] == []


if __name__ == "__main__":
    for page in DOCS.rglob("*.md"):
        page.write_text(up_to_date(page.read_text(encoding="utf-8")), encoding="utf-8")
    sys.exit()
