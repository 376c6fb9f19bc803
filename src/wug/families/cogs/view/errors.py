"""What is wrong with wrong lines: kinds of error, over all lines and type by type; rules that are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wug.families.cogs.logical_form import ERRORS, RULES
from wug.families.cogs.view.types import FIRST, Kind
from wug.rows import Filter
from wug.stats import wilson
from wug.types import Outcome
from wug.views import charts
from wug.views.grouped import dots
from wug.views.numbers import percent
from wug.views.parts import Cell, Column, Figure, Row, Table, share_shade

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


def label(error: str) -> str:
    """A kind of error in short."""
    return LABELS.get(error, error)


def errors_of(outcome: Outcome) -> list[str]:
    """The kinds of error that a line has."""
    return [str(error) for error in outcome.detail.get("errors") or ()]


def error_figure(judged: Sequence[Outcome]) -> Figure | None:
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
        "errors",
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
    return replace(figure, columns=columns, rows=rows)


def error_table(judged: Sequence[Outcome], types: Mapping[str, Kind]) -> Table | None:
    """How many lines of each type have each kind of error; None where there is one type, or no line says."""
    sizes, wrong = Counter[str](), Counter[str]()
    counts: dict[str, Counter[str]] = {}
    for outcome in judged:
        name = str(outcome.groups.get("type", ""))
        sizes[name] += 1
        wrong[name] += outcome.value is False
        counts.setdefault(name, Counter()).update(dict.fromkeys(errors_of(outcome), 1))
    errors = _in_order(sum(counts.values(), Counter()))
    names = [name for name in (*types, *(n for n in counts if n not in types)) if wrong[name]]
    if not errors or len(sizes) < 2:
        return None
    columns = (Column("type"), *(Column(head, numeric=True) for head in ("wrong", *map(label, errors))))
    rows = tuple(
        Row(
            (
                Cell(name, about=Filter(FIRST, value="false", group=("type", name))),
                Cell(f"{wrong[name]:,}"),
                *(_cell(counts[name][error], wrong[name]) for error in errors),
            )
        )
        for name in names
    )
    note = (
        "Lines with each kind of error; the stronger the colour, the larger their share of the wrong lines of the type."
    )
    return Table("types-by-error", "Errors type by type", columns, (("", rows),), note=note, style="heat")


def broken_rules(judged: Sequence[Outcome]) -> Table | None:
    """The rules that predictions break, what each asks for, and by how many lines it is broken; None where none is."""
    counts: Counter[str] = Counter()
    for outcome in judged:
        counts.update({str(rule).partition(":")[0] for rule in outcome.detail.get("violations") or ()})
    if not counts:
        return None
    readings = {UNREADABLE: "a form is built of predicates with arguments in brackets", **RULES}
    rows = tuple(Row((Cell(rule, small=readings.get(rule, "")), Cell(f"{n:,}"))) for rule, n in counts.most_common())
    title = "Rules of well-formedness that predictions break"
    return Table("rules", title, (Column("rule"), Column("lines", numeric=True)), (("", rows),), folded=True)


def _cell(count: int, wrong: int) -> Cell:
    share = count / wrong
    tip = f"{percent(share)} of the wrong lines" if count else ""
    return Cell(f"{count:,}" if count else "·", shade=share_shade(share), tip=tip)


def _in_order(counts: Counter[str]) -> list[str]:
    return [*(error for error in LABELS if counts[error]), *(error for error in counts if error not in LABELS)]
