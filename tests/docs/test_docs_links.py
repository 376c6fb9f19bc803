"""No dead link in the Markdown of the repository: files, and headings within them. No network is used."""

from __future__ import annotations

import re
import subprocess
import unicodedata
from pathlib import Path
from urllib.parse import unquote

import pytest

from doc_blocks import ROOT

_LINK = re.compile(
    r"(?<!\\)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\((?P<target>[^()\s]+(?:\([^()\s]*\)[^()\s]*)?)(?: \"[^\"]*\")?\)"
)
_FENCE = re.compile(r"^ *(`{3,})[^`\n]*\n.*?^ *\1 *$", re.DOTALL | re.MULTILINE)
_OUTSIDE = ("http://", "https://", "mailto:")


def _pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listed.stdout.split("\n") if listed.returncode == 0 else map(str, (ROOT / "docs").rglob("*.md"))
    return sorted(ROOT / name for name in names if name)


def prose(page: Path) -> str:
    """A page without its code."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", "code", text)


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as on GitHub and on the site."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)}


def slug(heading: str) -> str:
    """A heading as an anchor: small letters, hyphens for spaces, no punctuation."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    kept = "".join(letter for letter in plain.lower() if letter in " -_" or unicodedata.category(letter)[0] in "LN")
    return re.sub(r"\s+", "-", kept.strip())


def dead(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in _LINK.finditer(prose(page)):
        target, _, anchor = unquote(link["target"]).partition("#")
        if link["target"].startswith(_OUTSIDE):
            continue
        goal = (page.parent / target).resolve() if target else page
        if not goal.exists() or (anchor and goal.suffix == ".md" and anchor not in anchors(goal)):
            found.append(link["target"])
    return found


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert dead(page) == []


def test_a_dead_link_and_a_dead_anchor_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# One & two\n\n## `wug` *here*\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#one--two) [c](other.md#wug-here) [d](none.md) [e](other.md#three)\n"
        "`[f](not a link)` [g](https://example.org) [h](#page)\n\n```text\n[i](none.md)\n```\n\n# Page\n",
        encoding="utf-8",
    )
    assert dead(page) == ["other.md#one--two", "none.md", "other.md#three"]
