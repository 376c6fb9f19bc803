"""Lines by their type, as the paper groups them: a table and a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.rows import Filter
from wug.types import Result
from wug.views import charts
from wug.views.grouped import dots, intervals_are, point
from wug.views.numbers import Shown, plain, shown
from wug.views.parts import Cell, Column, Figure, Row, Table

FIRST = "exact_match"
DRAWN = (FIRST, "semantic_match")
"""The checks of the chart."""
COLUMNS = (*DRAWN, "order_invariant_match", "well_formed", "terms_f1", "edit_distance")
"""The checks of the table, those that there are."""
OTHER = "other types"
WHOLE = {"all": "all lines", "kind=lexical": "lexical types", "kind=structural": "structural types"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of line, with its place in the paper."""

    name: str
    title: str
    section: str
    """Number and name of its section."""
    kind: str
    """`lexical` or `structural`; empty where that is not known."""

    @property
    def heading(self) -> str:
        """What it stands under in a table."""
        return ": ".join(part for part in (self.kind.capitalize(), self.section) if part)


def kinds(result: Result) -> dict[str, Kind]:
    """The types that a result has values of: lexical ones, structural ones, each in the order of the paper; others."""
    sections = _mapping(result.meta.get("sections"))
    known = {str(given.get("type")): given for given in result.meta.get("types") or () if isinstance(given, Mapping)}
    there = dict.fromkeys(
        e.group.removeprefix("type=") for e in result.estimates if e.check == FIRST and e.group.startswith("type=")
    )
    found = [_kind(name, known[name], sections) for name in known if name in there]
    ordered = {kind.name: kind for kind in sorted(found, key=lambda kind: kind.kind == "structural")}
    return ordered | {name: Kind(name, "", OTHER if found else "", "") for name in there if name not in ordered}


def type_table(result: Result, types: Mapping[str, Kind]) -> Table | None:
    """Every type under its heading, with what lexical and structural types come to; None where there is one alone."""
    cells: dict[str, dict[str, Shown]] = {}
    for e in result.estimates:
        if e.check in COLUMNS:
            cells.setdefault(e.group, {})[e.check] = shown(result, e)
    columns = tuple(check for check in COLUMNS if any(check in row for row in cells.values()))
    if len(types) < 2 or not columns:
        return None
    whole = {**WHOLE, "macro=types": "mean of the types"}
    groups: dict[str, list[Row]] = {}
    for name, kind in types.items():
        head = Cell(name, small=kind.title, about=Filter(FIRST, value="false", group=("type", name)))
        groups.setdefault(kind.heading, []).append(_row(head, cells.get(f"type={name}", {}), columns))
    first = tuple(_row(Cell(name), cells[group], columns) for group, name in whole.items() if group in cells)
    heads = (
        Column("type"),
        Column("n", numeric=True),
        *(Column(plain(c), numeric=c != columns[0]) for c in columns),
    )
    rows = (("", first), *((heading, tuple(found)) for heading, found in groups.items()))
    return Table("types", "Type by type", heads, rows, style="types")


def type_figure(result: Result, types: Mapping[str, Kind]) -> Figure | None:
    """Exact and semantic matches of every type, in the order of the paper."""
    series = [check for check in DRAWN if any(e.check == check for e in result.estimates)]
    published = any(kind.kind for kind in types.values())
    places = {group: (name, "all types" if published else "") for group, name in WHOLE.items()}
    places |= {f"type={name}": (short(name), kind.section) for name, kind in types.items()}
    rows = {(e.group, e.check): e for e in result.estimates if e.check in series}
    points: list[charts.Point] = []
    for group, (name, heading) in places.items():
        for check in series:
            if (found := rows.get((group, check))) is not None:
                of = plain(check) if len(series) > 1 else ""
                points.append(point(shown(result, found), name=name, series=of, group=heading))
    if len(types) < 2 or not points:
        return None
    note = intervals_are(result, FIRST)
    several = "match" if len(series) > 1 else ""
    return dots(
        "types",
        "Matches by type",
        points,
        note=f"{note} Types as Kim and Linzen (2020) group them." if published else note,
        what="share of lines",
        first="type",
        series=several,
    )


def short(name: str) -> str:
    """A type's name for an axis: `subj → obj common`."""
    told = name.removeprefix("only_seen_as_").replace("_to_", " → ", 1)
    if "→" not in told:
        told = told.replace("_as_", " → ", 1)
    return plain(told)


def _kind(name: str, given: Mapping[str, Any], sections: Mapping[str, Any]) -> Kind:
    number = ".".join(str(given.get("section") or "").split(".")[:2])
    section = f"{number} {sections.get(number, '')}".strip()
    return Kind(name, str(given.get("title") or ""), section, str(given.get("kind") or ""))


def _row(head: Cell, found: Mapping[str, Shown], columns: Sequence[str]) -> Row:
    n = next(iter(found.values())).n if found else 0
    first = Cell(shown=found[columns[0]]) if columns[0] in found else Cell("–")
    rest = (Cell(found[check].text if check in found else "–") for check in columns[1:])
    return Row((head, Cell(f"{n:,}"), first, *rest))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
