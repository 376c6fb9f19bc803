"""`wug schema`: print the JSON Schema of a family's files."""

from __future__ import annotations

import json

import click

from wug import registry
from wug.cli import _printing as printing
from wug.errors import WugError


@click.command("schema")
@click.argument("kind")
def command(kind: str) -> None:
    """Print the JSON Schema of a family's files, for editors.

    \b
    wug schema syntaxgym > suite.schema.json
    """
    schema = registry.family(kind).schema
    if schema is None:
        raise WugError(f"{kind} files are not JSON and have no schema; the docs describe their format")
    printing.print_data(json.dumps(json.loads(schema), indent=2, ensure_ascii=False))
