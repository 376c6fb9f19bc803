"""`wug make localism`: sources unrolled into single steps."""

from __future__ import annotations

from typing import Any

import click

from wug.cli.make import _sets as sets


@click.command("localism")
@sets.corpus_options
@sets.output_options
def command(**given: Any) -> None:
    """Unroll sources into single steps, each with the answers to earlier ones in it.

    Of one file of sources comes one file, and -o may be its name.

    \b
    wug make localism --source test.src -o unrolled.tsv
    wug make localism --seed 1 --samples 10000 -o my_localism
    """
    sets.make("localism", given)
