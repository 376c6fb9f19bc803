"""`wug cache`: what the output cache holds, and clearing it."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.main import SuggestingGroup
from wug.errors import UnknownName

DAY_SECONDS = 86_400


@click.group("cache", cls=SuggestingGroup)
def command() -> None:
    """Show what the output cache holds, or clear it.

    \b
    wug cache show
    wug cache clear --older-than 90
    """


@common.with_options(common.CACHE)
@command.command("show")
def show(cache: Path) -> None:
    """Print the size of the cache, and the number of outputs and bytes per model.

    \b
    wug cache show
    """
    if not cache.exists():
        printing.print_data(f"{cache}: empty")
        return
    from wug.evaluation.cache import Cache

    with closing(Cache(cache)) as output_cache:
        models = output_cache.models()
    printing.print_data(f"{cache}: {cache.stat().st_size / 1e6:,.1f} MB")
    for entry in models:
        day = datetime.fromtimestamp(entry.written, UTC).date()
        printing.print_data(f"{entry.bytes / 1e6:>9,.1f} MB  {entry.outputs:>11,} outputs  {day}  {entry.model}")


@common.with_options(common.CACHE)
@command.command("clear")
@click.option("--model", help="Only outputs of this model, as `wug cache show` names it.")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only outputs older than this.")
@click.option("--all", "everything", is_flag=True, help="All outputs.")
def clear(model: str | None, older_than: float | None, everything: bool, cache: Path) -> None:
    """Delete outputs: those of a model, those older than a number of days, or all.

    \b
    wug cache clear --older-than 90
    wug cache clear --model causal/gpt2@607a30d
    """
    from wug.evaluation.cache import Cache

    if everything == (model is not None or older_than is not None):
        raise click.UsageError("name what to delete: --model MODEL, --older-than DAYS, or --all")
    time_limit = None if older_than is None else time.time() - older_than * DAY_SECONDS
    with closing(Cache(cache)) as output_cache:
        names = [entry.model for entry in output_cache.models()]
        if model is not None and model not in names:
            raise UnknownName("model", model, names)
        count = output_cache.clear(model=model, before=time_limit)
    common.notify(f"{count:,} outputs deleted")
