"""`wug make`: new test material; one module a kind."""

from __future__ import annotations

import click

from wug.cli.main import Commands


class Kinds(Commands):
    """The kinds of material."""

    folder = "cli.make"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; where no command comes first, `--type KIND` names it, as in make_templates.py."""
        if args and args[0].startswith("-") and "--type" in args[:-1]:
            place = args.index("--type")
            args = [args[place + 1], *args[:place], *args[place + 2 :]]
        return super().parse_args(ctx, args)


@click.group("make", cls=Kinds)
def command() -> None:
    """Make new test material: minimal pairs from templates, sets of the PCFG SET family, COGS-style data.

    The same seed always makes the same files. A file that exists is not written over without --force.

    \b
    wug make coord --n 200 --seed 1 --filename coord.tab
    wug make pcfgset --seed 1 -o my_pcfgset
    wug make localism --source test.src -o unrolled.tsv
    wug make cogs --seed 1 -o my_cogs
    """
