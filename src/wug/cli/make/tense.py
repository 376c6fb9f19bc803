"""`wug make tense`: minimal pairs about tense in anaphoric sentences."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _templates as templates


@click.command("tense")
@templates.options
def command(**given: Any) -> None:
    """Make pairs of sentences in which a tense must fit another: When the authors arrived, they had/*have left.

    Patterns tense_when_past, tense_when_fut, tense_adv_past, tense_adv_fut and tense_vpe (graded).

    \b
    wug make tense --filename tense.tab
    wug make tense --n 50 --pattern tense_adv_past --format word
    """
    templates.make("tense", given)
