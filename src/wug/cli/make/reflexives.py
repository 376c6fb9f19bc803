"""`wug make reflexives`: minimal pairs about reflexive pronouns."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _templates as templates


@click.command("reflexives")
@templates.options
def command(**given: Any) -> None:
    """Make pairs of sentences with reflexive pronouns, in the categories of Marvin & Linzen (2018).

    Patterns simple_reflexives, reflexive_sent_comp and reflexives_across.

    \b
    wug make reflexives --n 100 --filename reflexives.tab
    wug make reflexives --all --pattern simple_reflexives
    """
    templates.make("reflexives", given)
