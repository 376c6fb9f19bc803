"""The page about the architecture names files that exist, the imports that are allowed, and the attributes in use."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path

import pytest

from test_layers import ALLOWED, CORE
from wug.families.commands import FamilyCommands
from wug.interfaces import Backend, Family
from wug.requests import ModelAttributes
from wug.views.family_views import FamilyView

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`([a-z_]+(?:/[A-Za-z_]+)*\.(?:py|html|md|js))`", PAGE)))
FOLDERS = sorted(set(re.findall(r"^  ([a-z_]+)/ ", PAGE, re.M)))
MODULES = re.findall(r"^  ([a-z_]+\.py) ", PAGE, re.M)


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


def test_the_tree_lists_every_module_of_the_core_once() -> None:
    assert sorted(MODULES) == sorted(path.name for path in (ROOT / "src" / "wug").glob("*.py"))


def test_the_table_of_imports_is_what_the_layers_allow() -> None:
    rows = table("| package | may import, in addition to the core |")
    found = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in rows}
    assert found.pop("cli") == set()
    assert found == {name: allowed - CORE - {name, ""} for name, allowed in ALLOWED.items() if name not in CORE}


@pytest.mark.parametrize(
    ("folder", "interfaces", "modules"),
    [
        ("families", (Family, FamilyView, FamilyCommands), {"editor", "imports", "schema.json"}),
        ("models", (Backend,), {}),
    ],
)
def test_the_tables_have_the_attributes_of_the_interfaces(
    folder: str, interfaces: tuple[type, ...], modules: Collection[str]
) -> None:
    attributes = {field.name for interface in interfaces for field in fields(interface)} - {"name", "module"}
    assert documented(folder) == {*attributes, *modules}


def test_the_table_has_the_optional_attributes_of_a_model() -> None:
    names = {row[0].strip("`").partition("(")[0] for row in table("| attribute of a model | meaning |")}
    assert names == {*ModelAttributes.__slots__}


def documented(folder: str) -> set[str]:
    """The names in the first column of the table of a family or a backend, without their parameters and modules."""
    rows = table(f"| a {'package' if folder == 'families' else 'module or package'} in `{folder}/` offers | purpose |")
    codes = [code for row in rows for code in re.findall(r"`([^`]+)`", row[0])]
    return {re.sub(r"^(view|commands)\.", "", code.partition("(")[0]) for code in codes}


def table(heading: str) -> list[list[str]]:
    """The cells of the rows below a heading."""
    body = PAGE.split(f"{heading}\n")[1].split("\n\n")[0].split("\n")[1:]
    return [row.strip("| ").split(" | ") for row in body]
