"""The options of the PCFG SET kinds, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.families.pcfgset.make.pcfgset import Files, Plan


SHARE = click.FloatRange(0, 1)

CORPUS = (
    click.Option(
        ["--source", "--base", "source"],
        type=click.Path(path_type=Path),
        help="Start from these sources (a .src file, or a folder with train, dev and test), not from new ones.",
    ),
    click.Option(
        ["--samples"],
        type=common.POSITIVE,
        help="Lines in all, shared out as published.  [default: 97,203]",
    ),
    click.Option(
        ["--table"],
        type=common.FILE,
        help="Depth, length and count, with tabs: what the sources are drawn to.  [default: the published test set's]",
    ),
    click.Option(["--no-table"], is_flag=True, help="Let the probabilities of the grammar alone decide."),
    click.Option(["--unary"], type=SHARE, help="The probability that a function takes one argument."),
    click.Option(["--function"], type=SHARE, help="The probability that an argument is a function."),
)
"""What a set is made of: a corpus drawn for it, or one that is there."""

OUTPUT = (
    common.SEED_OF_MATERIAL,
    click.Option(
        ["-o", "--output"],
        type=click.Path(path_type=Path),
        required=True,
        help="The folder for the files, which have the published names.",
    ),
    click.Option(["--statistics"], is_flag=True, help="Print the depths, lengths and functions of the sources."),
    click.Option(
        ["--beside"],
        type=common.FILE,
        metavar="FILE",
        help="With --statistics or --chart: a .src file to compare with.",
    ),
    click.Option(
        ["--chart"],
        type=common.FILE,
        metavar="FILE",
        help="Draw the depths, lengths and functions (.html, .svg, .png).",
    ),
    common.FORCE,
)
"""Where a set goes, and what is said about it."""


def make(
    kind: str,
    *,
    seed: int,
    output: Path,
    statistics: bool,
    beside: Path | None,
    chart: Path | None,
    force: bool,
    **plan: Any,
) -> None:
    """Write the files of a kind; `plan` has the options of CORPUS, where the kind has them, and those of it alone."""
    from wug.families.pcfgset.make import pcfgset
    from wug.files import write_lines
    from wug.views import charts

    if chart is not None:
        charts.require(chart)
    if beside is not None and not (statistics or chart):
        raise click.UsageError("--beside says what --statistics or --chart compares with: give both")
    made = pcfgset.make(kind, _plan(seed, **plan))
    folder, named = output, dict(made)
    if len(made) == 1 and folder.suffix and not folder.is_dir():  # the name of the one file
        named = dict(zip([folder.name], made.values(), strict=True))
        folder = folder.parent
    common.refuse_existing((folder / name for name in named), force)
    written = write_lines(named, folder)
    counts = ", ".join(f"{name} {len(lines):,}" for name, lines in named.items() if not name.endswith(".tgt"))
    common.say(f"wrote {len(written)} file{'s' * (len(written) != 1)} to {folder}: {counts} lines")
    if statistics:
        printing.echo("\n\n".join(_reports(made, beside)))
    if chart is not None:
        _draw(made, beside, chart)
        common.say(f"wrote {chart}")


def _plan(
    seed: int,
    *,
    source: Path | None = None,
    samples: int | None = None,
    table: Path | None = None,
    no_table: bool = False,
    unary: float | None = None,
    function: float | None = None,
    **more: Any,
) -> Plan:
    """The plan that the options ask for; `more` are fields of it that one kind alone has."""
    from dataclasses import replace

    from wug.families.pcfgset.make.grammar import NATURAL, Grammar
    from wug.families.pcfgset.make.pcfg import share_out
    from wug.families.pcfgset.make.pcfgset import Plan
    from wug.families.pcfgset.make.table import read_table

    drawn = {"samples": samples, "table": table, "no-table": no_table or None, "unary": unary, "function": function}
    wanted = [f"--{name}" for name, value in drawn.items() if value is not None]
    if source is not None and wanted:
        raise click.UsageError(f"{wanted[0]} is about new sources, and --source says which to take")
    if table is not None and no_table:
        raise click.UsageError("--table and --no-table exclude each other")
    stated: dict[str, Any] = {"unary": unary, "function": function}
    stated = {name: value for name, value in stated.items() if value is not None}
    if samples is not None:
        more["sizes"] = share_out(samples)
    return Plan(
        seed=seed,
        base=source,
        natural=not no_table,
        table=None if table is None else read_table(table),
        grammar=replace(Grammar() if no_table else NATURAL, **stated) if stated else None,
        **{name: value for name, value in more.items() if value != ()},
    )


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
    from wug.views import charts

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
