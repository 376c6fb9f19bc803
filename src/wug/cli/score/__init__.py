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

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    """
