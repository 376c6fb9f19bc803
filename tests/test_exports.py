"""House rules: what is exported is there, and what a user can set is described."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import wug
from wug.cli.main import cli

ROOT = Path(__file__).resolve().parents[1]
SOURCE, DOCS = ROOT / "src" / "wug", ROOT / "docs"
EXPORTING = sorted(
    ".".join(("wug", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if re.search(r"^__all__ = ", path.read_text(encoding="utf-8"), re.MULTILINE)
)


@pytest.mark.parametrize("name", EXPORTING)
def test_what_a_module_exports_is_there_and_no_private_name(name: str) -> None:
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for exported in module.__all__:
        assert hasattr(module, exported), exported
        assert not exported.startswith("_"), exported


@pytest.mark.parametrize("name", dir(wug))
def test_every_name_of_the_api_is_described_in_the_page_about_python(name: str) -> None:
    assert getattr(wug, name) is not None
    assert re.search(rf"\b{name}\b", (DOCS / "python.md").read_text(encoding="utf-8"))


def test_every_setting_in_the_environment_is_described() -> None:
    sources = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    used = {found for text in sources for found in re.findall(r"(?<!_)\bWUG_[A-Z]+(?:_[A-Z]+)*", text)}
    page = (DOCS / "environment.md").read_text(encoding="utf-8")
    assert {name for name in used if f"`{name}`" not in page} == set()
    assert set(re.findall(r"`(WUG_[A-Z_]+)`", page)) == used


Called = tuple[tuple[str, ...], click.Command]
"""A command with the words that call it."""


def commands(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[Called]:
    """The command and all below it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*path, name))


COMMANDS = [pytest.param(path, command, id=" ".join(("wug", *path))) for path, command in commands()]


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_option_of_a_command_says_what_it_is_for(path: tuple[str, ...], command: click.Command) -> None:
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.help, option.opts
            assert option.help.rstrip("])").endswith((".", "…")) or "[" in option.help, option.help


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_command_has_a_summary_which_is_one_line_of_the_first_help(
    path: tuple[str, ...], command: click.Command
) -> None:
    assert command.help
    summary = command.get_short_help_str(limit=10_000)
    assert summary.endswith(".")
    if len(path) == 1:  # of 80 columns, 16 are for margins and names
        assert len(summary) <= 64


@pytest.mark.parametrize("form", ["-q", "-v", "--debug"])
@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_command_takes_the_flags_of_all(path: tuple[str, ...], command: click.Command, form: str) -> None:
    assert any(form in option.opts for option in command.params)
