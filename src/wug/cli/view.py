"""`wug view`: the runs in the browser."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wug.cli import _common as common

PORT = 8765
OWN = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine can reach."""


@common.having(common.DB)
@click.command("view")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="P",
    help=f"The port; 0 takes a free one.  [default: {PORT}, or a free one where that is taken]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen at. At any other than your own machine's, pages go over the network unencrypted.",
)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open the browser.")
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="A folder with suites that the editor may read and write; repeatable.  [default: the current one]",
)
@click.option("--model", "models", multiple=True, metavar="MODEL", help="A model that pages may ask; repeatable.")
@click.option(
    "--cache",
    type=common.FILE,
    envvar="WUG_CACHE",
    help="The file of cached answers.  [default: answers.db in the user's cache folder]",
)
def command(
    port: int | None,
    host: str,
    opens: bool,
    folders: tuple[Path, ...],
    models: tuple[str, ...],
    cache: Path | None,
    db: Path | None,
) -> None:
    """Look at runs in the browser; write suites, try sentences there.

    \b
    wug view
    wug view --model causal:gpt2 --folder suites
    wug view --db demo/wug.db --no-open

    Everything stays on this machine: the page is for you alone, and asks nothing of the network. The address that is
    printed holds a secret that lets a browser in, new with every start; WUG_VIEW_TOKEN in the environment fixes it.
    """
    from wug.errors import MissingExtra

    try:
        from wug.web.server import ServerOptions, serve
    except ImportError:
        raise MissingExtra("wug view", "web") from None
    if host not in OWN:
        common.say(
            f"warning: at {host} others may reach this page too. Whoever gets to know the printed address can look at "
            "every run and write into the folders, and it goes over the network unencrypted"
        )
    serve(
        ServerOptions(
            db=db or common.default_db(),
            cache=cache or common.default_cache(),
            folders=tuple(folder.resolve() for folder in folders) or (Path.cwd(),),
            models=models,
            host=host,
            port=PORT if port is None else port,
            strict_port=port not in (None, 0),
            open_browser=opens,
            access_token=os.environ.get("WUG_VIEW_TOKEN") or None,
        ),
        say=click.echo,
    )
