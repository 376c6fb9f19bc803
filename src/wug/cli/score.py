"""`wug score`: score predictions of other tools, with commands that families declare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.main import DeclaredGroup
from wug.families.commands import FamilyCommands, ScoreCommand


class ScoreGroup(DeclaredGroup[ScoreCommand]):
    """The commands in `SCORE` of the families."""

    def declared_by(self, commands: FamilyCommands) -> Sequence[ScoreCommand]:
        """The commands of a family that are in this group."""
        return commands.SCORE

    def command_of(self, declared: ScoreCommand) -> click.Command:
        """The options that are declared, and those of results."""
        return click.Command(
            declared.name,
            params=[*declared.options, *common.RESULT_OPTIONS],
            callback=partial(_score, declared),
            help=declared.score.__doc__,
        )


@click.group("score", cls=ScoreGroup)
def command() -> None:
    """Score predictions from another tool, in published formats.

    Files may be gzipped. Results are printed and stored as those of `wug run`.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score pairs     --predictions scores.csv -S good_score=COLUMN -S bad_score=COLUMN
    wug score people    --responses human_responses.csv
    wug score cogs      --gold gen.tsv --predictions system.tsv
    wug score pcfgset   --predictions run=1.txt run=2.txt run=3.txt
    wug score morphology --gold eng.judgements.dev --predictions system.tsv
    """


def _score(
    declared: ScoreCommand, *, paths: tuple[Path, ...], more: tuple[Path, ...] | None = None, **values: Any
) -> None:
    from wug.evaluation.evaluate import build_result, build_signature
    from wug.results.average import averages

    result_options = common.ResultOptions.from_values(values)
    # A file that is given with and without the option counts once.
    scored_suites = declared.score(paths if more is None else list(dict.fromkeys([*paths, *more])), **values)
    if isinstance(scored_suites, str):
        printing.print_text(scored_suites)
        return
    results = [
        build_result(suite, model, build_signature(suite.name, suite.checksum, suite.options, model, {}), rows)
        for suite, model, rows in scored_suites
    ]
    if declared.spread is not None and declared.unaveraged not in values.get("suite_options", ()):
        results += averages(results, population=declared.spread == "population")
    hint = common.store_runs(results, result_options.store_path) if result_options.save else None
    common.deliver_new(results, result_options, hint)
