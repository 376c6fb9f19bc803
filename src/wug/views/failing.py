"""The items that fail, each with the checks that it fails and what explains them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from wug import registry
from wug.rows import Filter, Placed, rows_of
from wug.types import Result
from wug.views.family_views import items_of
from wug.views.markup import latex_table, markdown_table
from wug.views.numbers import plain
from wug.views.parts import Item
from wug.views.table import delimited
from wug.views.text import item_lines

COLUMNS = ("suite", "model", "item", "checks", "note", "text")


@dataclass(frozen=True, slots=True)
class Failing:
    """An item that fails, as a person reads it."""

    suite: str
    model: str
    noun: str
    """What an item of the suite is called: pair, line, sample."""
    item: str
    checks: tuple[str, ...]
    """Those that it fails for one reason."""
    note: str
    groups: Mapping[str, str]
    text: tuple[str, ...]
    """Its sentences and what explains the judgement, line by line."""

    @property
    def head(self) -> str:
        """Which item fails what."""
        parts = (self.suite, f"{self.noun} {self.item}", ", ".join(map(plain, self.checks)), self.note)
        return "  ".join(filter(None, parts))


def failing(result: Result) -> Iterator[Failing]:
    """The items of a result that fail; one that fails for several reasons comes once for each."""
    rows = rows_of(result)
    items = items_of(result, rows)
    summary = registry.offered("families", result.kind, "SUMMARY")
    found: dict[str, list[Placed]] = {}
    for row in rows.each(Filter(value="false")):
        if row.outcome.check != summary:  # which says no more than what it sums up
            found.setdefault(row.outcome.item, []).append(row)
    for name, some in found.items():
        shown: list[tuple[Item, list[str]]] = []
        for row in some:
            item = replace(items.show(row, rows.same_item(row)), failed=())
            checks = next((checks for known, checks in shown if known == item), None)
            if checks is None:
                shown.append((item, checks := []))
            checks.append(row.outcome.check)
        for item, checks in shown:
            note = item.note if item.fails else ""
            unique, text = tuple(dict.fromkeys(checks)), tuple(item_lines(item))
            yield Failing(
                result.suite, result.model, items.noun, name, unique, note, dict(some[0].outcome.groups), text
            )


def as_lines(results: Sequence[Result]) -> Iterator[str]:
    """The failing items for a person; a line that says so where there are none."""
    for result in results:
        none = True
        for item in failing(result):
            none = False
            yield item.head
            yield from (f"    {line}" for line in item.text)
        if none:
            yield f"{result.suite}  no item fails  ({result.n:,} of {result.model})"


def as_text(results: Sequence[Result], form: str) -> str:
    """The failing items in a format for other programs."""
    found = [item for result in results for item in failing(result)]
    if form == "json":
        return json.dumps([asdict(item) for item in found], ensure_ascii=False, indent=2)
    rows = [
        (item.suite, item.model, item.item, ", ".join(item.checks), item.note, "\n".join(item.text)) for item in found
    ]
    if form in ("csv", "tsv"):
        return delimited(COLUMNS, rows, "," if form == "csv" else "\t")
    flat = [[cell.replace("\n", " / ") for cell in row] for row in rows]
    align = "l" * len(COLUMNS)
    return markdown_table(COLUMNS, flat, align) if form == "md" else latex_table(COLUMNS, flat, align, long=True)
