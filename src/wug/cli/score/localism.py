"""`wug score localism`: judge a trace of questions and answers, step by step and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.score import _answers as answers


@click.command("localism")
@answers.predictions_option("A trace: lines `source -> answer` between lines of dashes, the whole source last")
@click.option(
    "--tree",
    "trees",
    multiple=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Print sample N as a tree instead of the results; repeatable.",
)
@common.save_option
@common.db_option
@common.format_option
def command(
    paths: tuple[Path, ...],
    more: tuple[Path, ...],
    trees: tuple[int, ...],
    save: bool,
    db: Path | None,
    form: str,
) -> None:
    """Judge whether sources were answered alike step by step and as a whole.

    Of several runs the mean comes as well, with the standard deviation of the runs themselves. --tree shows what
    was answered at each step of a sample, and where it first went wrong.

    \b
    wug score localism --predictions run=1.txt.gz
    wug score localism --predictions run=1.txt.gz --tree 12
    """
    from wug.families.pcfgset import answered_steps

    chosen = answers.each_once(paths, more)
    if trees:
        printing.echo("\n\n".join(text for path in chosen for text in _drawn(path, trees)))
        return
    judged = []
    for path in chosen:
        found = answered_steps(path)
        judged.append((found.suite, answers.model_of(path.name, path), found.rows))
    answers.finish(judged, population=True, save=save, db=db, form=form)


def _drawn(path: Path, samples: Sequence[int]) -> list[str]:
    """Samples of a trace as trees."""
    from wug.errors import InputError
    from wug.families.pcfgset import answer_tree, answered_steps
    from wug.types import Outcome

    found = answered_steps(path)
    for number in samples:
        if number > len(found.suite):
            raise InputError(f"there is no sample {number:,}: the trace has {len(found.suite):,}", file=path)
    details = {row.item: row.detail for row in found.rows if isinstance(row, Outcome) and row.check == "consistency"}
    return [f"{path.name}, sample {number}\n{answer_tree(details[str(number)])}" for number in samples]
