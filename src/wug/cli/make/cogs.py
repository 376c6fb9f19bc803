"""`wug make cogs`: sentences with logical forms, train, dev, test and gen."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli.make import _files as files


@click.command("cogs")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The folder for train.tsv, dev.tsv, test.tsv and gen.tsv.",
)
@files.seed_option
@click.option(
    "--train",
    type=click.IntRange(min=1),
    default=24_155,
    show_default=True,
    help="Training lines, 155 primitives and single examples included.",
)
@click.option("--test", type=click.IntRange(min=1), default=3_000, show_default=True, help="Lines of dev and of test.")
@click.option(
    "--gen-per-type", type=click.IntRange(min=1), default=1_000, show_default=True, help="Lines of each type in gen."
)
@files.force_option
def command(folder: Path, seed: int, train: int, test: int, gen_per_type: int, force: bool) -> None:
    """Make a COGS-style set with a grammar and words of wug's own: sentences with their logical forms.

    gen.tsv has the 21 types of COGS, each held out of train.tsv: words in new roles, verbs in new frames, modifiers
    on subjects, deeper recursion. train.tsv is the same whatever the sizes of the other files.

    \b
    wug make cogs --seed 1 -o my_cogs
    wug make cogs --train 5000 --test 500 --gen-per-type 50 -o small
    """
    from wug.families.cogs.make import data

    names = ("train.tsv", "dev.tsv", "test.tsv", "gen.tsv")
    files.refuse_existing([folder / name for name in names], force)
    made = data.make(seed, data.Sizes(train, test, gen_per_type))
    for path, lines in zip(data.write(made, folder), made.values(), strict=True):
        common.say(f"wrote {path}: {len(lines):,} lines")
