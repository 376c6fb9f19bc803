"""The page of the command line, made from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click

PAGE, PLACE = "command-line.md", "<!-- commands -->"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Insert every command at the marker."""
    return markdown.replace(PLACE, commands()) if page.file.src_uri == PAGE else markdown


def commands() -> str:
    """Every command as Markdown: what it does, examples, arguments and options."""
    from wug.cli.main import cli

    context = click.Context(cli, info_name="wug", **cli.context_settings)
    parts = [*_options(cli, context)]
    for name in cli.list_commands(context):
        if (command := cli.get_command(context, name)) is not None and not command.hidden:
            parts += _command(command, context, name, 2)
    return "\n\n".join(parts)


def _command(command: click.Command, parent: click.Context, name: str, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path}"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```"
    yield from _help(command)
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if (found := command.get_command(context, below)) is not None and not found.hidden:
                yield from _command(found, context, below, level + 1)


def _help(command: click.Command) -> Iterator[str]:
    """The paragraphs of the help text; those that click must not wrap are examples."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        if paragraph.startswith("\b"):
            body = paragraph.removeprefix("\b").strip("\n")
            yield f"```text\n{body}\n```"
        else:
            yield _escaped(" ".join(paragraph.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [record for one in command.get_params(context) if (record := one.get_help_record(context))]
    if records:
        rows = [f"| {_code(names)} | {_escaped(_cell(text))} |" for names, text in records]
        yield "\n".join(["| option | |", "|---|---|", *rows])


def _code(names: str) -> str:
    return "`" + names.replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """A text in which only back-quoted words are marked up."""
    parts = text.split("`")
    plain = [re.sub(r"([*_<\[\]])", r"\\\1", part) if number % 2 == 0 else part for number, part in enumerate(parts)]
    return "`".join(plain)
