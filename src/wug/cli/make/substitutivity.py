"""`wug make substitutivity`: functions with a synonym, in both training conditions."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("substitutivity")
@sets.corpus_options
@click.option(
    "--per-function",
    type=click.IntRange(min=1),
    help="Test lines for each of the four functions.  [default: as many as there are, 2,500 at most]",
)
@sets.output_options
def command(per_function: int | None, **given: Any) -> None:
    """Make a substitutivity set: four functions have twins, equally distributed in training or only primitive.

    \b
    wug make substitutivity --seed 1 -o my_substitutivity
    wug make substitutivity --source my_pcfgset --per-function 500 -o my_substitutivity
    """
    sets.make("substitutivity", given, per_function=per_function)
