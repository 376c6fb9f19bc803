"""`wug view`: browse runs."""

from __future__ import annotations

import os
from pathlib import Path

import click

from wug.cli import _common as common
from wug.errors import needs_extra

PORT = 8765
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


@common.with_options(common.CACHE, common.STORE)
@click.command("view")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="P",
    help=f"Port; 0 for a free one.  [default: {PORT}, or a free one if that is taken]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Any other than the default sends pages over the network unencrypted.",
)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open the browser.")
@click.option(
    "--folder",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of suites that the editor may read and write; repeatable.  [default: the current one]",
)
@click.option("--model", "models", multiple=True, metavar="MODEL", help="Model that pages may run; repeatable.")
def command(
    port: int | None,
    host: str,
    opens: bool,
    folders: tuple[Path, ...],
    models: tuple[str, ...],
    cache: Path,
    store_path: Path,
) -> None:
    """Browse runs, write suites and try sentences in the browser.

    \b
    wug view
    wug view --model causal:gpt2 --folder suites
    wug view --store demo/store --no-open

    Everything stays on this machine, and works offline. The printed address contains an access token, new with every
    start; the environment variable WUG_VIEW_TOKEN sets it.
    """
    with needs_extra("wug view", "web"):
        from wug.web.app import ServerOptions, serve
    if host not in LOCAL_HOSTS:
        common.notify(
            f"warning: others can reach {host}. Anyone with the printed address can see every run and write to the "
            "folders, and pages are sent over the network unencrypted"
        )
    serve(
        ServerOptions(
            store=store_path,
            cache=cache,
            folders=tuple(folder.resolve() for folder in folders) or (Path.cwd(),),
            models=models,
            host=host,
            port=PORT if port is None else port,
            strict_port=port not in (None, 0),
            open_browser=opens,
            access_token=os.environ.get("WUG_VIEW_TOKEN") or None,
        ),
        notify=click.echo,
    )
