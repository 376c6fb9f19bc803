"""The options of the PCFG SET kinds, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.make import _files as files

if TYPE_CHECKING:
    from wug.families.pcfgset.make.pcfgset import Files, Plan


def corpus_options(function: common.Function) -> common.Function:
    """What a set is made of: a corpus drawn for it, or one that is there."""
    probability = click.FloatRange(0, 1)
    for option in reversed(
        (
            click.option(
                "--source",
                "--base",
                "source",
                type=click.Path(path_type=Path),
                help="Start from these sources (a .src file, or a folder with train, dev and test), not from new ones.",
            ),
            click.option(
                "--samples",
                type=click.IntRange(min=1),
                help="Lines in all, shared out as published.  [default: 97,203]",
            ),
            click.option(
                "--table",
                type=click.Path(path_type=Path, dir_okay=False),
                help="Depth, length and count, with tabs: what the sources are drawn to."
                "  [default: the published test set's]",
            ),
            click.option("--no-table", is_flag=True, help="Let the probabilities of the grammar alone decide."),
            click.option("--unary", type=probability, help="The probability that a function takes one argument."),
            click.option("--function", type=probability, help="The probability that an argument is a function."),
        )
    ):
        function = option(function)
    return function


def output_options(function: common.Function) -> common.Function:
    """Where a set goes, and what is said about it."""
    for option in reversed(
        (
            files.seed_option,
            click.option(
                "-o",
                "--output",
                type=click.Path(path_type=Path),
                required=True,
                help="The folder for the files, which have the published names.",
            ),
            click.option("--statistics", is_flag=True, help="Print the depths, lengths and functions of the sources."),
            click.option(
                "--beside",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="With --statistics or --chart: a .src file to compare with.",
            ),
            click.option(
                "--chart",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Draw the depths, lengths and functions (.html, .svg, .png).",
            ),
            files.force_option,
        )
    ):
        function = option(function)
    return function


def make(kind: str, given: dict[str, Any], **more: Any) -> None:
    """Write the files of a kind, as the options ask for them; `more` are settings of this kind alone."""
    from wug.families.pcfgset.make import pcfgset
    from wug.show import charts

    if given["chart"] is not None:
        charts.require(given["chart"])
    plan = _plan(given, more)
    made = pcfgset.make(kind, plan)
    folder: Path = given["output"]
    named = dict(made)
    if len(made) == 1 and folder.suffix and not folder.is_dir():  # the name of the one file
        named = dict(zip([folder.name], made.values(), strict=True))
        folder = folder.parent
    files.refuse_existing((folder / name for name in named), given["force"])
    written = pcfgset.write(named, folder)
    counts = ", ".join(f"{name} {len(lines):,}" for name, lines in named.items() if not name.endswith(".tgt"))
    common.say(f"wrote {len(written)} file{'s' * (len(written) != 1)} to {folder}: {counts} lines")
    if given["statistics"]:
        printing.echo("\n\n".join(_reports(made, given["beside"])))
    if given["chart"] is not None:
        _draw(made, given["beside"], given["chart"])
        common.say(f"wrote {given['chart']}")


def _plan(given: dict[str, Any], more: dict[str, Any]) -> Plan:
    from dataclasses import replace

    from wug.families.pcfgset.make.grammar import NATURAL, Grammar
    from wug.families.pcfgset.make.pcfg import share_out
    from wug.families.pcfgset.make.pcfgset import Plan
    from wug.families.pcfgset.make.table import read_table

    if given["beside"] is not None and not (given["statistics"] or given["chart"]):
        raise click.UsageError("--beside says what --statistics or --chart compares with: give both")
    about_new = ("samples", "table", "no_table", "unary", "function")
    drawn = [name for name in about_new if given.get(name, False) not in (None, False)]
    if given.get("source") is not None and drawn:
        raise click.UsageError(f"--{drawn[0].replace('_', '-')} is about new sources, and --source says which to take")
    if given.get("table") is not None and given["no_table"]:
        raise click.UsageError("--table and --no-table exclude each other")
    plan = Plan(seed=given["seed"], base=given.get("source"), **more)
    if given.get("samples") is not None:
        plan = replace(plan, sizes=share_out(given["samples"]))
    if given.get("table") is not None:
        plan = replace(plan, table=read_table(given["table"]))
    if given.get("no_table"):
        plan = replace(plan, natural=False)
    stated = {name: given[name] for name in ("unary", "function") if given.get(name) is not None}
    return replace(plan, grammar=replace(NATURAL if plan.natural else Grammar(), **stated)) if stated else plan


def _reports(made: Files, beside: Path | None) -> Iterable[str]:
    """The statistics of every set of sources that was made, each once."""
    from wug.families.pcfgset.make.pcfgset import read_samples, sources_of
    from wug.families.pcfgset.make.statistics import report, statistics

    wanted = statistics(sample.source for sample in read_samples(beside)) if beside is not None else None
    for name, sources in sources_of(made).items():
        yield f"{name}: {report(statistics(sources), wanted)}"


def _draw(made: Files, beside: Path | None, path: Path) -> None:
    """Write a chart of the shares of depths, lengths and functions, a line a set."""
    from wug.families.pcfgset.make.pcfgset import read_samples, sources_of
    from wug.families.pcfgset.make.statistics import statistics
    from wug.show import charts

    sets = {name: statistics(sources) for name, sources in sources_of(made).items()}
    if beside is not None:
        sets[f"{beside.name} (beside)"] = statistics(sample.source for sample in read_samples(beside))
    panels = [
        charts.curves(
            [
                charts.CurvePoint(series=name, x=float(value), value=100 * count / found.lines, n=count)
                for name, found in sets.items()
                for value, count in found.counts[field].items()
            ],
            x=field,
            title="% of lines",
            share=False,
        )
        for field in ("depths", "lengths", "functions")
    ]
    charts.save(charts.stacked(panels), path)
