"""`wug make`: make test data, with commands that families declare."""

from __future__ import annotations

from collections.abc import Iterator

import click

from wug.cli import _printing as printing
from wug.cli.main import DeclaredGroup
from wug.families.commands import FamilyCommands


class MakeGroup(DeclaredGroup):
    """The commands in `MAKE` of the families."""

    def declared_by(self, commands: FamilyCommands) -> Iterator[click.Command]:
        """The options and the functions, as they are declared."""
        for made in commands.MAKE:
            yield click.Command(made.name, params=list(made.options), callback=made.make, help=made.help)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; `--type KIND` may replace KIND, as in make_templates.py."""
        if args and args[0].startswith("-") and "--type" in args[:-1]:
            index = args.index("--type")
            args = [args[index + 1], *args[:index], *args[index + 2 :]]
        return super().parse_args(ctx, args)


@click.group("make", cls=MakeGroup)
def command() -> None:
    """Make new test data: pairs, wug tests, PCFG SET, SCAN, COGS.

    The same seed always makes the same files. Existing files are not overwritten without --force.

    \b
    wug make coord --n 200 --seed 1 --filename coord.tab
    wug make pcfgset --samples 5000 --seed 1 -o my_pcfgset
    wug make localism --source test.src -o unrolled.tsv
    wug make scan --split length -o my_scan
    wug make cogs --seed 1 -o my_cogs
    wug make morphology plural --items 60 -o plurals.csv
    """


@command.result_callback()
def _print(text: str | None) -> None:
    if text:
        printing.print_data(text.removesuffix("\n"))
