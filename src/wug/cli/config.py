"""`wug config`: the values that options have by default, and where they come from."""

from __future__ import annotations

import json

import click

from wug.cli import _common as common
from wug.configuration import default_cache, default_store, settings
from wug.tables import RowTable, json_safe


@common.with_options(common.TABLE_FORMAT)
@click.command("config")
def command(format: str) -> None:
    """Show the configuration: each value and where it is set.

    wug.toml in the current folder, or in the user's config folder, sets defaults for options. The command line takes
    precedence, then the environment, the file in the current folder, and the user's file.

    \b
    wug config

    A wug.toml:

    \b
    model = "causal:gpt2"
    device = "cuda:1"
    store = "runs"
    format = "json"
    [labels]
    "pythia-70m" = "Pythia 70M"
    """
    defaults = {
        "model": "a built-in model",
        "device": "the fastest",
        "store": str(default_store()),
        "cache": str(default_cache()),
        "format": "table",
        "labels": "none",
    }
    rows = [
        (name, defaults[name] if setting.value is None else _text(setting.value), setting.source)
        for name, setting in settings().items()
    ]
    common.deliver_table(RowTable(("key", "value", "source"), rows), format, None)


def _text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(json_safe(value), ensure_ascii=False)
