"""`wug reproduce`: recompute a paper's table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.families.commands import FOLDER, OUTPUT_FILE, POSITIVE
from wug.tables import format_suffixes

if TYPE_CHECKING:
    from wug.reproduce.cluster import RayRunner
    from wug.reproduce.plan import ReproductionPlan
    from wug.reproduce.table import TableRow
    from wug.reproduce.work import LocalRunner

JOBS_PER_GPU = 3
MINIATURE = "A miniature: it shows the layout of the table, not its numbers."


@click.command("reproduce")
@click.argument("recipe", required=False, metavar="[NAME|RECIPE.toml]")
@click.option("--folder", type=FOLDER, help="Output folder.  [default: reproduce/NAME]")
@click.option("--seed", "seeds", type=int, multiple=True, help="Seed, instead of the recipe's; repeatable.")
@click.option("--only", "rows", multiple=True, metavar="ROW", help="Only this row of the table; repeatable.")
@click.option("--network", "networks", multiple=True, help="Only this network of the recipe; repeatable.")
@click.option("--small", is_flag=True, help="Run a miniature on two cores in minutes; its numbers mean nothing.")
@click.option("--dry-run", is_flag=True, help="Print the steps without running them.")
@click.option("--so-far", is_flag=True, help="Print the table as far as it is known, without running a step.")
@click.option("--jobs", type=POSITIVE, help="Parallel steps per GPU.  [default: 3 on a GPU, else 1]")
@click.option(
    "--executor", type=click.Choice(("processes", "ray")), default="processes", help="Run steps here, or on Ray."
)
@click.option("--device", envvar="WUG_DEVICE", help="Device to train on: cpu, cuda, cuda:1.")
@click.option("--format", type=common.FORMATS, help="Table format.  [default: from -o]")
@click.option("-o", "--output", type=OUTPUT_FILE, help="Output file: .html for a page, .json, .md, .tex.")
def command(recipe: str | None, **options: Any) -> None:
    """Recompute a paper's table and compare it with the published one.

    Without a name, lists the recipes. After a kill, the same command resumes. A complete table is printed at once.

    \b
    wug reproduce                                   the recipes
    wug reproduce hupkes2020 --dry-run              the steps
    wug reproduce hupkes2020 --small                in miniature
    wug reproduce kim2020 --only gen --seed 1
    wug reproduce gulordava2018 -o page.html        a page with figures
    """
    from wug.reproduce import recipe as recipes
    from wug.reproduce.plan import Planner, missing_data_message
    from wug.reproduce.work import run_steps

    format, output, small = options["format"], options["output"], options["small"]
    if recipe is None:
        for name in recipes.names():
            printing.print_text(f"{name:16} {recipes.read(name).title}")
        return
    if format == "html" and output is None:
        raise click.UsageError("a page is a file: give -o page.html")
    if format == "table" and output is not None:
        raise click.UsageError("--format table is for the terminal: use another one with -o, or leave it out")
    format = common.resolve_format(format, output, format_suffixes()) or "table"
    if format != "html":
        common.require_format(format, output)
    recipe_data, device = recipes.read(recipe), options["device"]
    folder = options["folder"] or Path("reproduce") / (f"{recipe_data.name}-small" if small else recipe_data.name)
    planner = Planner(recipe_data, folder, small=small, options=("--device", device) if device else ())
    seeds = options["seeds"] or (recipe_data.seeds[:1] if small else recipe_data.seeds)
    plan = planner.plan(seeds, options["rows"], options["networks"])
    if options["dry_run"]:
        _describe(plan)
        return
    failures = []
    if not options["so_far"]:
        with _runner(options["executor"], options["jobs"], device) as runner:
            failures = run_steps(
                plan,
                runner=runner,
                notify=common.notify,
                fail=lambda step: common.notify(f"{step.kind} {step.name}", "failed"),
            )
    _deliver(plan, format, output, remark=MINIATURE if small else "")
    if failures:
        for failure in failures:
            if failure.step.kind != "data":
                common.notify(f"{failure.step.kind} {failure.step.name}: {failure.reason}", "failed")
        if plan.missing_sets:
            common.notify(missing_data_message(plan.missing_sets))
        raise SystemExit(1)
    if not options["so_far"]:
        common.notify(f"the runs: wug view --store {plan.store}")


@contextmanager
def _runner(executor: str, jobs: int | None, device: str | None) -> Iterator[LocalRunner | RayRunner]:
    """What runs the steps; small models leave most of a GPU idle, so it takes several at a time."""
    from wug.models.hardware import pick_device
    from wug.reproduce.work import LocalRunner

    if executor == "processes":
        on_gpu = pick_device(device).startswith("cuda")
        yield LocalRunner(jobs or (JOBS_PER_GPU if on_gpu else 1))
        return
    from wug.evaluation.executors.ray import joined
    from wug.reproduce.cluster import RayRunner

    with joined() as ray:
        yield RayRunner(ray, jobs or JOBS_PER_GPU)


def _describe(plan: ReproductionPlan) -> None:
    from wug.reproduce.plan import missing_data_message

    for step in plan.steps:
        time = f"about {step.minutes:g} min" if step.minutes else ""
        state = "missing" if step.kind == "data" else "done" if step.done else time
        printing.print_text(f"{step.kind:5} {step.name:44} {state}".rstrip())
        printing.print_text(f"      wug {' '.join(step.command)}")
    open_steps = [step for step in plan.steps if not step.done and step.kind != "data"]
    minutes = sum(step.minutes for step in open_steps)
    trainings = sum(step.kind == "train" for step in open_steps)
    training = (
        f"{trainings} of them trainings: about {minutes:g} minutes of training on one H200, {minutes / 3:.0f} with "
        f"three in parallel, and {0.1 * trainings:.1f} GB of disk"
    )
    total = len(plan.steps) - len(plan.missing_sets)
    common.notify(f"{len(open_steps)} of {total} steps to run, {training if trainings else 'none of them a training'}")
    if plan.missing_sets:
        common.notify(missing_data_message(plan.missing_sets))


def _deliver(plan: ReproductionPlan, format: str, output: Path | None, remark: str) -> None:
    from wug.reproduce.table import table, table_rows

    rows = table_rows(plan)
    if format == "table":
        _show("\n".join(filter(None, (plan.recipe.title, remark))), rows, plan.recipe.note)
    elif format == "html":
        from wug.reproduce.page import as_page

        common.deliver_text(as_page(plan, rows, remark).removesuffix("\n"), output)
    else:
        common.deliver_table(table(rows), format, output)


def _show(title: str, rows: list[TableRow], note: str) -> None:
    from rich.table import Table

    from wug.reproduce.table import COLUMNS, cells

    printed_table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for name in COLUMNS:
        numeric = name in ("published", "here", "95% interval", "difference", "n")
        printed_table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        printed_table.add_row(*cells(row))
    printed_table.caption, printed_table.caption_justify = note or None, "left"
    printing.console(120).print(printed_table)
