"""`wug demo`: every family once, on models and suites that come along."""

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

if TYPE_CHECKING:
    from wug.evaluation.request import RecordedRun
    from wug.types import Result, Suite


@dataclass(frozen=True, slots=True)
class Go:
    """A built-in model's go at built-in suites."""

    model: str
    suites: tuple[str, ...]
    items: int
    """Of each suite: enough to see something, few enough for two cores."""


GOES = (
    Go("wug-causal", ("wug_syntaxgym", "wug_pairs"), 200),
    Go("wug-lstm", ("wug_syntaxgym", "wug_pairs"), 200),
    Go("wug-masked", ("wug_pairs",), 50),
    Go("wug-pcfg", ("wug_pcfgset",), 60),
    Go("wug-cogs", ("wug_cogs",), 105),
)


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=common.FOLDER,
    default="demo",
    show_default=True,
    help="The folder for the runs and the report.",
)
@click.option("--limit", type=common.POSITIVE, metavar="N", help="Only N items of each suite, for a quicker look.")
def command(output: Path, limit: int | None) -> None:
    """Ask the built-in models about every family, and write a report.

    Takes a few minutes on two cores, and no network. A sample of each built-in suite is asked, every group with its
    share.

    \b
    wug demo
    wug demo --limit 20 --output /tmp/demo
    """
    from wug.evaluation.opening import open_suites, require_packages
    from wug.files import write_text
    from wug.results.store import Store
    from wug.views import charts
    from wug.views.page import Report, render

    charts.require()
    suites = {name: open_suites(name) for name in dict.fromkeys(name for go in GOES for name in go.suites)}
    require_packages(suite for some in suites.values() for suite in some)
    kept = []
    for go in GOES:
        items = min(go.items, limit or go.items)
        kept.append(_evaluate(go, [suite.sample(items) for name in go.suites for suite in suites[name]], output))
    store = Store(output / "wug.db")
    reports = [
        Report(result, run=one.number, command=run.command, created=run.started)
        for one in kept
        for run in [store.run(one.number or 0)]
        for result in one.results
    ]
    page = output / "report.html"
    write_text(page, render(reports))
    common.deliver([_headline(result) for one in kept for result in one.results], "table")
    printing.echo(_next(page, store.path, [one.number or 0 for one in kept]))


def _evaluate(go: Go, suites: Sequence[Suite], output: Path) -> RecordedRun:
    from wug.evaluation.request import RunRequest
    from wug.evaluation.service import execute

    common.say(f"evaluating {go.model} on {sum(map(len, suites)):,} items of {', '.join(go.suites)}")
    request = RunRequest(
        suites=suites,
        models=[go.model],
        model_options={"device": "cpu"},
        store=output / "wug.db",
        cache=output / "answers.db",
        command=common.command_line(),
    )
    with common.progress(go.model) as tell:
        (run,) = execute(request, lambda event: tell(*event.requests)).found.values()
    return run


def _headline(result: Result) -> Result:
    """The same with its most telling check alone: 35 results have to fit on a screen or two."""
    return replace(result, estimates=() if result.headline is None else (result.headline,), warnings=())


def _next(page: Path, db: Path, runs: Sequence[int]) -> str:
    wug = "wug" if shutil.which("wug") else sys.argv[0]
    first, second = runs[0], runs[1]
    return (
        f"\nThe report: {page}\nTry next:\n"
        f"  {wug} view --db {db}\n      look around in these runs, write a suite, try a sentence\n"
        f"  {wug} compare {first} {second} --db {db}\n      is one model better than the other?\n"
        f"  {wug} run wug_agreement_pp --model causal:gpt2\n      a real model, by folder or hub name\n"
        f"  {wug} list suites\n      what else there is to ask"
    )
