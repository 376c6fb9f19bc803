"""`wug score cogs`: judge logical forms that were predicted elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli.score import _answers as answers


@click.command("cogs")
@click.option(
    "--gold",
    required=True,
    type=click.Path(path_type=Path),
    help="Sentence, logical form and type, with tabs between them.",
)
@answers.predictions_option(
    "A system's forms: a file like the gold file, a table, one form a line, or JSONL", "--system"
)
@click.option(
    "--per-line",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write what there is to say about each line: .jsonl as JSON Lines, any other name as TSV.",
)
@click.option("--reference-compat", is_flag=True, help="The measures as the first public evaluator computes them.")
@click.option("--smatch", is_flag=True, help="Also the F1 of terms under the best renaming of indices.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the random starts of --smatch.")
@click.option("--bleu/--no-bleu", default=True, show_default=True, help="BLEU of all forms together.")
@click.option("--dialect", help="cogs, slog, recogs or variable_free.  [default: by the gold forms]")
@common.save_option
@common.db_option
@common.format_option
def command(
    gold: Path,
    paths: tuple[Path, ...],
    more: tuple[Path, ...],
    per_line: Path | None,
    reference_compat: bool,
    smatch: bool,
    seed: int,
    bleu: bool,
    dialect: str | None,
    save: bool,
    db: Path | None,
    form: str,
) -> None:
    """Judge predicted logical forms: exact, well-formed, equal but for order or for the names of indices, and how near.

    Of several systems (one model's seeds) the mean comes as well, with the standard deviation of a sample.

    \b
    wug score cogs --gold gen.tsv --predictions system.tsv
    wug score cogs --gold gen.tsv --predictions seed_*.tsv --format json
    wug score cogs --gold dev.tsv --system dev.tsv --reference-compat
    """
    from wug.errors import InputError
    from wug.families import cogs

    systems = answers.each_once(paths, more)
    if per_line is not None and per_line.resolve() in {path.resolve() for path in (gold, *systems)}:
        raise InputError("is what is to be judged. Give --per-line another name", file=per_line)
    scoring = cogs.score(
        gold, systems, reference_compat=reference_compat, smatch=smatch, bleu=bleu, seed=seed, dialect=dialect
    )
    if per_line is not None:
        cogs.write_per_line(scoring, per_line)
        common.say(f"wrote {per_line}")
    suite = cogs.CogsSuite(scoring.gold, scoring.settings)
    judged = [
        (suite, answers.model_of(path.name, path), system.rows(lines=save))
        for path, system in zip(systems, scoring.systems, strict=True)
    ]
    answers.finish(judged, save=save, db=db, form=form)
