"""`wug score pairs`: judge log-probabilities that were computed elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli.score import _answers as answers


@click.command("pairs")
@answers.predictions_option("A table in the original format with log-probabilities in further columns")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="A column of log-probabilities; repeatable.  [default: all that the format itself does not have]",
)
@common.save_option
@common.db_option
@common.format_option
def command(
    paths: tuple[Path, ...], more: tuple[Path, ...], columns: tuple[str, ...], save: bool, db: Path | None, form: str
) -> None:
    """Judge the log-probabilities beside minimal pairs, each column as a model of its own.

    Of several columns the mean comes as well, with the standard deviation of a sample.

    \b
    wug score pairs --predictions best_model.tab.gz --column hidden650_batch128_dropout0.2_lr20.0
    wug score pairs --predictions all_models.tab.gz --format csv
    """
    from wug.families.pairs import read_published

    judged = []
    for path in answers.each_once(paths, more):
        found = read_published(path, columns)
        judged += [(found.suite, answers.model_of(name, path), rows) for name, rows in found.columns.items()]
    answers.finish(judged, save=save, db=db, form=form)
