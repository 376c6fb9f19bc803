"""Results for a person at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wug.report.table import interval_text, value_text
from wug.types import Estimate, Result

MANY = 4
"""With this many results or more they share one table."""


def show(results: Sequence[Result], console: Console) -> None:
    """Print results: one after the other with what each check means, or many of them in one table."""
    if len(results) < MANY:
        for result in results:
            console.print(block(result))
            _print_signature(result.signature, console)
        return
    console.print(overview(results))
    by_circuit = circuits(results)
    if by_circuit.row_count > 1:
        console.print()
        console.print(by_circuit)
    warned = [result for result in results if result.warnings]
    if warned:
        count = sum(len(result.warnings) for result in warned)
        text = f"{count} warning{'s' * (count != 1)} about {len(warned)} of {len(results)} results"
        console.print(Text(f"\n{text}", style="yellow"))
        for result in warned:
            for warning in result.warnings:
                console.print(Text(f"  {result.suite}: {warning}", style="yellow"))
    _print_signature(common_signature([result.signature for result in results]), console)


def block(result: Result) -> RenderableType:
    """One result: its checks with their meaning, groups and warnings."""
    head = Text.assemble(
        (result.suite, "bold"), f"  {result.n:,} item{'s' * (result.n != 1)} · {result.model}", _status(result)
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for estimate in result.estimates:
        if estimate.group == "all":
            name = "  " + estimate.check.replace("_", " ")
            meaning = result.descriptions.get(estimate.check, "")
        elif _tells(result, estimate):
            name, meaning = f"    {estimate.group}", f"n = {estimate.n:,}"
        else:
            continue
        table.add_row(
            escape(name), escape(meaning), f"[bold]{value_text(estimate)}[/]", escape(interval_text(estimate))
        )
    parts: list[RenderableType] = [head, table]
    if not result.estimates and result.status == "complete":
        parts.append(Text("  nothing to judge: the suite has no predictions", style="dim"))
    parts += [Text(f"  warning: {warning}", style="yellow") for warning in result.warnings]
    return Group(*parts)


def overview(results: Sequence[Result]) -> Table:
    """One row for each suite, model and check."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    several = len({result.model for result in results}) > 1
    for name in ("suite", *(["model"] if several else []), "check"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        whole = headlines(result)
        model = [escape(result.model)] if several else []
        if not whole:
            table.add_row(escape(result.suite), *model, f"[dim]{result.status}[/]", "", "", f"{result.n:,}")
        for place, estimate in enumerate(whole):
            first = place == 0
            table.add_row(
                escape(result.suite) if first else "",
                *(model if first else [""] * len(model)),
                estimate.check.replace("_", " "),
                f"[bold]{value_text(estimate)}[/]",
                escape(interval_text(estimate)),
                f"{estimate.n:,}",
            )
    return table


def circuits(results: Sequence[Result]) -> Table:
    """For each model and test circuit, the mean over its suites of the share of items that pass everything."""
    cells: dict[tuple[str, str], list[float]] = {}
    for result in results:
        for estimate in result.estimates:
            if estimate.check == "all_predictions" and estimate.group.startswith("circuit="):
                key = (result.model, estimate.group.removeprefix("circuit="))
                cells.setdefault(key, []).append(estimate.value)
    several = len({model for model, _ in cells}) > 1
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for name in ("circuit", *(["model"] if several else [])):
        table.add_column(name, overflow="fold")
    table.add_column("mean of suites", justify="right")
    table.add_column("suites", justify="right")
    for (model, circuit), values in sorted(cells.items(), key=lambda cell: cell[0][::-1]):
        shown = f"{100 * fmean(values):.1f} %"
        table.add_row(escape(circuit), *([escape(model)] if several else []), f"[bold]{shown}[/]", str(len(values)))
    return table


def headlines(result: Result) -> list[Estimate]:
    """The estimates over all items; `all_predictions` only where it says more than the one prediction does."""
    whole = [estimate for estimate in result.estimates if estimate.group == "all"]
    single = sum(estimate.check.startswith("prediction_") for estimate in whole) == 1
    return [estimate for estimate in whole if not (single and estimate.check == "all_predictions")]


def failures(result: Result) -> list[str]:
    """The items that fail, each with what explains it."""
    lines = []
    for outcome in result.outcomes:
        if outcome.value is False and outcome.check != "all_predictions":
            lines.append(f"{result.suite}  item {outcome.item}  {outcome.check.replace('_', ' ')}")
            lines += [f"    {key}: {value}" for key, value in outcome.detail.items()]
    return lines


def common_signature(signatures: Sequence[str]) -> str:
    """The fields that all signatures share, with … for those that differ."""
    split = [dict(field.split(":", 1) for field in mark.split("|")) for mark in signatures]
    return "|".join(
        f"{key}:{value if all(other.get(key) == value for other in split) else '…'}" for key, value in split[0].items()
    )


def _print_signature(signature: str, console: Console) -> None:
    """On one line, however long, so that it can be copied and searched for."""
    console.print(Text(signature, style="dim"), soft_wrap=True)


def _tells(result: Result, estimate: Estimate) -> bool:
    """Whether a group says more than `all`: its field has more than one value."""
    field = estimate.group.partition("=")[0]
    others = {e.group for e in result.estimates if e.check == estimate.check and e.group.startswith(f"{field}=")}
    return len(others) > 1


def _status(result: Result) -> tuple[str, str]:
    return ("", "") if result.status == "complete" else (f"  {result.status}", "bold red")
