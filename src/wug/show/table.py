"""Results as text: for the terminal, and in the formats that other programs read."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from wug import registry
from wug.rows import fields_of
from wug.show.markup import code, latex_blocks, markdown_table
from wug.show.numbers import shown, spaced
from wug.show.source import record_of
from wug.types import DATA, Estimate, Result

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


def finite(data: Any) -> Any:
    """The same data with null where a number is not finite, which JSON cannot write."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return data


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


def delimited_lines(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str, *, raw: bool = False
) -> Iterator[str]:
    """The lines of such a table, one after the other."""
    out = _Line()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    cell = _as_it_is if raw else no_formula
    for row in chain((columns,), rows):
        writer.writerow(map(cell, row))
        yield out.text


class _Line:
    """Takes a row of a table with its line end.

    The writer quotes what its own line end has in it: it must be CR LF for a lone CR in a name to be quoted.
    """

    def __init__(self) -> None:
        self.text = ""

    def write(self, row: str) -> None:
        """A row, of which the line end is left out."""
        self.text = row.removesuffix("\r\n")


def _as_it_is(value: Any) -> Any:
    return "" if value is None else value


def no_formula(value: Any) -> Any:
    """The value of a cell; text that a spreadsheet would compute gets an apostrophe before it, as in a spreadsheet."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return _as_it_is(value)


_NUMBER = re.compile(r"-?[0-9.]+(?:[eE][+-]?[0-9]+)?")


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
