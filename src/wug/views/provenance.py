"""Where a result and its suite come from, and published results on the same suite."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wug.files import ASSETS, read_text
from wug.formatting import format_estimate, percent
from wug.identity import IMPORTED, OVERALL
from wug.labels import short_names
from wug.outcomes import DATASET_KEY, Result
from wug.views.parts import FactsPart, TableCell, TableColumn, TablePart, TablePartRow, TextPart, ViewPart

COLUMNS = (TableColumn("model"), TableColumn("value", numeric=True), TableColumn("source"))


class PublishedScore(NamedTuple):
    """A value that was published."""

    model: str
    value: float
    n: int
    source: str
    origin: str
    """Repository, commit and file."""


def imported_note(result: Result) -> Iterator[ViewPart]:
    """Which program computed an imported result."""
    if source := result.signature.get(IMPORTED):
        format, program = source.partition("@")[0], result.signature.get("program")
        yield TextPart(f"Imported from a file in the format {format}: {program} computed it, not wug.")


def final_parts(result: Result) -> Iterator[ViewPart]:
    """The last parts of a result's page: published results, and the published set that its suite is from."""
    if published := published_results_part(result):
        yield published
    if facts := dataset_facts(result):
        yield FactsPart(facts)


@functools.cache
def published_values(suite: str, metric: str) -> tuple[PublishedScore, ...]:
    """The published values of a metric on a suite."""
    tables: Sequence[Mapping[str, Any]] = tomllib.loads(read_text(ASSETS / "published_results.toml"))["tables"]
    rows = [
        (table, table["suites"].index(suite))
        for table in tables
        if table["metric"] == metric and suite in table["suites"]
    ]
    return tuple(
        PublishedScore(model, value, table["sizes"][position], table["source"], table["origin"])
        for table, position in rows
        for model, value in zip(table["models"], table["values"][position], strict=True)
        if not math.isnan(value)
    )


def published_results_part(result: Result) -> TablePart | None:
    """The model among published ones, the best first; None if nothing is published on its suite."""
    overall = ((e, published_values(result.suite, e.metric)) for e in result.estimates if e.group == OVERALL)
    estimate, values = next(((e, values) for e, values in overall if values), (None, ()))
    if estimate is None:
        return None
    text = format_estimate(result, estimate)
    name = short_names([result.model])[result.model]
    source = ", ".join(filter(None, ("this result", text.interval)))
    rows = [(entry.value, True, (entry.model, percent(entry.value), entry.source)) for entry in values]
    rows.append((estimate.value, False, (name, text.text, source)))
    rows.sort(key=lambda row: -row[0])
    table_rows = tuple(TablePartRow(tuple(map(TableCell, cells)), quiet) for _, quiet, cells in rows)
    sizes = {entry.n for entry in values}
    note = "" if sizes == {estimate.n} else f" They are of {max(sizes):,} items, and this result of {estimate.n:,}."
    origins = "; ".join(dict.fromkeys(entry.origin for entry in values))
    return TablePart(
        "published-results",
        "Among published models",
        COLUMNS,
        (("", table_rows),),
        note=f"Other programs computed the published values, by their own rules.{note} Sources: {origins}.",
    )


def dataset_record(result: Result) -> Mapping[str, object] | None:
    """The catalogue's record of the published set that a suite is from; None for other suites."""
    record = result.meta.get(DATASET_KEY)
    return record if isinstance(record, Mapping) else None


def dataset_facts(result: Result) -> dict[str, object]:
    """Title, licence and citation of the published set that a suite is from; empty for other suites."""
    record = dataset_record(result)
    if record is None:
        return {}
    facts = {
        "data": record.get("title"),
        "licence": record.get("licence") or "none named",
        "terms": record.get("terms"),
        "cite": f"{record.get('citation')} (wug data cite {record.get('set')})",
        "source": f"{record.get('repository')} at {record.get('commit')}",
    }
    return {key: value for key, value in facts.items() if value}


def dataset_line(result: Result) -> str:
    """`dataset_facts` on one line: title, licence, citation."""
    facts = dataset_facts(result)
    return f"{facts['data']} · licence: {facts['licence']} · cite {facts['cite']}" if facts else ""
