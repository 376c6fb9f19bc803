"""`wug make templates`: minimal pairs from a file of one's own, with categories of its own."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _templates as templates


@click.command("templates")
@click.option("--category", required=True, metavar="NAME", help="The category of the patterns that are wanted.")
@templates.options
def command(category: str, **given: Any) -> None:
    """Make pairs of sentences of any category, also of one that only --lexicon FILE has.

    \b
    wug make templates --lexicon french.toml --category accord --filename accord.tab
    """
    templates.make(category, given)
