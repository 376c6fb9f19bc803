"""Commands that make COGS-style sets, and score predicted logical forms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wug.families import commands as family


def _make(*, folder: Path, seed: int, train: int, test: int, gen_per_type: int, force: bool) -> None:
    from wug.families.cogs import make

    family.write_made(make.make(seed, make.Sizes(train, test, gen_per_type)), folder, force=force)


def score_cogs(paths: Sequence[Path], *, gold: Path, per_line: Path | None, **options: Any) -> family.ScoredSuites:
    """Score predicted logical forms: exact match, well-formedness, equality up to order or index names, and similarity.

    With several systems (seeds of one model), the mean and the sample standard deviation are reported too.

    \b
    wug score cogs --gold gen.tsv --predictions system.tsv
    wug score cogs --gold gen.tsv --predictions seed_*.tsv --format json
    wug score cogs --gold dev.tsv --system dev.tsv --reference-compat
    """
    from wug.errors import InputError
    from wug.families.cogs import score
    from wug.families.cogs import suite as scoring
    from wug.families.cogs.read import read_predictions
    from wug.families.cogs.syntax import read_syntax, syntax_dialect
    from wug.files import format_of

    if per_line is not None and per_line.resolve() in {path.resolve() for path in (gold, *paths)}:
        raise InputError("is one of the files to score. Give --per-line another name", file=per_line)
    if per_line is not None:
        format_of(per_line, {".tsv": "tsv", ".txt": "tsv", ".jsonl": "jsonl"})
    if (syntax := syntax_dialect(gold, options["dialect"])) is not None:
        if per_line is not None:
            raise click.UsageError("--per-line is for logical forms")
        suite = read_syntax(gold, syntax)
        predictions = [read_predictions(path, suite.items) for path in paths]
        for path, (forms, _) in zip(paths, predictions, strict=True):
            yield suite, family.model_id(path.name, path), suite.score(forms)
        return
    systems = score(gold, paths, **options)
    if per_line is not None:
        scoring.write_per_line(scoring.per_line(systems), per_line)
        family.notify(f"wrote {per_line}")
    save: bool = click.get_current_context().params["save"]  # results that are not stored need no row per line
    for path, system in zip(paths, systems, strict=True):
        yield system.suite, family.model_id(path.name, path), system.rows(lines=save)


def _size(name: str, default: int, help: str) -> click.Option:
    return family.option(name, help, type=family.POSITIVE, default=default)


MAKE = (
    family.MakeCommand(
        "cogs",
        _make,
        (
            family.option(
                "-o --output folder",
                "Folder for train.tsv, dev.tsv, test.tsv and gen.tsv.",
                type=family.FOLDER,
                required=True,
            ),
            family.SEED,
            _size("--train", 24_155, "Training lines, including 155 primitives and single examples."),
            _size("--test", 3_000, "Lines of dev and of test."),
            _size("--gen-per-type", 1_000, "Lines per generalisation type in gen."),
            family.FORCE,
        ),
        """Make a COGS-style set with wug's own grammar and words: sentences with their logical forms.

        gen.tsv has the 21 generalisation types of COGS, each held out of train.tsv: words in new roles, verbs in new
        frames, modified subjects, deeper recursion. train.tsv does not depend on the sizes of the other files.

        \b
        wug make cogs --seed 1 -o my_cogs
        wug make cogs --train 5000 --test 500 --gen-per-type 50 -o small
        """,
    ),
)
SCORE = (
    family.ScoreCommand(
        "cogs",
        score_cogs,
        (
            family.option(
                "--gold", "Table of sentence, logical form (or tree, tags) and type.", required=True, type=family.PATH
            ),
            family.predictions(
                "A system's forms: a file like the gold file, a table, one form per line, or JSONL", "--system"
            ),
            family.FILES,
            family.option(
                "--per-line",
                "Write every measure of each line to a file: .tsv (or .txt), or .jsonl.",
                type=family.OUTPUT_FILE,
                metavar="FILE",
            ),
            family.option("--reference-compat", "Compute measures as the first public evaluator.", is_flag=True),
            family.option("--smatch", "Add the F1 of terms under the best renaming of indices.", is_flag=True),
            family.option("--seed", "Random seed for --smatch.", type=int, default=0),
            family.option("--bleu/--no-bleu", "Compute BLEU over all forms.", default=True),
            family.option(
                "--dialect", "cogs, slog, recogs, variable_free, tree, tags or answers.  [default: from the gold file]"
            ),
        ),
        spread="sample",
    ),
)
