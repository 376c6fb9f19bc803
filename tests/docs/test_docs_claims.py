"""Numbers and statements of the documentation that can be checked: against the program, the records and the recipes."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import click
import pytest

import wug
from doc_blocks import PAGES, ROOT, blocks
from wug import data
from wug.cli.main import cli
from wug.evaluation.suites import open_suites
from wug.stats import wilson

DOCS = ROOT / "docs"
ALL_PARTS = {"Worked example", "File format", "Running", "Reading the results", "Limits", "Options", "Parity"}


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


TAKEN_FROM_OTHERS = {"--type", "--filename"}
"""Spellings of another program that `wug make` also accepts."""


def _options(words: list[str]) -> set[str]:
    """The options of the command that these words begin with."""
    command: click.Command = cli
    context = click.Context(cli)
    for word in words:
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            break
        command = found
    if isinstance(command, click.Group) and "KIND" in words:
        command = next(
            found for name in command.list_commands(context) if (found := command.get_command(context, name))
        )
    return {text for option in command.params for text in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences_have_the_options_that_they_name(page: Path) -> None:
    for command in re.findall(r"`wug ([a-z][^`\n]*)`", page.read_text(encoding="utf-8")):
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", command))
        assert named <= _options(command.split()) | TAKEN_FROM_OTHERS, f"`wug {command}`"


TEST_TYPES = {
    **dict.fromkeys(("syntaxgym", "pairs", "choices", "reading", "morphology", "pcfgset", "scan", "cogs"), ALL_PARTS),
    **dict.fromkeys(("chat", "people"), ALL_PARTS - {"File format", "Running", "Options", "Parity"}),
    "surprisal": {"Worked example", "Limits", "Parity"},
}
"""The pages of the test types, and the sections that each has at least."""


@pytest.mark.parametrize("name", TEST_TYPES)
def test_the_page_of_a_test_type_has_the_sections_of_the_template(name: str) -> None:
    page = text(f"docs/{name}.md")
    assert "\n**Question:** " in page
    assert TEST_TYPES[name] <= set(re.findall(r"(?m)^## (.+)$", page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_signatures_show_the_present_version(page: Path) -> None:
    shown = {found for block in blocks(page) for found in re.findall(r"\bwug:(\d+\.\d+\.\d+\w*)\|", block.body)}
    assert shown <= {wug.__version__}, "run tests/docs/write_outputs.py"


def test_the_numbers_of_sets_and_suites_are_those_of_the_program() -> None:
    count = len(data.names())
    assert f"[{count} published sets]" in text("README.md")
    assert f"`wug data` knows {count} published test sets" in text("docs/data.md")
    assert f"BLiMP and {count - 1} others" in text("docs/tutorial.md")
    families = ("wug_syntaxgym", "wug_pairs", "wug_choices", "wug_morphology", "wug_pcfgset", "wug_cogs")
    assert f"{sum(len(open_suites(name)) for name in families)} built-in suites" in text("README.md")


def test_the_cells_of_gulordava_are_counted_as_their_record_has_them() -> None:
    rows = json.loads(text("docs/tables/gulordava2018.json"))
    scored = [row for row in rows if row["published"] is not None and row["value"] is not None]
    pending = [row for row in rows if row.get("pending")]
    for row in scored:
        assert row["value"] == pytest.approx(_published(row["published"]), abs=0.0006), row["network"]
    for page in ("docs/papers.md", "docs/how-to/reproduce.md"):
        assert f"All {len(scored)} published cells whose score files were available are reproduced" in text(page)
        assert f"{len(pending)} cells" in text(page)


def _published(cell: object) -> float:
    return float(cell[0] if isinstance(cell, list) else cell)  # type: ignore[arg-type]


def test_the_difference_from_lm_eval_is_that_of_the_record() -> None:
    printed = json.loads(text("benchmarks/results/cpu.json"))["benchmarks"]["scoring"]["printed"]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines() if "| lm-eval |" in line]
    page = text("docs/coming-from/lm-eval.md")
    assert {row[2] for row in rows} == {"2,010", "3,304"}
    assert all(f"{row[2]} " in page for row in rows)
    assert f"at most {max(float(row[-1]) for row in rows):.1e} nats" in page


def test_records_from_a_changed_tree_are_marked() -> None:
    records = [json.loads(text(f"benchmarks/results/{name}.json"))["benchmarks"] for name in ("cpu", "cuda")]
    commits = [found["versions"]["commit"] for record in records for found in record.values() if found.get("aims")]
    page = text("docs/benchmarks.md")
    assert all(f"{commit} |" in page for commit in commits)
    assert "`-dirty` had uncommitted changes" in page


def test_intervals_for_planning_a_suite_are_those_of_wilson() -> None:
    lines = re.findall(r"^\| ([\d,]+) \| (.*) \|$", text("docs/design-a-suite.md"), re.M)
    assert len(lines) == 6
    for items, cells in lines:
        n = int(items.replace(",", ""))
        for share, cell in zip((0.5, 0.75, 0.9, 1.0), cells.split("|"), strict=True):
            if cell.strip():
                made = wilson(share * n, n)
                assert cell.strip() == f"[{100 * made.low:.1f}, {100 * made.high:.1f}]"


def test_the_diagrams_are_what_their_script_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "pictures", module)  # where dataclasses look for annotations
    spec.loader.exec_module(module)
    for path, drawn in module.files():
        assert path.read_text(encoding="utf-8") == drawn, "run python docs/pictures.py"
