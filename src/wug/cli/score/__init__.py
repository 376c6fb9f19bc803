"""`wug score`: judge answers that were made elsewhere; one module a kind."""

from __future__ import annotations

import click

from wug.cli.main import Commands


class Kinds(Commands):
    """The kinds of answers."""

    folder = "cli.score"


@click.group("score", cls=Kinds)
def command() -> None:
    """Judge answers that were made elsewhere, in the shapes in which they are published.

    Files may be gzipped. What is printed and kept is what `wug run` would print and keep.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score pairs     --predictions scored.tab --column NAME
    wug score cogs      --gold gen.tsv --predictions system.tsv
    wug score pcfgset   --predictions run=1.txt run=2.txt run=3.txt
    """
