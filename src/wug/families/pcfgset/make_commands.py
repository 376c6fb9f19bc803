"""Commands that make PCFG SET corpora and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.families import commands as family

if TYPE_CHECKING:
    from wug.families.pcfgset.make import DataPlan
    from wug.families.pcfgset.make.statistics import SourceStatistics

PROBABILITY = click.FloatRange(0, 1)
CORPUS = (
    family.option(
        "--source --base source",
        "Use these sources (a .src file, or a folder with train, dev and test) instead of new ones.",
        type=family.PATH,
    ),
    family.option("--samples", "Total lines, split as published.  [default: 97,203]", type=family.POSITIVE),
    family.option(
        "--table",
        "Target distribution: depth, length and count, tab-separated.  [default: that of the published test set]",
        type=family.FILE,
    ),
    family.option("--no-table", "Sample from the grammar's probabilities alone.", is_flag=True),
    family.option("--unary", "Probability that a function takes one argument.", type=PROBABILITY),
    family.option("--function", "Probability that an argument is a function.", type=PROBABILITY),
)
OUTPUT = (
    family.SEED,
    family.option(
        "-o --output", "Folder for the files, which have the published names.", type=family.PATH, required=True
    ),
    family.option("--statistics", "Print the depths, lengths and functions of the sources.", is_flag=True),
    family.option(
        "--compare-with compared",
        "A .src file to compare with, for --statistics or --chart.",
        type=family.FILE,
        metavar="FILE",
    ),
    family.option(
        "--chart", "Draw the depths, lengths and functions (.html, .svg, .png, .pdf).", type=family.FILE, metavar="FILE"
    ),
    family.FORCE,
)


def _make(
    kind: str,
    *,
    seed: int,
    output: Path,
    statistics: bool,
    compared: Path | None,
    chart: Path | None,
    force: bool,
    **chosen: Any,
) -> str | None:
    """Write the files of a kind of set; options that are not about output make the plan."""
    from wug.families.pcfgset import make
    from wug.families.pcfgset.make import statistics as counts
    from wug.views import chart_files

    if chart is not None:
        chart_files.require(chart)
    if compared is not None and not (statistics or chart):
        raise click.UsageError("--compare-with is for --statistics or --chart: give one of them")
    files = make.make(kind, _plan(seed, chosen))
    if len(files) == 1 and output.suffix and not output.is_dir():  # the name of the only file
        family.write_made(dict(zip([output.name], files.values(), strict=True)), output.parent, force=force)
    else:
        family.write_made(files, output, force=force)
    if not statistics and chart is None:
        return None
    sets = {name: counts.statistics(sources) for name, sources in make.sources_of(files).items()}
    other = None
    if compared is not None:
        other = counts.statistics(sample.source for sample in make.read_samples(compared))
    if chart is not None:
        _draw(sets if compared is None or other is None else {**sets, f"{compared.name} (compared)": other}, chart)
        family.notify(f"wrote {chart}")
    reports = (f"{name}: {counts.report(counted, other)}" for name, counted in sets.items())
    return "\n\n".join(reports) if statistics else None


def _plan(seed: int, chosen: dict[str, Any]) -> DataPlan:
    """The plan for the values of CORPUS, if the kind has these options, and for those of one kind only."""
    from wug.families.pcfgset.make import DataPlan
    from wug.families.pcfgset.make.corpus import read_table, share_out
    from wug.families.pcfgset.make.grammar import NATURAL, PcfgGrammar

    source, no_table = chosen.pop("source", None), chosen.pop("no_table", False)
    drawn = {name: chosen.pop(name, None) for name in ("samples", "table", "unary", "function")}
    new = [f"--{name}" for name, value in {**drawn, "no-table": no_table or None}.items() if value is not None]
    if source is not None and new:
        raise click.UsageError(f"{new[0]} is about new sources: it excludes --source")
    if drawn["table"] is not None and no_table:
        raise click.UsageError("--table and --no-table exclude each other")
    stated = {name: drawn[name] for name in ("unary", "function") if drawn[name] is not None}
    if drawn["samples"] is not None:
        chosen["sizes"] = share_out(drawn["samples"])
    return DataPlan(
        seed=seed,
        base=source,
        natural=not no_table,
        table=None if drawn["table"] is None else read_table(drawn["table"]),
        grammar=replace(PcfgGrammar() if no_table else NATURAL, **stated) if stated else None,
        **{name: value for name, value in chosen.items() if value != ()},
    )


def _draw(sets: Mapping[str, SourceStatistics], path: Path) -> None:
    from wug.views import chart_files, charts

    panels = [
        charts.curves(
            [
                charts.LinePoint(series=name, x=float(value), value=100 * count / counted.lines, n=count)
                for name, counted in sets.items()
                for value, count in counted.counts[field].items()
            ],
            x=field,
            title="% of lines",
            share=False,
        )
        for field in ("depths", "lengths", "functions")
    ]
    chart_files.save(chart_files.stack_charts(panels), path)


def _number(*names: str, help: str, default: int | None = None, minimum: int = 1) -> click.Option:
    return family.option(" ".join(names), help, type=click.IntRange(min=minimum), default=default)


RATIO = family.option(
    "--ratio ratios",
    "Proportion of exceptions; repeatable.  [default: 0.0001, 0.0005, 0.001, 0.005]",
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
)
PER_FUNCTION = _number(
    "--per-function", help="Test lines per function.  [default: as many as there are, at most 2,500]"
)
LENGTHS = (
    _number("--rounds", help="Lines per function and length.", default=53),
    _number("--longest", help="Symbols in the longest string.", default=20, minimum=2),
)


def _command(name: str, options: tuple[click.Parameter, ...], help: str) -> family.MakeCommand:
    return family.MakeCommand(name, partial(_make, name), options, help)


MAKE = (
    _command(
        "pcfgset",
        (*CORPUS, *OUTPUT),
        """Make a PCFG SET corpus: train, dev and test, as .src and .tgt files.

        Sources follow a table of depths and lengths; no string of symbols is used twice.

        \b
        wug make pcfgset --samples 5000 --seed 1 -o my_pcfgset
        wug make pcfgset --samples 1000 --statistics --compare-with test.src -o small
        wug make pcfgset --no-table --unary 0.6 --function 0.5 -o by_grammar
        """,
    ),
    _command(
        "systematicity",
        (*CORPUS, *OUTPUT),
        """Make a systematicity set: lines with one of four pairs of functions are the test set, all others train.

        \b
        wug make systematicity --samples 5000 --seed 1 -o my_systematicity
        wug make systematicity --source my_pcfgset -o my_systematicity
        """,
    ),
    _command(
        "productivity",
        (*CORPUS, _number("--most", "max_functions", help="Maximum functions in a training line.", default=8), *OUTPUT),
        """Make a productivity set: long lines are the test set, short ones train.

        \b
        wug make productivity --samples 5000 --seed 1 -o my_productivity
        wug make productivity --source my_pcfgset --most 6 -o my_productivity
        """,
    ),
    _command(
        "substitutivity",
        (*CORPUS, PER_FUNCTION, *OUTPUT),
        """Make a substitutivity set: four functions have synonyms, equally distributed in training or only primitive.

        \b
        wug make substitutivity --samples 5000 --seed 1 -o my_substitutivity
        wug make substitutivity --source my_pcfgset --per-function 500 -o my_substitutivity
        """,
    ),
    _command(
        "overgeneralisation",
        (*CORPUS, RATIO, *OUTPUT),
        """Make an overgeneralisation set: training lines with exceptions, and both readings of these.

        \b
        wug make overgeneralisation --samples 5000 --seed 1 -o my_overgeneralisation
        wug make overgeneralisation --source my_pcfgset --ratio 0.002 -o my_overgeneralisation
        """,
    ),
    _command(
        "localism",
        (*CORPUS, *OUTPUT),
        """Unroll sources into single steps, each with the outputs of earlier ones in it.

        One file of sources gives one file, and -o may be its name.

        \b
        wug make localism --source test.src -o unrolled.tsv
        wug make localism --seed 1 --samples 10000 -o my_localism
        """,
    ),
    _command(
        "increasing-length",
        (*LENGTHS, *OUTPUT),
        """Make the test of increasing string length: each function alone, on strings of 2 symbols and more.

        \b
        wug make increasing-length --seed 1 -o my_lengths
        wug make increasing-length --rounds 10 --longest 40 -o my_lengths
        """,
    ),
)
