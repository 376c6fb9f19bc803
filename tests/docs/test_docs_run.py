"""Every command and every Python block of README and documentation runs, and prints what the page shows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from doc_blocks import PAGES, REASONS, ROOT, RUN, SHOWN, Block, blocks, commands
from doc_run import alike, run

pytestmark = pytest.mark.slow


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


GALLERY = ROOT / "docs" / "gallery.md"
"""Its Python shows no output, and runs when the site is built (test_docs_site.py)."""


@pytest.mark.parametrize("page", [page for page in PAGES if page != GALLERY], ids=_name)
def test_a_page_does_what_it_says(page: Path, tmp_path: Path) -> None:
    faults = [ran.fault for ran in run(page, tmp_path / "page") if ran.fault]
    assert not faults, "\n\n".join([*faults, f"python tests/docs/write_outputs.py {_name(page)}"])


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_block_is_run_or_shown_or_has_a_reason(page: Path) -> None:
    for block in blocks(page):
        assert block.language in (*RUN, *SHOWN, "setup"), f"{block.place}: give the block a language"
        if block.reason:
            assert block.language in RUN, f"{block.place}: only what could be run needs a reason"
            assert block.reason.startswith(REASONS), f"{block.place}: {block.reason!r} is none of {REASONS}"
        if block.language == "console":
            assert commands(block), f"{block.place}: no command"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_file_that_a_page_writes_is_used_on_it(page: Path) -> None:
    """A block of Python with a title is written and not run by itself."""
    found = blocks(page)
    used = "\n".join(block.body for block in found if block.language in (*RUN, "setup") and not block.title)
    for block in (block for block in found if block.title and not (ROOT / block.title).is_file()):
        assert Path(block.title or "").stem in used, f"{block.place}: nothing uses {block.title}"


def test_the_gallery_shows_no_output() -> None:
    assert {block.language for block in blocks(GALLERY)} == {"python"}


def test_the_sample_package_is_shown_as_it_is() -> None:
    shown = [block for block in blocks(ROOT / "docs" / "plugins.md") if block.title]
    assert len(shown) == 3
    for block in shown:
        assert block.body.strip() == (ROOT / str(block.title)).read_text(encoding="utf-8").strip()


def test_few_blocks_are_not_run() -> None:
    every = [block for page in PAGES for block in blocks(page) if block.language in RUN]
    reasons = Counter(block.reason for block in every if block.reason)
    assert len(every) > 100
    assert sum(reasons.values()) <= len(every) * 0.25, reasons


def test_no_command_hides_in_a_block_that_is_not_run() -> None:
    for block in (block for page in PAGES for block in blocks(page) if block.language == "text"):
        lines = block.body.split("\n")
        assert not [line for line in lines if re.match(r"(\$ )?(wug|make|pip|python) \S", line)], block.place


@pytest.mark.parametrize(
    ("said", "shown", "same"),
    [
        ("a   b\nc\n", "a b\nc", True),
        ("a b\nc", "a b\nd", False),
        ("first\nsecond\nthird\n", "first\n...\nthird", True),
        ("first\nsecond\nthird\n", "first\n...\nfourth", False),
        ("model@e54f439a847b 12.3 s", "model@000000000000 9 s", True),
        ("value 12.3", "value 12.4", False),
        ("one\ntwo", "one", False),
    ],
)
def test_outputs_are_compared_but_for_what_differs_from_machine_to_machine(said: str, shown: str, same: bool) -> None:
    assert alike(said, shown) is same


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("doc_blocks.ROOT", tmp_path)
    return tmp_path / "page.md"


def _blocks(page: Path, *lines: str) -> list[Block]:
    page.write_text("\n".join(lines), encoding="utf-8")
    return blocks(page)


def test_a_comment_belongs_to_the_next_block_alone(page: Path) -> None:
    first, second = _blocks(page, "<!-- not run: a GPU -->", "", "```console", "$ a", "```", "```console", "$ b", "```")
    assert (first.reason, second.reason, second.follows) == ("a GPU", None, True)
    (third,) = _blocks(page, "<!-- exit 1 -->", "Words between.", "```console", "$ c", "```")
    assert third.exit == 0


def test_a_wrong_output_a_wrong_exit_and_a_wrong_name_are_faults(page: Path, tmp_path: Path) -> None:
    lines = ["```console", "$ echo one", "two", "$ wug schema nothing", "```", "```python", "print(nothing)", "```"]
    lines += ["```console", "$ echo fine", "fine", "```", "```python", "print(1)", "```", "```text", "1", "```"]
    _blocks(page, *lines)
    faults = [ran.fault for ran in run(page, tmp_path / "run")]
    assert [fault is None for fault in faults] == [False, False, False, True, True]
