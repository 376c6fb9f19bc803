"""`wug reproduce`: a paper's table, with ours beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.reproduce.launch import Launcher
    from wug.reproduce.plan import Plan
    from wug.reproduce.table import TableRow

FORMATS = ("table", "json", "md", "latex", "html")
SUFFIXES = {".html": "html", ".htm": "html", ".json": "json", ".md": "md", ".tex": "latex"}
SIDE_BY_SIDE = 3
"""Steps that a GPU takes at a time."""
MINIATURE = "In miniature: the shape of the table, not its numbers."


@click.command("reproduce")
@click.argument("recipe", required=False, metavar="[NAME|RECIPE.toml]")
@click.option("--folder", type=common.FOLDER, help="Where all of it goes.  [default: reproduce/NAME]")
@click.option("--seed", "seeds", type=int, multiple=True, help="In place of the recipe's seeds; repeatable.")
@click.option("--only", "rows", multiple=True, metavar="ROW", help="This row of the table alone; repeatable.")
@click.option("--network", "networks", multiple=True, help="This network of the recipe alone; repeatable.")
@click.option("--small", is_flag=True, help="The whole of it in miniature, on two cores in minutes: not for numbers.")
@click.option("--dry-run", is_flag=True, help="Print the steps, and take none.")
@click.option("--so-far", is_flag=True, help="Print the table as far as it is known, and take no step.")
@click.option("--jobs", type=common.POSITIVE, help="Steps side by side, on each GPU.  [default: 3 on a GPU, else 1]")
@click.option("--executor", type=click.Choice(("processes", "ray")), default="processes", help="ray: on a Ray cluster.")
@click.option("--device", envvar="WUG_DEVICE", help="Where to train: cpu, cuda, cuda:1.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of the table.  [default: table, or as -o says]")
@click.option("-o", "--output", type=common.OUTPUT_FILE, help="Write the table there: .html a page, .json, .md, .tex.")
def command(
    recipe: str | None,
    folder: Path | None,
    seeds: tuple[int, ...],
    rows: tuple[str, ...],
    networks: tuple[str, ...],
    small: bool,
    dry_run: bool,
    so_far: bool,
    jobs: int | None,
    executor: str,
    device: str | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Make a paper's table anew, with its own numbers beside ours.

    Without a name, lists the recipes. Given again after a kill, it goes on where it was. A finished table is printed
    at once.

    \b
    wug reproduce                                   which there are
    wug reproduce hupkes2020 --dry-run              what would be done
    wug reproduce hupkes2020 --small                in miniature
    wug reproduce kim2020 --only gen --seed 1
    wug reproduce gulordava2018 -o page.html        a page with figures
    """
    from wug.reproduce import recipe as recipes
    from wug.reproduce.plan import Planner, where_to_get
    from wug.reproduce.table import rows_of
    from wug.reproduce.work import take

    if recipe is None:
        for name in recipes.names():
            printing.echo(f"{name:16} {recipes.read(name).title}")
        return
    _require_somewhere(form or "", output)
    form = common.agreed(form, output, SUFFIXES) or "table"
    read = recipes.read(recipe)
    home = folder or Path("reproduce") / (f"{read.name}-small" if small else read.name)
    options = ("--device", device) if device else ()
    plan = Planner(read, home, small=small, options=options).plan(
        seeds or (read.seeds[:1] if small else read.seeds), rows, networks
    )
    if dry_run:
        _describe(plan)
        return
    if so_far:
        _deliver(plan, rows_of(plan), form, output, remark=MINIATURE if small else "")
        return
    with _launcher(executor, jobs, device) as launcher:
        failures = take(plan, launcher=launcher, tell=common.say)
    _deliver(plan, rows_of(plan), form, output, remark=MINIATURE if small else "")
    if failures:
        for failure in failures:
            if failure.step.kind != "data":
                common.say(f"failed: {failure.step.kind} {failure.step.name}: {failure.why}")
        if plan.absent:
            common.say(where_to_get(plan.absent))
        raise SystemExit(1)
    common.say(f"the runs: wug view --db {plan.store}")


@contextmanager
def _launcher(executor: str, jobs: int | None, device: str | None) -> Iterator[Launcher]:
    """What runs the steps; small models leave most of a GPU idle, so it takes several at a time."""
    from wug.models import pick_device
    from wug.reproduce.launch import Here

    if executor == "processes":
        yield Here(jobs or (SIDE_BY_SIDE if pick_device(device).startswith("cuda") else 1))
        return
    from wug.evaluation.executors.ray import joined
    from wug.reproduce.cluster import OnRay

    with joined() as ray:
        yield OnRay(ray, jobs or SIDE_BY_SIDE)


def _describe(plan: Plan) -> None:
    from wug.reproduce.plan import where_to_get

    for step in plan.steps:
        state = (
            "not here"
            if step.kind == "data"
            else "done"
            if step.done
            else f"about {step.minutes:g} min"
            if step.minutes
            else ""
        )
        printing.echo(f"{step.kind:5} {step.name:44} {state}".rstrip())
        printing.echo(f"      wug {' '.join(step.command)}")
    left = [step for step in plan.steps if not step.done and step.kind != "data"]
    minutes = sum(step.minutes for step in left)
    trained = sum(step.kind == "train" for step in left)
    training = (
        f"{trained} of them trainings: about {minutes:g} minutes of training on one H200, {minutes / 3:.0f} with three "
        f"side by side, and {0.1 * trained:.1f} GB of disk"
    )
    total = len(plan.steps) - len(plan.absent)
    common.say(f"{len(left)} of {total} steps to take, {training if trained else 'none of them a training'}")
    if plan.absent:
        common.say(where_to_get(plan.absent))


def _require_somewhere(form: str, output: Path | None) -> None:
    """A usage error where a page would have no file, or a table for the terminal one."""
    if form == "html" and output is None:
        raise click.UsageError("a page is a file: give -o page.html")
    if form == "table" and output is not None:
        raise click.UsageError("--format table is for the terminal: give another with -o, or leave it out")


def _deliver(plan: Plan, rows: list[TableRow], form: str, output: Path | None, remark: str) -> None:
    """Print the table, or write it to a file."""
    from wug.files import write_text
    from wug.reproduce import table

    if form == "table":
        _show("\n".join(filter(None, (plan.recipe.title, remark))), rows, plan.recipe.note)
        return
    if form == "html":
        from wug.reproduce.page import as_page

        text = as_page(plan, rows, remark)
    else:
        text = {"json": table.as_json, "md": table.as_markdown, "latex": table.as_latex}[form](rows)
    if output is None:
        printing.emit(text)
    else:
        write_text(output, text if text.endswith("\n") else f"{text}\n")
        common.say(f"wrote {output}")


def _show(title: str, rows: list[TableRow], note: str) -> None:
    from rich.table import Table

    from wug.reproduce.table import HEAD, cells

    shown = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in HEAD:
        numeric = name in ("published", "here", "95 % interval", "difference", "n")
        shown.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        shown.add_row(*cells(row))
    shown.caption, shown.caption_justify = note or None, "left"
    printing.console(120).print(shown)
