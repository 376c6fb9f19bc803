"""What the kinds of `wug make` share: how files come to be."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from wug.cli import _common as common


def seed_option(function: common.Function) -> common.Function:
    """--seed, of everything that is drawn."""
    return click.option(
        "--seed", type=int, default=0, show_default=True, help="The same seed makes the same material."
    )(function)


def force_option(function: common.Function) -> common.Function:
    """--force, to write over files."""
    return click.option("--force", is_flag=True, help="Write over files that exist.")(function)


def refuse_existing(paths: Iterable[Path], force: bool) -> None:
    """InputError for the first file that exists already, unless it may be written over."""
    from wug.errors import InputError

    for path in paths:
        if path.exists() and not force:
            raise InputError("exists already. Give another name, or --force to write over it", file=path)
