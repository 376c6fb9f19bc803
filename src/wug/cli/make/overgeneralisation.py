"""`wug make overgeneralisation`: a few exceptions in training, and what becomes of them."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("overgeneralisation")
@sets.corpus_options
@click.option(
    "--ratio",
    "ratios",
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The share of exceptions; repeatable.  [default: 0.0001, 0.0005, 0.001, 0.005]",
)
@sets.output_options
def command(ratios: tuple[float, ...], **given: Any) -> None:
    """Make an overgeneralisation set: training lines with exceptions, and both readings of these.

    \b
    wug make overgeneralisation --seed 1 -o my_overgeneralisation
    wug make overgeneralisation --source my_pcfgset --ratio 0.002 -o my_overgeneralisation
    """
    sets.make("overgeneralisation", given, **({"ratios": ratios} if ratios else {}))
