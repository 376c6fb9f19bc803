"""Commands that make SCAN and score predictions on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from wug.families import commands as family

SPLIT_NAMES = ("simple", "length", "addprim-jump", "addprim-turn-left", "template", "filler", "few-shot")


def score_scan(paths: Sequence[Path], *, gold: Path, oracle_length: bool) -> family.ScoredSuites:
    """Score outputs for the commands of a SCAN file.

    Outputs are one per line, or lines `IN: … OUT: …`, a table with the columns source and prediction, or the H- lines
    of fairseq. With several runs, the mean and the population standard deviation are reported too.

    \b
    wug score scan --gold tasks_test_length.txt --predictions out.txt
    wug score scan --gold tasks_test_length.txt --predictions run=*.txt --oracle-length
    """
    from wug.families.scan.suite import score_outputs

    return family.each_scored(paths, lambda path: score_outputs(path, gold, oracle_length=oracle_length))


def make_scan(*, output: Path | None, check: Path | None, force: bool, **options: Any) -> str | None:
    """Write the files of a split, and compare them with published ones."""
    from wug.errors import InputError
    from wug.families.scan import make

    if output is None and check is None:
        raise click.UsageError("give a folder with -o, or one to compare with, --check")
    plan = make.ScanPlan(**{name: value for name, value in options.items() if value not in (None, ())})
    files = make.make(plan)
    if output is not None:
        family.write_made(files, output, force=force)
    if check is None:
        return None
    random = plan.split in make.RANDOM
    differences = list(make.differences(files, check, random=random))
    if differences:
        raise InputError("not the same\n  " + "\n  ".join(differences), file=check)
    return f"{check}: the same {'numbers' if random else 'sets'} of lines"


SCORE = (
    family.ScoreCommand(
        "scan",
        score_scan,
        (
            family.predictions("Outputs, one per line"),
            family.FILES,
            family.option("--gold", "SCAN file with the commands and targets.", type=family.PATH, required=True),
            family.option(
                "--oracle-length",
                "Also compute the accuracy of outputs cut or padded to the length of the target.",
                is_flag=True,
            ),
        ),
    ),
)

MAKE = (
    family.MakeCommand(
        "scan",
        make_scan,
        (
            family.option("--split", "Which split to make.", type=click.Choice(SPLIT_NAMES), required=True),
            family.option(
                "--train-percent",
                "Proportion of commands to train on, for simple.  [default: 80]",
                type=click.IntRange(1, 99),
            ),
            family.option(
                "--examples",
                "Number of added examples, for few-shot; repeatable.  [default: 1, 2, 4, … 1024]",
                multiple=True,
                type=family.POSITIVE,
            ),
            family.option(
                "--samples",
                "Random samples per number of examples, for few-shot.  [default: 1; published: 5]",
                type=family.POSITIVE,
            ),
            family.SEED,
            family.option("-o --output", "Folder for the files, which have the published names.", type=family.FOLDER),
            family.option(
                "--check",
                "Compare with the published files in this folder, as sets of lines with counts.",
                type=click.Path(path_type=Path, file_okay=False, exists=True),
            ),
            family.FORCE,
        ),
        """Make a split of SCAN: training and test files, as lines `IN: COMMAND OUT: ACTIONS`.

        length, addprim-jump, addprim-turn-left, template and filler have the published sets of lines in a random order.
        simple and few-shot are drawn by the seed; --check compares only their sizes.

        \b
        wug make scan --split length -o my_scan
        wug make scan --split addprim-jump -o my_scan --check SCAN/add_prim_split
        wug make scan --split few-shot --examples 32 --samples 5 -o few_shot
        """,
    ),
)
