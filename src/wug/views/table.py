"""Results as text: for the terminal, and in the formats that other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from wug import registry
from wug.rows import fields_of
from wug.tables import delimited_lines as delimited_lines
from wug.tables import finite as finite
from wug.tables import no_formula as no_formula
from wug.types import DATA, Estimate, Result
from wug.views.markup import code, latex_blocks, markdown_table
from wug.views.numbers import shown, spaced
from wug.views.source import record_of

COLUMNS = ("suite", "kind", "model", "check", "group", "value", "n", "low", "high", "method", "signature")


def as_json(results: Sequence[Result]) -> str:
    """A list with an object for each suite and model."""
    found = [
        {
            "suite": result.suite,
            "kind": result.kind,
            "model": result.model,
            "status": result.status,
            "signature": str(result.signature),
            "n": result.n,
            "estimates": [asdict(estimate) for estimate in result.estimates],
            "warnings": list(result.warnings),
            **({} if (record := record_of(result)) is None else {DATA: dict(record)}),
        }
        for result in results
    ]
    return json.dumps(finite(found), ensure_ascii=False, indent=2, allow_nan=False)


def estimate_rows(results: Sequence[Result]) -> list[tuple[Any, ...]]:
    """One row for each estimate, in the order of COLUMNS."""
    return [
        (r.suite, r.kind, r.model, e.check, e.group, e.value, e.n, e.low, e.high, e.method, str(r.signature))
        for r in results
        for e in r.estimates
    ]


def delimited(columns: Sequence[str], rows: Sequence[Sequence[Any]], delimiter: str, *, raw: bool = False) -> str:
    """Rows under a header, absent values empty; a spreadsheet takes no text among them for a formula, unless `raw`."""
    return "\n".join(delimited_lines(columns, rows, delimiter, raw=raw))


def as_csv(results: Sequence[Result]) -> str:
    """The estimates, comma-separated."""
    return delimited(COLUMNS, estimate_rows(results), ",")


def as_tsv(results: Sequence[Result]) -> str:
    """The estimates, tab-separated; for suites of one family the table that its users know, where it has one."""
    kinds = {result.kind for result in results}
    table = registry.offered("families", kinds.pop(), "tsv") if len(kinds) == 1 else None
    columns, rows = (COLUMNS, estimate_rows(results)) if table is None else table(results)
    return delimited(columns, rows, "\t")


def outcome_rows(results: Sequence[Result]) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Columns and rows of all judgements, one after the other; every field that groups results is a column."""
    fields = list(dict.fromkeys(field for result in results for field in fields_of(result)))
    columns = ["suite", "model", "item", "check", "value", *fields, "detail"]
    rows = (
        (
            r.suite,
            r.model,
            o.item,
            o.check,
            None if o.value is None else float(o.value),
            *(o.groups.get(field) for field in fields),
            json.dumps(finite(o.detail), ensure_ascii=False) if o.detail else None,
        )
        for r in results
        for o in r.outcomes
    )
    return columns, rows


def as_markdown(results: Sequence[Result]) -> str:
    """A table in Markdown with the signatures below."""
    head = ("suite", "model", "check", "group", "value", "95 % interval", "n")
    lines = [
        (result.suite, result.model, e.check, e.group, *cells(result, e), str(e.n))
        for result in results
        for e in result.estimates
    ]
    return "\n".join([markdown_table(head, lines, "llllrcr"), "", *(code(str(result.signature)) for result in results)])


def as_latex(results: Sequence[Result]) -> str:
    """A booktabs table with the signatures as comments; a column says which model, where there are several."""
    several = len({result.model for result in results}) > 1
    head = ["suite", *(["model"] if several else []), "check", "group", "value", "95 % interval", "n"]
    blocks = [
        [
            (
                *(result.suite, *([result.model] if several else []), e.check, e.group),
                *(*cells(result, e), str(e.n)),
            )
            for e in result.estimates
        ]
        for result in results
    ]
    return latex_blocks(head, blocks, "l" * (len(head) - 3) + "rcr", [str(result.signature) for result in results])


FORMATS: Mapping[str, Callable[[Sequence[Result]], str]] = {
    "json": as_json,
    "csv": as_csv,
    "tsv": as_tsv,
    "md": as_markdown,
    "latex": as_latex,
}


def cells(result: Result, estimate: Estimate) -> tuple[str, str]:
    """An estimate's value and its interval, as every medium has them."""
    row = shown(result, estimate)
    return spaced(row.text), row.interval
