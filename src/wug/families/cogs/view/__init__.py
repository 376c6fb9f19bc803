"""COGS: matches by type as the paper groups them, kinds of error, gold and prediction side by side."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wug.families.cogs.view.errors import broken_rules, error_figure, error_table
from wug.families.cogs.view.lines import dialect_of, line
from wug.families.cogs.view.types import FIRST, kinds, type_figure, type_table
from wug.rows import Filter, Rows
from wug.types import Outcome, Result
from wug.views.grouped import overall_parts
from wug.views.parts import Facts, Items, Later, Part, Sample


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Measures, types, errors."""
    types = kinds(result)
    yield from overall_parts(result)
    for part in (type_figure(result, types), type_table(result, types)):
        if part is not None:
            yield part
    if rows.tally(FIRST)["false"]:
        yield Later("errors", "What is wrong with the wrong lines", lambda: error_figure(_judged(rows, "errors")))
        yield Later(
            "types-by-error", "Errors type by type", lambda: error_table(_judged(rows, "errors"), types), figure=False
        )
        yield Later("rules", "Broken rules", lambda: broken_rules(_judged(rows, "violations")), figure=False)
    if about := {key: result.meta[key] for key in ("edition", "dialect") if result.meta.get(key)}:
        yield Facts(about)


def items(result: Result, rows: Rows) -> Items:
    """Every line with its gold form and the prediction, those that are wrong type by type."""
    wrong = Sample(
        "Wrong lines",
        FIRST,
        verb="wrong",
        group=lambda outcome: str(outcome.groups.get("type", "")),
        titles={name: kind.title for name, kind in kinds(result).items()},
        note="Gold form and prediction, term beside term; what differs is marked.",
    )
    checks = [estimate.check for estimate in result.estimates if estimate.group == "all"]
    check = FIRST if FIRST in checks else next(iter(checks), FIRST)
    return Items(check, partial(line, dialect=dialect_of(result, rows)), (wrong,), size=15, noun="line")


def _judged(rows: Rows, key: str) -> list[Outcome]:
    """Every line with one part of its detail: that of very many lines fits into memory."""
    return [row.outcome for row in rows.each(Filter(FIRST), keys=(key,))]
