"""Results for a person at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from wug import registry
from wug.identity import Group as ResultGroup
from wug.labels import short_names
from wug.types import Estimate, Result, Signature
from wug.views.breakdown import EVERY, first_field
from wug.views.breakdown import fields as fields_of
from wug.views.markup import visible
from wug.views.numbers import percent, spaced
from wug.views.source import line_of
from wug.views.table import cells

MANY = 4
"""With this many results or more they share one table."""
BROKEN_DOWN = 2
"""With more checks than this only the first is broken down by groups."""


class SafeConsole(Console):
    """A console on which control characters in names are seen and not obeyed."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of text that something is printed as; those that move the cursor are rich's own."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)


def show(results: Sequence[Result], console: Console, by: Sequence[str] | None = None) -> None:
    """Print results: one after the other with what each check means, or many of them in one table.

    Results that are to be broken down by some fields stand one after the other; without `by`, each of a few is broken
    down by the field for a first look.
    """
    if len(results) < MANY or by:
        names = short_names(result.model for result in results)
        for result in results:
            console.print(block(result, names[result.model], by))
            print_signature(result.signature, console)
        _print_tables(across_suites(results), console)
        return
    console.print(overview(results))
    _print_tables(across_suites(results), console)
    warned = [result for result in results if result.warnings]
    if warned:
        count = sum(len(result.warnings) for result in warned)
        text = f"{count} warning{'s' * (count != 1)} about {len(warned)} of {len(results)} results"
        console.print(Text(f"\n{text}", style="yellow"))
        for result in warned:
            for warning in result.warnings:
                console.print(Text(f"  {result.suite}: {warning}", style="yellow"))
    for source in dict.fromkeys(filter(None, map(line_of, results))):
        console.print(Text(f"data: {source}", style="dim"))
    print_signature(common_signature([result.signature for result in results]), console)


def block(result: Result, model: str, by: Sequence[str] | None = None) -> RenderableType:
    """One result of a model that is called `model`: its checks with their meaning, groups and warnings.

    Groups are those of some fields, or of the one for a first look.
    """
    every = fields_of(result)
    first = first_field(result)
    shown = set(every) if by and EVERY in by else set(by) if by is not None else {first}
    head = Text.assemble(
        (result.suite, "bold"), f"  {result.n:,} item{'s' * (result.n != 1)} · {model}", _status(result)
    )
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    checks = _checks(result)
    left_out = len({estimate.check for estimate in result.estimates}) > len(checks)
    for place, (check, fields) in enumerate(checks.items()):
        own = {name: found for name, found in fields.items() if name in shown}
        lines = list(_grouped(result, own))
        if place and len(checks) > BROKEN_DOWN:
            lines, left_out = [], left_out or bool(lines)
        for estimate in fields.get("all", ()):
            meaning = result.check(check).meaning
            if estimate.n < result.n:  # of some items only
                meaning = f"{meaning} (n = {estimate.n:,})".lstrip()
            name = f"  {check.replace('_', ' ')}"
            lines.insert(0, (name, meaning, *cells(result, estimate)))
        for name, meaning, value, interval in lines:
            table.add_row(escape(name), escape(meaning), f"[bold]{value}[/]", escape(interval))
    parts: list[RenderableType] = [head, table]
    if not result.estimates and result.status == "complete":
        parts.append(Text("  no item was judged", style="dim"))
    if others := [name for name in every if name not in shown]:
        parts.append(Text(f"  also by {', '.join(others)}: --by {others[0]}", style="dim"))
    if left_out:
        parts.append(Text("  more checks and groups: --format csv", style="dim"))
    parts += [Text(f"  warning: {warning}", style="yellow") for warning in result.warnings]
    if source := line_of(result):
        parts.append(Text(f"  data: {source}", style="dim"))
    return Group(*parts)


def overview(results: Sequence[Result]) -> Table:
    """One row for each suite, model and check."""
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    names = short_names(result.model for result in results)
    several = len(names) > 1
    for name in ("suite", *(["model"] if several else []), "check"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        whole = result.headlines
        model = [escape(names[result.model])] if several else []
        if not whole:
            table.add_row(escape(result.suite), *model, f"[dim]{result.status}[/]", "", "", f"{result.n:,}")
        for place, estimate in enumerate(whole):
            first = place == 0
            value, interval = cells(result, estimate)
            table.add_row(
                escape(result.suite) if first else "",
                *(model if first else [""] * len(model)),
                escape(estimate.check.replace("_", " ")),
                f"[bold]{value}[/]",
                escape(interval),
                f"{estimate.n:,}",
            )
    return table


def across_suites(results: Sequence[Result]) -> Iterator[Table]:
    """A table for each field that families summarise across suites (`ACROSS_SUITES`)."""
    fields = (registry.offered("families", kind, "ACROSS_SUITES") for kind in {result.kind: None for result in results})
    return (_means(results, field) for field in dict.fromkeys(filter(None, fields)))


def _means(results: Sequence[Result], field: str) -> Table:
    """The mean over suites for each model and value of a field, then the mean of these means.

    The metric is the family's `SUMMARY`, or else the headline. Models with a single such result are left out.
    """
    found: dict[str, dict[str, list[float]]] = {}
    suites: Counter[str] = Counter()
    for result in results:
        headline = result.headline.check if result.headline else None
        metric = registry.offered("families", result.kind, "SUMMARY") or headline
        groups = [(ResultGroup.parse(e.group), e.value) for e in result.estimates if e.check == metric]
        own = [(group.value, value) for group, value in groups if group.field == field]
        suites[result.model] += bool(own)
        for name, value in own:
            found.setdefault(result.model, {}).setdefault(name, []).append(value)
    several, names = len(found) > 1, short_names(found)
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for name in (field, *(["model"] if several else [])):
        table.add_column(name, overflow="fold")
    table.add_column("mean of suites", justify="right")
    table.add_column("suites", justify="right")
    for model, means in found.items():
        if len(means) < 2 or suites[model] < 2:
            continue
        rows = [(name, fmean(means[name]), len(means[name])) for name in sorted(means)]
        for name, mean, count in [*rows, ("macro average", fmean(mean for _, mean, _ in rows), suites[model])]:
            model_cell = [escape(names[model])] if several else []
            table.add_row(escape(name), *model_cell, f"[bold]{spaced(percent(mean))}[/]", str(count))
    return table


def _print_tables(tables: Iterable[Table], console: Console) -> None:
    """Print the tables that have rows, each after an empty line."""
    for table in tables:
        if table.row_count:
            console.print()
            console.print(table)


def common_signature(signatures: Sequence[Signature]) -> Signature:
    """The fields of all signatures, with … for those that differ or that some lack."""
    keys = dict.fromkeys(key for signature in signatures for key, _ in signature.fields)
    values = {key: {signature.get(key) for signature in signatures} for key in keys}
    return Signature(tuple((key, str(*found) if len(found) == 1 else "…") for key, found in values.items()))


def print_signature(signature: Signature, console: Console) -> None:
    """On one line, however long, so that it can be copied and searched for."""
    console.print(Text(str(signature), style="dim"), soft_wrap=True)


def _checks(result: Result) -> dict[str, dict[str, list[Estimate]]]:
    """The estimates of each check by the field that they are grouped by; `all` where they are not.

    Those for a first look alone.
    """
    found: dict[str, dict[str, list[Estimate]]] = {}
    for estimate in result.estimates:
        if not result.check(estimate.check).headline:
            continue
        fields = found.setdefault(estimate.check, {})
        fields.setdefault(ResultGroup.parse(estimate.group).field, []).append(estimate)
    return found


def _grouped(result: Result, fields: Mapping[str, Sequence[Estimate]]) -> Iterator[tuple[str, str, str, str]]:
    """Name, n, value and interval of each group, field by field, numbers in their order."""
    for field, found in fields.items():
        if field == "all" or len(found) < 2:  # which says no more than `all` does
            continue
        for estimate in sorted(found, key=_by_number):
            yield f"    {estimate.group}", f"n = {estimate.n:,}", *cells(result, estimate)


def _by_number(estimate: Estimate) -> float:
    """The number that a group is called by; others keep their order, before those."""
    value = ResultGroup.parse(estimate.group).value
    return int(value) if value.isdecimal() and len(value) < 16 else -1


def _status(result: Result) -> tuple[str, str]:
    return ("", "") if result.status == "complete" else (f"  {result.status}", "bold red")
