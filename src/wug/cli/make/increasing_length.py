"""`wug make increasing-length`: each function on longer and longer strings."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("increasing-length")
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=53,
    show_default=True,
    help="Lines for each function and each length.",
)
@click.option(
    "--longest", type=click.IntRange(min=2), default=20, show_default=True, help="Symbols in the longest string."
)
@sets.output_options
def command(rounds: int, longest: int, **given: Any) -> None:
    """Make the test of increasing string length: each function by itself, on strings of 2 symbols and more.

    \b
    wug make increasing-length --seed 1 -o my_lengths
    wug make increasing-length --rounds 10 --longest 40 -o my_lengths
    """
    sets.make("increasing-length", given, rounds=rounds, longest=longest)
