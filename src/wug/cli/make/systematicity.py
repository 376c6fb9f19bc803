"""`wug make systematicity`: four pairs of functions that are never seen in training."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("systematicity")
@sets.corpus_options
@sets.output_options
def command(**given: Any) -> None:
    """Make a systematicity set: lines with one of four pairs of functions are tested, all others trained on.

    \b
    wug make systematicity --seed 1 -o my_systematicity
    wug make systematicity --source my_pcfgset -o my_systematicity
    """
    sets.make("systematicity", given)
