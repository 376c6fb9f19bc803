"""`wug make npi`: minimal pairs about negative polarity items."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _templates as templates


@click.command("npi")
@templates.options
def command(**given: Any) -> None:
    """Make pairs of sentences with negative polarity items, in the categories of Marvin & Linzen (2018).

    They differ before the word that shows the error, so they can only be sentence-focused.

    \b
    wug make npi --n 100 --filename npi.tab
    wug make npi --all --filename npi_all.tab
    """
    templates.make("npi", given)
