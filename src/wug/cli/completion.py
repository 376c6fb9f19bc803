"""`wug completion`: shell completion."""

from __future__ import annotations

import click

from wug.cli import _printing as printing


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    wug completion bash >> ~/.bashrc
    wug completion zsh >> ~/.zshrc
    wug completion fish > ~/.config/fish/completions/wug.fish
    """
    from click.shell_completion import get_completion_class

    from wug.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None
    printing.print_data(kind(cli, {}, "wug", "_WUG_COMPLETE").source())
