"""The command that scores SyntaxGym suites with region values from another program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wug.families.commands import PATH, ScoreCommand, ScoredSuites, model_id, option, predictions


def score_evaluated(paths: Sequence[Path], *, gold: Path | None, metric: str | None, empty: str) -> ScoredSuites:
    """Score evaluated suites: test the predictions on the region values in a file.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score syntaxgym --predictions out_grnn.json --gold suite.json --metric mean --format tsv
    """
    from wug.families.syntaxgym.evaluated import read_evaluated

    for path in paths:
        evaluated = read_evaluated(path, gold, metric, empty)
        yield evaluated.suite, model_id(evaluated.model or path.name, path), evaluated.rows()


SCORE = (
    ScoreCommand(
        "syntaxgym",
        score_evaluated,
        (
            predictions("Evaluated suite (metric_value in each region)"),
            option("--gold", "Suite with the predictions, if the evaluated one has none.", type=PATH),
            option("--metric", "Use only this metric: sum, mean, median, range, max, min."),
            option(
                "--empty",
                "How to treat items with an empty region that a prediction compares.",
                type=click.Choice(["exclude", "zero", "refuse"]),
                default="exclude",
            ),
        ),
        spread=None,
    ),
)
