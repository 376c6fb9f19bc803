"""The store that a command was given, and what to say next about it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.results.paths import default_db
from wug.views.markup import visible

if TYPE_CHECKING:
    from wug.results.store import Store


def open_store(db: Path | None) -> Store:
    """The run store to read; one that the command names must be there."""
    from wug.errors import InputError
    from wug.results.store import Store

    if db is not None and given("db") and not db.exists():
        raise InputError("no such run store: nothing was kept under this name. See --db", file=db)
    return Store(db or default_db())


def given(name: str) -> bool:
    """Whether the user wrote an option on the command line: what the environment says need not be repeated."""
    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def again(*words: object, cache: bool = False) -> str:
    """A command to give next, with the store that this one was given, and the cache where that matters."""
    context = click.get_current_context(silent=True)
    named = ("db", *(("cache",) if cache else ()))
    places = [part for name in named if context and given(name) for part in (f"--{name}", context.params[name])]
    return visible(shlex.join(map(str, ("wug", *words, *places))))
