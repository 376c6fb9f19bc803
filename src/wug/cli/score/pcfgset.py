"""`wug score pcfgset`: judge answers to PCFG SET sources that were made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli.score import _answers as answers


def two_files(ctx: click.Context, param: click.Parameter, value: tuple[Path, Path] | None) -> tuple[Path, Path] | None:
    """The callback of --gold, which swallows the option after it where only one file is given."""
    if value is not None and value[1].name.startswith("-"):
        raise click.BadParameter(f"takes two files, sources and targets, and got {value[0]} alone", ctx, param)
    return value


@click.command("pcfgset")
@answers.predictions_option("A table with the columns source, target and prediction, or, with --gold, plain answers")
@click.option(
    "--gold",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="SRC TGT",
    callback=two_files,
    help="The sources and targets that plain answers belong to, line by line.",
)
@common.save_option
@common.db_option
@common.format_option
def command(
    paths: tuple[Path, ...],
    more: tuple[Path, ...],
    gold: tuple[Path, Path] | None,
    save: bool,
    db: Path | None,
    form: str,
) -> None:
    """Judge answers to the task itself, to systematicity, productivity, or any set with one target a source.

    Plain answers stand one a line, or are the H- lines of fairseq. Of several runs of a test the mean comes as
    well, with the standard deviation of the runs themselves (as Hupkes et al. print it).

    \b
    wug score pcfgset --predictions run=1.txt
    wug score pcfgset --predictions systematicity/run=*.txt.gz --format json
    wug score pcfgset --gold test.src test.tgt --predictions answers.txt
    """
    from wug.families.pcfgset import answered_plain

    judged = []
    for path in answers.each_once(paths, more):
        found = answered_plain(path, gold)
        judged.append((found.suite, answers.model_of(path.name, path), found.rows))
    answers.finish(judged, population=True, save=save, db=db, form=form)
