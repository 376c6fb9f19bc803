"""`wug score substitutivity`: judge whether functions and their twins were answered alike."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli.score import _answers as answers


@click.command("substitutivity")
@click.option(
    "--predictions",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="A table with the columns source, target and prediction; repeatable.",
)
@click.option(
    "--twin",
    "twins",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="The same with twins in the sources, row by row; as often as --predictions.",
)
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    help="For plain answers: test.src, with test.tgt and test_twin.src beside it.",
)
@common.save_option
@common.db_option
@common.format_option
def command(
    paths: tuple[Path, ...], twins: tuple[Path, ...], gold: Path | None, save: bool, db: Path | None, form: str
) -> None:
    """Judge whether sources and the same sources with a synonym in them were answered alike.

    Of several runs of a test the mean comes as well, with the standard deviation of the runs themselves.

    \b
    wug score substitutivity --predictions run=1.txt --twin run=1_synonym.txt
    wug score substitutivity --gold test.src --predictions answers.txt --twin twin_answers.txt
    """
    from wug.families.pcfgset import answered_twins

    if len(paths) != len(twins):
        raise click.UsageError(
            f"--predictions is given {len(paths)} times and --twin {len(twins)} times: every file needs its twin"
        )
    judged = []
    for path, twin in zip(paths, twins, strict=True):
        found = answered_twins(path, twin, gold)
        judged.append((found.suite, answers.model_of(path.name, path, twin), found.rows))
    answers.finish(judged, population=True, save=save, db=db, form=form)
