"""`wug make productivity`: more functions than are ever seen in training."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("productivity")
@sets.corpus_options
@click.option(
    "--most", type=click.IntRange(min=1), default=8, show_default=True, help="Functions in a training line, at most."
)
@sets.output_options
def command(most: int, **given: Any) -> None:
    """Make a productivity set: long lines are tested, short ones trained on.

    \b
    wug make productivity --seed 1 -o my_productivity
    wug make productivity --source my_pcfgset --most 6 -o my_productivity
    """
    sets.make("productivity", given, most=most)
