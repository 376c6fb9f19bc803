"""`wug score`: score predictions of other tools, with commands that families declare."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.main import DeclaredGroup
from wug.families.commands import FamilyCommands, ScoreCommand


class ScoreGroup(DeclaredGroup):
    """The commands in `SCORE` of the families."""

    def declared_by(self, commands: FamilyCommands) -> Iterator[click.Command]:
        """The options that are declared, and those of results."""
        for scored in commands.SCORE:
            params = [*scored.options, *common.RESULT_OPTIONS]
            help = scored.score.__doc__
            yield click.Command(scored.name, params=params, callback=partial(_score, scored), help=help)


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
    declared: ScoreCommand,
    *,
    paths: tuple[Path, ...],
    more: tuple[Path, ...] = (),
    save: bool,
    store_path: Path,
    **values: Any,
) -> None:
    from wug.evaluation.evaluate import build_result, build_signature
    from wug.results.average import averages

    gc.disable()  # it would look at all outcomes again and again
    click.get_current_context().call_on_close(gc.enable)
    result_options = common.ResultOptions.from_values(values)
    # A file that is given with and without the option counts once.
    scored_suites = declared.score(list(dict.fromkeys([*paths, *more])) if more else paths, **values)
    if isinstance(scored_suites, str):
        printing.print_text(scored_suites)
        return
    results = [
        build_result(suite, model, build_signature(suite.name, suite.checksum, suite.options, model, {}), rows)
        for suite, model, rows in scored_suites
    ]
    if declared.spread is not None and declared.unaveraged not in values.get("suite_options", ()):
        results += averages(results, population=declared.spread == "population")
    hint = common.store_runs(results, store_path) if save else None
    common.deliver_new(results, result_options, hint)
