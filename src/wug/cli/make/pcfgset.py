"""`wug make pcfgset`: train, dev and test of the task itself."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("pcfgset")
@sets.corpus_options
@sets.output_options
def command(**given: Any) -> None:
    """Make a PCFG SET corpus: train, dev and test, as .src and .tgt files.

    Sources are drawn to the depths and lengths of a table; no string of symbols is used twice.

    \b
    wug make pcfgset --seed 1 -o my_pcfgset
    wug make pcfgset --samples 1000 --statistics --beside test.src -o small
    wug make pcfgset --no-table --unary 0.6 --function 0.5 -o by_grammar
    """
    sets.make("pcfgset", given)
