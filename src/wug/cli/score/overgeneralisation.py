"""`wug score overgeneralisation`: judge how exceptions were read, over the epochs of a training."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli.score import _answers as answers


@click.command("overgeneralisation")
@answers.predictions_option("A log with both accuracies of each epoch, or, with --gold, the answers of one model")
@click.option(
    "--gold",
    type=click.Path(path_type=Path),
    help="For answers: …_exception.src, with its targets and the …_original files beside it.",
)
@common.save_option
@common.db_option
@common.format_option
def command(
    paths: tuple[Path, ...], more: tuple[Path, ...], gold: Path | None, save: bool, db: Path | None, form: str
) -> None:
    """Judge whether exceptions were read by the rules or as exceptions.

    Of several runs the mean comes as well, with the standard deviation of the runs themselves; the ratio=… in the
    name of a log says which belong together.

    \b
    wug score overgeneralisation --predictions ratio=0.001_run=1.txt
    wug score overgeneralisation --predictions ratio=*.txt --format csv
    wug score overgeneralisation --gold test_pcfg_ratio=0.001_exception.src --predictions answers.txt
    """
    from wug.families.pcfgset import answered_exceptions

    judged = []
    for path in answers.each_once(paths, more):
        found = answered_exceptions(path, gold)
        judged.append((found.suite, answers.model_of(path.name, path), found.rows))
    answers.finish(judged, population=True, save=save, db=db, form=form)
