"""`wug make agreement`: minimal pairs about subject-verb agreement."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _templates as templates


@click.command("agreement")
@templates.options
def command(**given: Any) -> None:
    """Make pairs of sentences with subject-verb agreement, in the categories of Marvin & Linzen (2018).

    All of them (--all) are as many grammatical sentences as in the published sets: 126,260.

    \b
    wug make agreement --n 100 --filename agreement.tab
    wug make agreement --all --pattern prep_anim --filename prep_anim.tab
    """
    templates.make("agreement", given)
