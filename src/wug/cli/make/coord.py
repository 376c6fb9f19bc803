"""`wug make coord`: minimal pairs about agreement with coordinated subjects."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _templates as templates


@click.command("coord")
@templates.options
def command(**given: Any) -> None:
    """Make pairs of sentences with coordinated subjects: The author and the guard are/*is tired.

    Patterns coord_short_ss … coord_both_pp, and the controls simple_sing and simple_plur.

    \b
    wug make coord --filename coord.tab
    wug make coord --n 50 --seed 7 --pattern coord_long_rc1 --pattern simple_sing
    wug make coord --all --format word --filename coord_words.tab
    """
    templates.make("coord", given)
