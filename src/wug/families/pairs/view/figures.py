"""Accuracy on pairs, by everything that they are grouped by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from wug.families.pairs.languages import LANGUAGE, MACRO
from wug.families.pairs.view.judged import CHECK
from wug.types import Result
from wug.views.grouped import best_first, by_field, dots, intervals_are, overall_of, point
from wug.views.numbers import Shown, plain
from wug.views.parts import Figure

CROSSED = "pattern_type"
NAMED = {"pattern", "type", CROSSED, "field", "term", "phenomenon", "paradigm", LANGUAGE}
"""Fields that have charts of their own."""
PHENOMENA = ("phenomenon", "term")
"""What paradigms are of; the first that there is."""
SMALL = 12
"""Values up to which a field shares a chart with others."""
Fields = Mapping[str, Sequence[Shown]]


def group_figures(result: Result, paradigms: Callable[[], Sequence[Mapping[str, str]]]) -> Iterator[Figure]:
    """A chart for each way in which the pairs are grouped; a field with one value says nothing.

    `paradigms` finds the groups of a pair of each paradigm, which say what term it belongs to.
    """
    every = by_field(result, CHECK)
    fields = {name: rows for name, rows in every.items() if len(rows) > 1}
    note = f"{intervals_are(result, CHECK)} Chance is 50 %.".strip()
    draw = partial(dots, note=note, what="accuracy")
    if LANGUAGE in fields:
        yield _languages(fields[LANGUAGE], overall_of(result, MACRO), draw)
    yield from _types_and_patterns(fields, every.get(CROSSED, ()), draw)
    yield from _fields_and_terms(fields, draw)
    if "paradigm" in fields:
        above = next((name for name in PHENOMENA if name in every), None)
        groups = paradigms() if above else ()
        terms = {found["paradigm"]: found.get(above or "", "") for found in groups if "paradigm" in found}
        yield _paradigms(fields, terms, above, partial(draw, note=f"{note} Best first, by {above or 'accuracy'}."))
    yield from _others({name: rows for name, rows in fields.items() if name not in NAMED}, draw)


def _types_and_patterns(fields: Fields, crossed: Sequence[Shown], draw: Callable[..., Figure]) -> Iterator[Figure]:
    """Original against nonce sentences, over all pairs and pattern by pattern; or patterns alone."""
    types = sorted(fields.get("type", ()), key=lambda row: row.group != "original")
    patterns = best_first(fields.get("pattern", ()))
    if not types:
        if patterns:
            yield draw("types", "Accuracy by pattern", [point(row) for row in patterns], first="pattern")
        return
    found = {row.group: row for row in crossed}
    points = [point(row, name="all pairs", series=row.group) for row in types]
    for pattern in patterns:
        cells = [(of.group, found.get(f"{pattern.group}/{of.group}")) for of in types]
        points += [point(row, name=pattern.group, series=of) for of, row in cells if row is not None]
    names = " and ".join(row.group for row in types)
    yield draw("types", f"Accuracy on {names} sentences", points, first="pattern", series="type")


def _fields_and_terms(fields: Fields, draw: Callable[..., Figure]) -> Iterator[Figure]:
    above = next((name for name in PHENOMENA if name in fields), "")  # the other says nearly the same
    there = [name for name in ("field", above) if name in fields]
    if there:
        points = [point(row, group=name) for name in there for row in best_first(fields[name])]
        yield draw("terms", f"Accuracy by {' and '.join(there)}", points, first=" or ".join(there))


def _languages(rows: Sequence[Shown], macro: Sequence[Shown], draw: Callable[..., Figure]) -> Figure:
    """Every language, and below them their mean."""
    points = [*(point(row) for row in best_first(rows)), *(point(row, name="macro average") for row in macro)]
    return draw("languages", "Accuracy by language", points, first="language")


def _paradigms(fields: Fields, terms: Mapping[str, str], above: str | None, draw: Callable[..., Figure]) -> Figure:
    """Every paradigm under its term or phenomenon, the best of them first and the best paradigm in it."""
    values = {row.group: row.value for row in fields.get(above or "", ())}

    def rank(row: Shown) -> tuple[float, str]:
        term = terms.get(row.group, "")
        return -values.get(term, -1.0), term

    ordered = sorted(best_first(fields["paradigm"]), key=rank)
    points = [point(row, group=plain(terms.get(row.group, ""))) for row in ordered]
    return draw("paradigms", "Accuracy by paradigm", points, first="paradigm")


def _others(fields: Fields, draw: Callable[..., Figure]) -> Iterator[Figure]:
    """All other groups: small ones in one chart, large ones in charts of their own."""
    ordered = [(plain(name), best_first(rows)) for name, rows in fields.items()]
    small = [(name, rows) for name, rows in ordered if len(rows) <= SMALL]
    if small:
        points = [point(row, group=name if len(small) > 1 else "") for name, rows in small for row in rows]
        yield draw("others", f"Accuracy by {', '.join(name for name, _ in small)}", points, first=small[0][0])
    for number, (name, rows) in enumerate(one for one in ordered if len(one[1]) > SMALL):
        yield draw(f"others-{number}", f"Accuracy by {name}", [point(row) for row in rows], first=name)
