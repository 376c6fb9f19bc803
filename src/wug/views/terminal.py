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
        _print_table(languages(results), console)
        return
    console.print(overview(results))
    _print_table(circuits(results), console)
    _print_table(languages(results), console)
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


def circuits(results: Sequence[Result]) -> Table:
    """For each model and test circuit, the mean over its suites of the share of items that pass everything."""
    found: dict[tuple[str, str], list[float]] = {}
    for result in results:
        summary = registry.offered("families", result.kind, "SUMMARY")
        for estimate in result.estimates:
            if estimate.check == summary and estimate.group.startswith("circuit="):
                key = (result.model, estimate.group.removeprefix("circuit="))
                found.setdefault(key, []).append(estimate.value)
    names = short_names(model for model, _ in found)
    several = len(names) > 1
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for name in ("circuit", *(["model"] if several else [])):
        table.add_column(name, overflow="fold")
    table.add_column("mean of suites", justify="right")
    table.add_column("suites", justify="right")
    for (model, circuit), values in sorted(found.items(), key=lambda cell: cell[0][::-1]):
        mean = spaced(percent(fmean(values)))
        table.add_row(
            escape(circuit), *([escape(names[model])] if several else []), f"[bold]{mean}[/]", str(len(values))
        )
    return table


def languages(results: Sequence[Result]) -> Table:
    """For each model and language, the mean over its suites of their headline; below them the mean of the languages.

    Only for models that have several results by language: what a single one has of languages stands in it.
    """
    found: dict[str, dict[str, list[float]]] = {}
    suites: Counter[str] = Counter()
    for result in results:
        check = result.headline.check if result.headline else None
        own = [e for e in result.estimates if e.check == check and e.group.startswith("language=")]
        suites[result.model] += bool(own)
        for estimate in own:
            cells = found.setdefault(result.model, {})
            cells.setdefault(estimate.group.removeprefix("language="), []).append(estimate.value)
    several, names = len(found) > 1, short_names(found)
    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for name in ("language", *(["model"] if several else [])):
        table.add_column(name, overflow="fold")
    table.add_column("mean of suites", justify="right")
    table.add_column("suites", justify="right")
    for model, cells in found.items():
        if len(cells) < 2 or suites[model] < 2:
            continue
        means = {language: fmean(values) for language, values in cells.items()}
        rows = [(language, means[language], len(cells[language])) for language in sorted(means)]
        for language, mean, count in [*rows, ("macro average", fmean(means.values()), suites[model])]:
            model_cell = [escape(names[model])] if several else []
            table.add_row(escape(language), *model_cell, f"[bold]{spaced(percent(mean))}[/]", str(count))
    return table


def _print_table(table: Table, console: Console) -> None:
    """A table that sums results up, where it has more than a row."""
    if table.row_count > 1:
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
