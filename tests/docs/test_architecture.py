"""The page about the architecture names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`([a-z_]+(?:/[A-Za-z_]+)*\.(?:py|html|md|js))`", PAGE)))
FOLDERS = sorted(set(re.findall(r"^  ([a-z_]+)/ ", PAGE, re.M)))


@pytest.mark.parametrize("path", PATHS)
def test_a_file_that_the_page_names_exists(path: str) -> None:
    folders = (ROOT, ROOT / "src" / "wug", ROOT / "src" / "wug" / "families" / "pairs" / "formats")
    assert any((folder / path).is_file() for folder in folders)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_the_tree_exists(folder: str) -> None:
    assert (ROOT / "src" / "wug" / folder).is_dir()


def test_the_page_names_every_package() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "wug").glob("*/__init__.py")}
    assert packages <= {*FOLDERS, "assets"}
    assert len(PATHS) > 30
