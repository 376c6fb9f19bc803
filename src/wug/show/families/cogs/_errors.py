"""What is wrong with wrong lines: kinds of error, over all lines and type by type; rules that are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wug.families.cogs.logical_form import ERRORS, RULES
from wug.show import charts
from wug.show.families import Figure, Place, percent
from wug.show.families._grouped import dots
from wug.show.families.cogs._types import Kind
from wug.stats import wilson
from wug.types import Outcome

LABELS = {
    "ill-formed": "ill-formed",
    "index": "wrong index",
    "role": "wrong role",
    "name": "wrong name",
    "definiteness": "wrong definiteness",
    "missing": "missing conjunct",
    "extra": "extra conjunct",
    "order": "order only",
}
"""Kinds of error in short."""
UNREADABLE = "unreadable"
SHADES = 10


@dataclass(frozen=True, slots=True)
class Cell:
    """How many lines of a type have a kind of error; darker where it is a larger share of those that are wrong."""

    count: int
    shade: str
    share: str


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """Types by kinds of error."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, int, tuple[Cell, ...]], ...]
    """Type, its wrong lines, a cell for each kind."""


def label(error: str) -> str:
    """A kind of error in short."""
    return LABELS.get(error, error)


def errors_of(outcome: Outcome) -> list[str]:
    """The kinds of error that a line has."""
    return [str(error) for error in outcome.detail.get("errors") or ()]


def error_figure(judged: Sequence[Outcome], place: Place) -> Figure | None:
    """The share of the wrong lines that has each kind of error; None where no line says."""
    wrong = [found for outcome in judged if outcome.value is False and (found := errors_of(outcome))]
    if not wrong:
        return None
    counts = Counter(error for errors in wrong for error in dict.fromkeys(errors))
    points = []
    for error in _in_order(counts):
        interval, n = wilson(counts[error], len(wrong)), len(wrong)
        points.append(charts.Point(label(error), counts[error] / n, interval.low, interval.high, counts[error]))
    figure = dots(
        f"{place.id}-errors",
        "What is wrong with the wrong lines",
        points,
        note=(
            f"Of {len(wrong):,} wrong lines, the share with each kind of error, with 95 % intervals. A line may have "
            "several kinds; ill-formed and order only stand alone."
        ),
        what="share of wrong lines",
        first="error",
    )
    meant = {label(error): text for error, text in ERRORS.items()}
    rows = tuple((*row[:-1], row[-1], meant.get(row[0], "")) for row in figure.rows)
    columns = (*figure.columns[:-1], "lines", "which means")
    return Figure(figure.id, figure.chart, figure.title, figure.note, columns, rows)


def error_table(judged: Sequence[Outcome], types: Mapping[str, Kind]) -> ErrorTable | None:
    """How many lines of each type have each kind of error; None where there is one type, or no line says."""
    sizes, wrong = Counter[str](), Counter[str]()
    cells: dict[str, Counter[str]] = {}
    for outcome in judged:
        name = str(outcome.groups.get("type", ""))
        sizes[name] += 1
        wrong[name] += outcome.value is False
        cells.setdefault(name, Counter()).update(dict.fromkeys(errors_of(outcome), 1))
    there = _in_order(sum(cells.values(), Counter()))
    names = [name for name in (*types, *(n for n in cells if n not in types)) if wrong[name]]
    if not there or len(sizes) < 2:
        return None
    return ErrorTable(
        columns=tuple(map(label, there)),
        rows=tuple(
            (name, wrong[name], tuple(_cell(cells[name][error], wrong[name]) for error in there)) for name in names
        ),
    )


def broken_rules(judged: Sequence[Outcome]) -> list[tuple[str, str, int]]:
    """The rules that predictions break, what each asks for, and by how many lines it is broken."""
    counts: Counter[str] = Counter()
    for outcome in judged:
        counts.update({str(rule).partition(":")[0] for rule in outcome.detail.get("violations") or ()})
    readings = {UNREADABLE: "a form is built of predicates with arguments in brackets", **RULES}
    return [(rule, readings.get(rule, ""), count) for rule, count in counts.most_common()]


def _cell(count: int, wrong: int) -> Cell:
    share = count / wrong
    return Cell(count, f"s{min(SHADES - 1, int(share * SHADES))}" if count else "", percent(share))


def _in_order(counts: Counter[str]) -> list[str]:
    return [*(error for error in LABELS if counts[error]), *(error for error in counts if error not in LABELS)]
