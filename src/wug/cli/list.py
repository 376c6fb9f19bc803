"""`wug list`: built-in suites, models, and stored runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug import registry
from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.formatting import escape_controls, plural
from wug.options import Option
from wug.tables import FormattedTable, RowTable, Table
from wug.views.writers.table import align_columns, cut_to_width

if TYPE_CHECKING:
    from wug.results.records import Run

ListedRows = list[dict[str, Any]]
LINE_COLUMNS = 120
"""The width of a line if stdout is not a terminal."""
MIN_LAST_CELL_COLUMNS = 10
"""The last cell of a line is not cut further, and the cells before it are whole."""
ABOUT_COLUMNS = 60
LATEST_RUNS = 5
"""Runs in the summary."""
RUN_FIELDS = (
    *("run", "name", "status", "about", "model", "specification", "revision", "suites", "started", "finished"),
    *("note", "message", "progress", "origin", "sweep", "removed", "command"),
)


@common.with_options(common.STORE, common.TABLE_FORMAT)
@click.command("list")
@click.argument("what", type=click.Choice(["suites", "models", "runs"]), required=False)
@click.option("--tag", "tags", multiple=True, help="Only suites with this tag; repeatable.")
@click.option("--all", "everything", is_flag=True, help="Show tags and options too, and removed runs.")
def command(what: str | None, tags: tuple[str, ...], everything: bool, store_path: Path, format: str) -> None:
    """List built-in suites, models, or stored runs.

    With no argument, summarise all three.

    \b
    wug list
    wug list suites --tag agreement
    wug list models --all
    wug list runs --format json
    """
    if tags and what not in (None, "suites"):
        raise click.UsageError(f"--tag is for suites, not for {what}")
    makers: dict[str, Callable[[], ListedRows]] = {
        "suites": lambda: _suites(tags),
        "models": _builtin_models,
        "runs": lambda: _runs(store_path, everything=everything),
    }
    if what is None and format != "json":
        if common.on_command_line("format") and format != "table":
            raise click.UsageError(f"--format {format} needs one table: wug list suites, models or runs")
        format = "table"
    if format != "table":
        rows = {name: make() for name, make in makers.items() if what in (None, name)}
        if "models" in rows:
            rows["models"] += _kinds()
        table = Table.of_rows(rows[what] if what else ())
        document = rows[what] if what else rows
        common.deliver_table(RowTable(table.names, table.values(), document=document), format, None)
        return
    if what in (None, "suites"):
        _print_suites(makers["suites"](), everything, tags)
    if what in (None, "models"):
        _print_models(makers["models"](), everything=everything, gap=what is None)
    if what in (None, "runs"):
        print_runs(_with_sweeps(makers["runs"](), store_path), gap=what is None, max_rows=None if what else LATEST_RUNS)


def _print_suites(rows: ListedRows, everything: bool, tags: tuple[str, ...]) -> None:
    if everything:
        print_table(rows)
        printing.print_text()
        options = "scoring options (-S)"
        families = registry.families()
        print_table([{"family": f.name, "about": f.title, options: _option_descriptions(f.OPTIONS)} for f in families])
        return
    for family in dict.fromkeys(row["family"] for row in rows):
        family_rows = [row for row in rows if row["family"] == family]
        hint = f"  (wug run wug_{family} runs them all)" if len(family_rows) > 1 and not tags else ""
        printing.print_text(f"{registry.family(family).title}{hint}")
        _print_lines([{name: row[name] for name in ("suite", "items", "about")} for row in family_rows], indent="  ")
    if not tags:
        with_suites = {row["family"] for row in rows}
        for other in (family for family in registry.families() if family.name not in with_suites):
            printing.print_text(f"{other.name}: {other.title}  (no built-in suite)")
        printing.print_text("published sets: wug data list   tags and scoring options: wug list suites --all")


def _print_models(rows: ListedRows, *, everything: bool, gap: bool) -> None:
    if gap:
        printing.print_text()
    if everything:
        print_table(rows)
        printing.print_text()
        print_table(_kinds())
        return
    _print_lines([{"built-in model": row["model"], "about": row["about"]} for row in rows], head=True)
    if gap:
        printing.print_text("kinds of models, such as causal:gpt2: wug list models")
        return
    printing.print_text()
    _print_lines([{"kind": row["kind"], "about": row["about"]} for row in _kinds()], head=True)
    printing.print_text("such as --model causal:gpt2; options: wug list models --all")


def print_runs(rows: ListedRows, *, gap: bool, max_rows: int | None) -> None:
    """Print the runs, one per line."""
    if gap:
        printing.print_text()
    if not rows:
        common.notify("no runs yet: wug run SUITE --model MODEL")
        return
    columns = ("run", "name", "started", "status", "about", "model", "suites", "command")
    used_columns = [name for name in columns if name not in ("name", "about") or any(row[name] for row in rows)]
    _print_lines([{name: _short_cell(name, row[name]) for name in used_columns} for row in rows[:max_rows]], head=True)
    if max_rows is not None and len(rows) > max_rows:
        printing.print_text(f"{len(rows) - max_rows} more: {common.suggested_command('list', 'runs')}")


def _short_cell(name: str, value: object) -> object:
    """A cell of a line: times to the minute, long messages cut."""
    if name == "about":
        return str(value) if len(str(value)) <= ABOUT_COLUMNS else f"{str(value)[: ABOUT_COLUMNS - 1]}…"
    if name == "started":
        return str(value)[:16].replace("T", " ")
    return "" if value is None else value


def print_table(rows: ListedRows) -> None:
    """Print a table whose cells may take several lines."""
    from wug.views import terminal

    head = list(rows[0]) if rows else []
    table = FormattedTable(head, [[_cell(value) for value in row.values()] for row in rows], "l" * len(head))
    terminal.print_table(table, printing.console(width=140))


def _print_lines(rows: ListedRows, *, head: bool = False, indent: str = "") -> None:
    from rich.cells import cell_len

    if not rows:
        return
    cells = [[escape_controls(_cell(value)).replace("\n", " ") for value in row.values()] for row in rows]
    align = "".join("r" if isinstance(value, int) else "l" for value in rows[0].values())
    lines = [list(rows[0]), *cells] if head else cells
    before_last = max(map(cell_len, align_columns([line[:-1] for line in lines], align[:-1])))
    width = max(printing.console(width=LINE_COLUMNS).width - len(indent), before_last + MIN_LAST_CELL_COLUMNS)
    for line in align_columns(lines, align):
        printing.print_text(f"{indent}{cut_to_width(line, width)}")


def _suites(tags: Sequence[str]) -> ListedRows:
    from wug.evaluation.suite_selection import tagged, tags_of
    from wug.evaluation.suites import builtin_suites, open_suites

    paths = builtin_suites()
    # By its path: a file here may be called like it.
    named_suites = [(name, suite) for name, path in paths.items() for suite in open_suites(str(path))]
    selected = {id(suite) for suite in tagged([suite for _, suite in named_suites], tags)} if tags else set()
    return [
        {
            "family": suite.kind,
            "suite": name,
            "items": len(suite),
            "about": suite.meta.get("description") or _readme_description(name, paths[name].parent),
            "tags": tags_of(suite),
        }
        for name, suite in named_suites
        if not tags or id(suite) in selected
    ]


def _readme_description(name: str, family: Path) -> str:
    """The description of a suite in the family's README: the second cell of its row."""
    for line in (family / "README.md").read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) > 2 and cells[1].strip() == f"`{name}`":
            return cells[2].strip().replace("`", "")
    return ""


def _builtin_models() -> ListedRows:
    from wug.evaluation.models import builtin_models

    families = registry.families()
    return [
        {
            "model": name,
            "about": _first_paragraph(folder / "README.md"),
            "default for": [family.name for family in families if family.TRAITS.builtin_model == name],
        }
        for name, folder in builtin_models().items()
    ]


def _first_paragraph(card: Path) -> str:
    paragraphs = card.read_text(encoding="utf-8").split("\n\n")
    return paragraphs[1].strip().replace("`", "") if len(paragraphs) > 1 else ""


def _kinds() -> ListedRows:
    return [
        {"kind": f"{backend.name}:", "about": backend.title, "options (-M)": _option_descriptions(backend.OPTIONS)}
        for backend in registry.backends()
    ]


def _option_descriptions(options: Iterable[Option]) -> dict[str, str]:
    return {option.name: option.described for option in options}


def run_rows(runs: Iterable[Run]) -> ListedRows:
    """All fields of each run."""
    rows = []
    for run in runs:
        values = {**asdict(run), "run": run.id, "about": status_text(run)}
        rows.append({field: values[field] for field in RUN_FIELDS})
    return rows


def _runs(store_path: Path, *, everything: bool) -> ListedRows:
    reader = common.open_store(store_path).reader
    runs = [*reader.runs(), *(reader.runs(removed=True) if everything else ())]
    return run_rows(sorted(runs, key=lambda run: -run.id))


def status_text(run: Run) -> str:
    """A run's progress, error message or note."""
    from wug.results.progress import in_words

    if run.status in ("running", "interrupted") and run.progress is not None:
        return in_words(run.progress, running=run.status == "running")
    return " ".join((run.message or run.note or "").split())


def _with_sweeps(rows: ListedRows, store_path: Path) -> ListedRows:
    """Runs outside of sweeps, and each sweep as one line, sorted by its latest run."""
    from wug.results.sweeps import counts, members, sweeps

    reader = common.open_store(store_path).reader
    numbered_rows = [(int(row["run"]), row) for row in rows if row["sweep"] is None]
    for sweep in sweeps(reader):
        sweep_members = members(reader, sweep)
        latest_run = max((member.run.id for member in sweep_members if member.run is not None), default=0)
        line = {
            **dict.fromkeys(rows[0] if rows else ("name",)),
            "run": str(sweep),
            "status": ", ".join(f"{number} {word}" for word, number in counts(sweep_members).items()),
            "model": plural(len(sweep.models), "model"),
            "suites": len(sweep.suites),
            "started": sweep.started,
            "command": sweep.command,
        }
        numbered_rows.append((latest_run, line))
    return [row for _, row in sorted(numbered_rows, key=lambda pair: -pair[0])]


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {meaning}" for key, meaning in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
