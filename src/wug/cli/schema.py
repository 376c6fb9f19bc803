"""`wug schema`: print the JSON Schema of a family's files."""

from __future__ import annotations

import json
from importlib import resources

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
    module = registry.find("families", kind)
    try:
        schema = (resources.files(module) / "schema.json").read_text(encoding="utf-8")
    except (FileNotFoundError, TypeError):  # a module has no files
        raise WugError(f"{kind} files are not JSON and have no schema; the docs describe their format") from None
    printing.emit(json.dumps(json.loads(schema), indent=2, ensure_ascii=False))
