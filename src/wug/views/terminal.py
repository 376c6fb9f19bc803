"""Results in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from wug import registry
from wug.formatting import escape_controls, metric_label, percent, plural
from wug.identity import Group as ResultGroup
from wug.labels import label_repeats, short_names
from wug.outcomes import Estimate, Result, Signature
from wug.tables import FormattedTable
from wug.views.provenance import dataset_line
from wug.views.result_tables import ALL_FIELDS, cells, default_field
from wug.views.result_tables import fields as fields_of

MIN_TABLE_RESULTS = 4
"""Results from which on they are printed in one table."""
WARNING_MARK = " !"
"""The mark of a value whose result has warnings."""
MAX_BROKEN_DOWN_METRICS = 2
"""With more metrics, only the first is broken down by group."""


class SafeConsole(Console):
    """A console that escapes control characters in names."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable; control segments come from rich itself."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(escape_controls(piece.text), piece.style)


def show(results: Sequence[Result], console: Console, by: Sequence[str] | None = None) -> None:
    """Print results one after the other with the meaning of each metric, or many in one table.

    With `by`, results are printed one after the other with these breakdowns; without it, each of a few results is
    broken down by its default field.
    """
    results = label_repeats(results)
    if len(results) < MIN_TABLE_RESULTS or by:
        names = short_names(result.model for result in results)
        for result in results:
            console.print(block(result, names[result.model], by))
            print_signature(result.signature, console)
        _print_tables(across_suites(results), console)
        return
    console.print(overview(results))
    _print_tables(across_suites(results), console)
    results_with_warnings = [result for result in results if result.warnings]
    if results_with_warnings:
        count = sum(len(result.warnings) for result in results_with_warnings)
        text = f"{plural(count, 'warning')} about {len(results_with_warnings)} of {len(results)} results"
        console.print(Text(f"\n{WARNING_MARK.strip()} {text}", style="yellow"))
        for result in results_with_warnings:
            for warning in result.warnings:
                console.print(Text(f"  {result.suite}: {warning}", style="yellow"))
    sources = dict.fromkeys(filter(None, map(dataset_line, results)))
    print_notes(console, [f"data: {source}" for source in sources], (), [result.signature for result in results])


def block(result: Result, model: str, by: Sequence[str] | None = None) -> RenderableType:
    """One result: its metrics with meaning, groups and warnings.

    Groups are those of the fields `by`, or of the default field.
    """
    field_counts = fields_of(result)
    first_field = default_field(result)
    selected_fields = {first_field} if by is None else set(by)
    if ALL_FIELDS in selected_fields:
        selected_fields = set(field_counts)
    status = "" if result.status == "complete" else f"  {result.status}"
    head = Text.assemble((result.suite, "bold"), f"  {plural(result.n, 'item')} · {model}", (status, "bold red"))
    table = Table.grid(
        Column(no_wrap=True),
        Column(overflow="fold", ratio=1),
        Column(justify="right", no_wrap=True),
        Column(no_wrap=True),
        padding=(0, 2),
    )
    metrics: dict[str, dict[str, list[Estimate]]] = {}
    for estimate in result.estimates:
        if result.metric(estimate.metric).headline:
            fields = metrics.setdefault(estimate.metric, {})
            fields.setdefault(ResultGroup.parse(estimate.group).field, []).append(estimate)
    other_metrics = {estimate.metric for estimate in result.estimates} - metrics.keys()
    has_more = any(result.metric(name).derived is None for name in other_metrics)
    for index, (metric, fields) in enumerate(metrics.items()):
        shown_fields = {name: estimates for name, estimates in fields.items() if name in selected_fields}
        lines = [
            (f"    {estimate.group}", f"n = {estimate.n:,}", *cells(result, estimate))
            for field, estimates in shown_fields.items()
            if field != "all" and len(estimates) > 1  # a single group says no more than `all` does
            for estimate in sorted(estimates, key=_by_number)
        ]
        if index and len(metrics) > MAX_BROKEN_DOWN_METRICS:
            lines, has_more = [], has_more or bool(lines)
        if "all" not in fields and result.metric(metric).split_by in shown_fields:
            lines.insert(0, (f"  {metric_label(metric, result.kind)}", result.metric(metric).meaning, "", ""))
        for estimate in fields.get("all", ()):
            meaning = result.metric(metric).meaning
            if estimate.n < result.n:  # of some items only
                meaning = f"{meaning} (n = {estimate.n:,})".lstrip()
            name = f"  {metric_label(metric, result.kind)}"
            lines.insert(0, (name, meaning, *cells(result, estimate)))
        for name, meaning, value, interval in lines:
            table.add_row(escape(name), escape(meaning), f"[bold]{value}[/]", escape(interval))
    parts: list[RenderableType] = [head, table]
    if not result.estimates and result.status == "complete":
        parts.append(Text("  no item was judged", style="dim"))
    if other_fields := [name for name in field_counts if name not in selected_fields]:
        parts.append(Text(f"  also by {', '.join(other_fields)}: --by {other_fields[0]}", style="dim"))
    if has_more:
        parts.append(Text("  more metrics and groups: --format csv", style="dim"))
    parts += [Text(f"  warning: {warning}", style="yellow") for warning in result.warnings]
    if source := dataset_line(result):
        parts.append(Text(f"  data: {source}", style="dim"))
    return Group(*parts)


def overview(results: Sequence[Result]) -> Table:
    """One row per suite, model and metric."""
    table = plain_table()
    names = short_names(result.model for result in results)
    has_models, has_warnings = len(names) > 1, any(result.warnings for result in results)
    space = " " * len(WARNING_MARK) * has_warnings
    for name in ("suite", *(["model"] if has_models else []), "metric"):
        table.add_column(name, overflow="fold")
    for name in ("value", "95% interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        headlines = result.headlines
        model = [escape(names[result.model])] if has_models else []
        if not headlines:
            table.add_row(escape(result.suite), *model, f"[dim]{result.status}[/]", "", "", f"{result.n:,}")
        for index, estimate in enumerate(headlines):
            is_first = index == 0
            value, interval = cells(result, estimate)
            table.add_row(
                escape(result.suite) if is_first else "",
                *(model if is_first else [""] * len(model)),
                escape(metric_label(estimate.metric, result.kind)),
                f"[bold]{value}[/][yellow]{WARNING_MARK if result.warnings else space}[/]",
                escape(interval),
                f"{estimate.n:,}",
            )
    return table


def across_suites(results: Sequence[Result]) -> Iterator[Table]:
    """One table per field that families summarise across suites (`across_suites`)."""
    kinds = dict.fromkeys(result.kind for result in results)
    fields = (registry.family_traits(kind).across_suites for kind in kinds)
    return (_means(results, field) for field in dict.fromkeys(filter(None, fields)))


def _means(results: Sequence[Result], field: str) -> Table:
    """The mean over suites by model and value of a field, then the mean of these means.

    The metric is the family's summary, or else the headline. Models with a single such result are left out.
    """
    values: dict[str, dict[str, list[float]]] = {}
    suites: Counter[str] = Counter()
    for result in results:
        headline = result.headline.metric if result.headline else None
        metric = registry.family_traits(result.kind).summary or headline
        groups = [(ResultGroup.parse(e.group), e.value) for e in result.estimates if e.metric == metric]
        field_values = [(group.value, value) for group, value in groups if group.field == field]
        suites[result.model] += bool(field_values)
        for name, value in field_values:
            values.setdefault(result.model, {}).setdefault(name, []).append(value)
    has_models, names = len(values) > 1, short_names(values)
    table = plain_table()
    for name in (field, *(["model"] if has_models else [])):
        table.add_column(name, overflow="fold")
    table.add_column("mean of suites", justify="right")
    table.add_column("suites", justify="right")
    for model, means in values.items():
        if len(means) < 2 or suites[model] < 2:
            continue
        rows = [(name, fmean(means[name]), len(means[name])) for name in sorted(means)]
        for name, mean, count in [*rows, ("macro average", fmean(mean for _, mean, _ in rows), suites[model])]:
            model_cell = [escape(names[model])] if has_models else []
            table.add_row(escape(name), *model_cell, f"[bold]{percent(mean)}[/]", str(count))
    return table


def plain_table() -> Table:
    """A table without lines."""
    return Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")


def print_table(table: FormattedTable, console: Console, *, group_columns: int = 0) -> None:
    """Print a table; of neighbouring rows with the same first `group_columns` cells, only the first shows them."""
    grid = plain_table()
    for column, (name, align) in enumerate(zip(table.head, table.align, strict=True)):
        justify: JustifyMethod = "right" if align == "r" else "left"
        grid.add_column(escape(name), justify=justify, overflow="fold", no_wrap=0 < group_columns <= column)
    previous_group: Sequence[str] = ()
    for row in table.rows:
        group = row[:group_columns]
        shown_group = [""] * len(group) if group == previous_group else group
        grid.add_row(*map(escape, (*shown_group, *row[group_columns:])))
        previous_group = group
    console.print(grid)


def _print_tables(tables: Iterable[Table], console: Console) -> None:
    for table in tables:
        if table.row_count:
            console.print()
            console.print(table)


def common_signature(signatures: Sequence[Signature]) -> Signature:
    """The fields of all signatures, with … for those that differ or are missing in some."""
    keys = dict.fromkeys(key for signature in signatures for key, _ in signature.fields)
    values = {key: {signature.get(key) for signature in signatures} for key in keys}
    return Signature(tuple((key, str(*found) if len(found) == 1 else "…") for key, found in values.items()))


def print_notes(
    console: Console, notes: Iterable[str] = (), warnings: Iterable[str] = (), signatures: Sequence[Signature] = ()
) -> None:
    """Print what is below a table: notes, warnings, and what all signatures share."""
    for note in notes:
        console.print(Text(note, style="dim"))
    for warning in warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))
    print_signature(common_signature(signatures), console)


def print_signature(signature: Signature, console: Console) -> None:
    """Print a signature on one line, so that it can be copied."""
    console.print(Text(str(signature), style="dim"), soft_wrap=True)


def _by_number(estimate: Estimate) -> float:
    """The group as a number; −1 for others, which come first."""
    value = ResultGroup.parse(estimate.group).value
    return int(value) if value.isdecimal() and len(value) < 16 else -1
