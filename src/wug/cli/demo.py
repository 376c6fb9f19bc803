"""`wug demo`: evaluate the built-in models on the built-in suites."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.families.commands import FOLDER, POSITIVE
from wug.interfaces import Suite
from wug.outcomes import Result
from wug.views import chart_files

if TYPE_CHECKING:
    from wug.evaluation.request import RecordedRun


RUNS = {
    "wug-causal": (("wug_syntaxgym", "wug_pairs"), 200),
    "wug-lstm": (("wug_syntaxgym", "wug_pairs"), 200),
    "wug-masked": (("wug_pairs",), 50),
    "wug-pcfg": (("wug_pcfgset",), 60),
    "wug-cogs": (("wug_cogs",), 105),
}
"""The built-in suites of each built-in model, and the maximum number of items per suite."""


@click.command("demo")
@click.option(
    "-o", "--output", type=FOLDER, default="demo", show_default=True, help="Folder for the runs and the report."
)
@click.option("--limit", type=POSITIVE, metavar="N", help="Only N items per suite.")
def command(output: Path, limit: int | None) -> None:
    """Evaluate the built-in models on built-in suites; write a report.

    Takes a few minutes on two cores, offline. Each suite is sampled, stratified by group.

    \b
    wug demo
    wug demo --limit 20 --output /tmp/demo
    """
    from wug.evaluation.suites import open_suites
    from wug.results.store import Store

    chart_files.require()
    suites = {name: open_suites(name) for name in dict.fromkeys(name for names, _ in RUNS.values() for name in names)}
    recorded_runs = []
    for model, (names, items) in RUNS.items():
        samples = [suite.sample(min(items, limit or items)) for name in names for suite in suites[name]]
        common.notify(f"evaluating {model} on {sum(map(len, samples)):,} items of {', '.join(names)}")
        recorded_runs.append(_evaluate(model, samples, output))
    store = Store(output / "store")
    page = output / "report.html"
    runs = [run.number or 0 for run in recorded_runs]
    common.write_page(store, runs, None, page)
    common.deliver([_headline(result) for run in recorded_runs for result in run.results], common.ResultOptions())
    printing.print_text(_next_commands(page, store.path, runs))


def _evaluate(model: str, suites: Sequence[Suite], output: Path) -> RecordedRun:
    from wug.evaluation.request import RunRequest
    from wug.evaluation.service import execute

    request = RunRequest(
        suites=suites,
        models=[model],
        model_options={"device": "cpu"},
        store=output / "store",
        cache=output / "answers.db",
        command=common.command_line(),
    )
    with common.progress(model) as update:
        (run,) = execute(request, lambda event: update(*event.requests)).recorded.values()
    return run


def _headline(result: Result) -> Result:
    """The result with its headline metric only, since there are 35."""
    return replace(result, estimates=() if result.headline is None else (result.headline,), warnings=())


def _next_commands(page: Path, store_path: Path, runs: Sequence[int]) -> str:
    wug = "wug" if shutil.which("wug") else sys.argv[0]
    first, second = runs[0], runs[1]
    return (
        f"\nThe report: {page}\nTry next:\n"
        f"  {wug} view --store {store_path}\n      browse these runs, write a suite, try a sentence\n"
        f"  {wug} compare {first} {second} --store {store_path}\n      is one model better than the other?\n"
        f"  {wug} run wug_agreement_pp --model causal:gpt2\n      a larger model, by folder or Hugging Face name\n"
        f"  {wug} list suites\n      all built-in suites"
    )
