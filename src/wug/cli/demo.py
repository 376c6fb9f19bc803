"""`wug demo`: evaluate the built-in models on the built-in suites."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.families.commands import FOLDER, POSITIVE
from wug.files import write_text
from wug.types import Result, Suite
from wug.views import charts

if TYPE_CHECKING:
    from wug.evaluation.request import RecordedRun


@dataclass(frozen=True, slots=True)
class DemoRun:
    """A built-in model and the built-in suites that it is evaluated on."""

    model: str
    suites: tuple[str, ...]
    items: int
    """The maximum number of items per suite."""


RUNS = (
    DemoRun("wug-causal", ("wug_syntaxgym", "wug_pairs"), 200),
    DemoRun("wug-lstm", ("wug_syntaxgym", "wug_pairs"), 200),
    DemoRun("wug-masked", ("wug_pairs",), 50),
    DemoRun("wug-pcfg", ("wug_pcfgset",), 60),
    DemoRun("wug-cogs", ("wug_cogs",), 105),
)


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    default="demo",
    show_default=True,
    help="Folder for the runs and the report.",
)
@click.option("--limit", type=POSITIVE, metavar="N", help="Only N items per suite.")
def command(output: Path, limit: int | None) -> None:
    """Evaluate the built-in models on built-in suites; write a report.

    Takes a few minutes on two cores, offline. Each suite is sampled, stratified by group.

    \b
    wug demo
    wug demo --limit 20 --output /tmp/demo
    """
    from wug.evaluation.opening import open_suites, require_packages
    from wug.results.store import Store
    from wug.views.report import ReportedResult, render

    charts.require()
    suites = {name: open_suites(name) for name in dict.fromkeys(name for demo in RUNS for name in demo.suites)}
    require_packages(suite for some in suites.values() for suite in some)
    kept = []
    for demo in RUNS:
        items = min(demo.items, limit or demo.items)
        kept.append(_evaluate(demo, [suite.sample(items) for name in demo.suites for suite in suites[name]], output))
    store = Store(output / "store")
    reports = [
        ReportedResult(result, run=one.number, command=run.command, created=run.started)
        for one in kept
        for run in [store.run(one.number or 0)]
        for result in one.results
    ]
    page = output / "report.html"
    write_text(page, render(reports))
    common.deliver([_headline(result) for one in kept for result in one.results], common.ResultOptions())
    printing.echo(_next(page, store.path, [one.number or 0 for one in kept]))


def _evaluate(demo: DemoRun, suites: Sequence[Suite], output: Path) -> RecordedRun:
    from wug.evaluation.request import RunRequest
    from wug.evaluation.service import execute

    common.say(f"evaluating {demo.model} on {sum(map(len, suites)):,} items of {', '.join(demo.suites)}")
    request = RunRequest(
        suites=suites,
        models=[demo.model],
        model_options={"device": "cpu"},
        store=output / "store",
        cache=output / "answers.db",
        command=common.command_line(),
    )
    with common.progress(demo.model) as tell:
        (run,) = execute(request, lambda event: tell(*event.requests)).found.values()
    return run


def _headline(result: Result) -> Result:
    """The result with its headline metric only, since there are 35."""
    return replace(result, estimates=() if result.headline is None else (result.headline,), warnings=())


def _next(page: Path, store_path: Path, runs: Sequence[int]) -> str:
    wug = "wug" if shutil.which("wug") else sys.argv[0]
    first, second = runs[0], runs[1]
    return (
        f"\nThe report: {page}\nTry next:\n"
        f"  {wug} view --store {store_path}\n      browse these runs, write a suite, try a sentence\n"
        f"  {wug} compare {first} {second} --store {store_path}\n      is one model better than the other?\n"
        f"  {wug} run wug_agreement_pp --model causal:gpt2\n      a larger model, by folder or Hugging Face name\n"
        f"  {wug} list suites\n      all built-in suites"
    )
