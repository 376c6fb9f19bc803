"""What there is to see of a result, whatever it is seen in: a terminal, one page, a site.

A family's module `show` makes these values of a result and its rows; the media draw them and know no family. It offers
    parts(result, rows) -> Iterable[Part]    figures, tables and the like, in the order of reading
    items(result, rows) -> Items             how its items are shown one by one
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from wug.errors import WugError
from wug.rows import Filter, Placed, Rows
from wug.types import Outcome, Result
from wug.views.marked import Pieces, direction_of
from wug.views.numbers import Shown
from wug.views.scripts import Direction

if TYPE_CHECKING:
    import altair

SHADES = 10
"""Shades from `s0` to `s9`; `sx` is that of a value that is not known."""
BITS = 2
"""Bits of surprisal to a shade: the same in every view, so that they can be compared."""


@dataclass(frozen=True, slots=True)
class Prose:
    """A sentence or two."""

    text: str
    lead: bool = False
    """Whether it opens the view, and is no remark on a number."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Estimates, each with what it means and its interval."""

    rows: tuple[Shown, ...]
    folded: str = ""
    """What it is folded under, where it is for a second look."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the items: name, how many, an explanation."""

    rows: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its words, and its numbers as a table."""

    id: str
    draw: Callable[[], altair.LayerChart]
    """Makes the chart, which takes longer than all else: only where someone looks."""
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Its numbers as a reader sees them."""
    records: tuple[Mapping[str, Any], ...] = ()
    """The same for a program: numbers as numbers, in full."""
    question: str = ""
    """What it answers, in a line; empty where its title says so."""
    items: tuple[str, ...] = ()
    """The items that it can show one by one."""
    alone: Callable[[str], Figure | None] | None = None
    """The same chart of one item."""
    beside: Callable[[str, Other], Beside] | None = None
    """The same chart with another result on the same suite: both side by side, and both in one.

    It is given the name of its own model.
    """

    @property
    def chart(self) -> altair.LayerChart:
        """The chart, drawn now."""
        return self.draw()


@dataclass(frozen=True, slots=True)
class Other:
    """Another result on the same suite."""

    name: str
    """What its model is called."""
    result: Result
    rows: Rows


class Beside(NamedTuple):
    """Two results in one kind of chart."""

    first: Figure | None
    second: Figure | None
    """Each alone, on one scale."""
    both: Figure | None
    """One over the other."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: text, a number with its bar, or words that are marked."""

    text: str = ""
    """What it says; of words that are marked, what stands there where there are none."""
    under: str = ""
    """A number that belongs to all of its words."""
    small: str = ""
    """What stands below it in small letters."""
    shown: Shown | None = None
    """An estimate, drawn with its interval."""
    pieces: Pieces | None = None
    mark: str = "del"
    """What a difference in the pieces is: `ins` right, `del` wrong."""
    shade: str = ""
    tip: str = ""
    """What a pointer that rests on it says."""
    about: Filter | None = None
    """The rows that it is about."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    cells: tuple[Cell, ...]
    quiet: bool = False
    """Whether it is there for completeness only."""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column."""

    name: str
    small: str = ""
    numeric: bool = False
    marked: bool = False
    """Whether it stands out: the regions that a prediction compares."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings."""

    id: str
    title: str
    columns: tuple[Column, ...]
    groups: tuple[tuple[str, tuple[Row, ...]], ...]
    """Heading, which may be empty, and the rows under it."""
    note: str = ""
    style: Literal["", "types", "heat", "terms", "tokens"] = ""
    folded: bool = False

    @property
    def direction(self) -> Direction:
        """Which way the columns run: as a sentence does whose tokens they are."""
        if self.style != "tokens":
            return "ltr"
        cells = (cell for _, rows in self.groups for row in rows for cell in row.cells)
        return direction_of([piece for cell in cells for piece in cell.pieces or ()])


@dataclass(frozen=True, slots=True)
class Card:
    """One prediction: what it says, how it fares, and the formula."""

    title: str
    check: str
    shown: Shown
    reading: str
    formula: str
    source: str = ""
    """The formula as the suite writes it, where that differs."""
    passed: int = 0
    failed: int = 0
    margins: tuple[Margin, ...] = ()
    """By how much it holds for each item, the least first."""
    unit: str = "bits"


class Margin(NamedTuple):
    """By how much a prediction holds for an item; below 0 where it fails."""

    item: str
    place: int
    """The place of the judgement among the rows."""
    value: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Cards:
    """Predictions side by side."""

    title: str
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, nested where they are."""

    values: Mapping[str, Any]
    folded: str = ""
    """What they are folded under; empty where they stand open."""


@dataclass(frozen=True, slots=True)
class Line:
    """A labelled text; `mark` says what a difference in it is: `ins` right, `del` wrong, `mark` neither."""

    label: str
    pieces: Pieces
    mark: str = "del"
    value: str = ""
    """A number that belongs to the whole line."""
    side: float | None = None
    """The number as a bar from −1 to 1, drawn instead of a text."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Texts below each other, such as a target and an answer."""

    lines: tuple[Line, ...]
    symbols: bool = False
    """Whether they are strings of symbols and no sentences."""


@dataclass(frozen=True, slots=True)
class Code:
    """A formula or a logical form."""

    text: str


class Verdict(NamedTuple):
    """A statement about an item that holds or does not."""

    holds: bool
    text: str
    code: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Statements about an item."""

    rows: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A step with its answer, or a string that a step was given."""

    down: bool
    """Whether it is the first below the node before it."""
    up: int
    """Levels to go back up before it."""
    function: str
    """Empty for a plain string."""
    answer: Pieces
    state: Literal["", "first", "later"] = ""
    """`first` where it is wrong and all below it is right, `later` where more than it is wrong."""
    right: Pieces = ()
    """What should stand there; only where the answer is another."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Steps with their answers, from the whole down to the strings that it is made of."""

    nodes: tuple[Node, ...]
    end: int
    """Levels to go back up after the last node."""
    cut: bool
    """Whether nodes are left out."""


@dataclass(frozen=True, slots=True)
class Later:
    """A part that takes a look at every row, made when someone asks for it; it may turn out to be nothing."""

    id: str
    title: str
    make: Callable[[], Figure | Table | Tally | None]
    figure: bool = True
    """Whether it is a chart, so that a page knows how to wait for it."""
    note: str = ""
    """The chart's, where that is known before it is made."""
    alone: Callable[[str], Figure | None] | None = None
    """The same chart of one item, which takes no such look."""


Part: TypeAlias = Prose | Numbers | Tally | Figure | Table | Cards | Facts | Lines | Code | Verdicts | Tree | Later


def part_type(part: Part) -> str:
    """The name of a part's type, by which `view.html` renders it; WugError for anything that is not a part."""
    names = {one.__name__ for one in get_args(Part)}
    if (name := type(part).__name__) not in names:
        raise WugError(f"a view cannot show a {name}: the module `view` of a family gives {', '.join(sorted(names))}")
    return name


@dataclass(frozen=True, slots=True)
class Item:
    """An item with what explains the judgement on it."""

    note: str = ""
    """The judgement in words, such as `by −3.20` or `both are wrong`."""
    fails: bool = True
    """Whether the note is about a failure."""
    sentence: str = ""
    """What it is known by."""
    chips: tuple[str, ...] = ()
    """Kinds of error."""
    failed: tuple[str, ...] = ()
    """Other checks that fail on it."""
    parts: tuple[Part, ...] = ()
    sentences: tuple[str, ...] = ()
    """Its sentences in full, to be looked at token by token."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Which items a page of limited room shows, group by group."""

    title: str
    check: str
    value: str | None = "false"
    """Those that are shown; None for all."""
    counted: str = "false"
    """Those that a heading counts: `12 of 40 wrong`."""
    verb: str = "fail"
    group: Callable[[Outcome], str] = lambda outcome: ""
    heading: Callable[[str], str] = str
    """A group as it is headed."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """What is known of a group besides; the groups stand in this order, others behind them."""
    note: str = ""
    folded: bool = False
    """Whether it is for a second look, also where it is one group alone."""


Key: TypeAlias = float | str | None
"""What items are sorted by; None where an item has none."""


@dataclass(frozen=True, slots=True)
class Sort:
    """A way to sort items."""

    id: str
    label: str
    values: Callable[[Rows, Filter], Iterable[tuple[int, Key]]]
    """The places of the rows that are wanted, each with what it is sorted by."""


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a result, one by one."""

    check: str
    """The check whose rows stand for the items, and carry what explains them."""
    show: Callable[[Placed, Sequence[Placed]], Item]
    """An item from the row that is looked at and all judgements on the same item."""
    samples: tuple[Sample, ...] = ()
    size: int = 30
    """Items on a page."""
    noun: str = "item"
    scale: bool = False
    """Whether words are shaded by their surprisal, which wants a legend."""
    shaded: Literal["token", "word"] = "token"
    """What has a shade of its own."""
    sorts: tuple[Sort, ...] = ()
    """What items can be sorted by, besides their groups and the numbers that they carry."""


@dataclass(frozen=True, slots=True)
class OptionPage:
    """A page of the site that compares results which differ in one option of the model only.

    A family lists its pages as `OPTION_PAGES` in its module `view`. They exist for models whose backend has the option.
    """

    option: str
    values: Mapping[str, str]
    """Labels by value."""
    link: str
    """Text of the link to it on the page of a result."""
    title: str
    text: str
    """Why the option matters, for the reader of a result."""
    table_title: str
    table_columns: tuple[str, ...]
    """Names of the columns in front of the values."""
    table_rows: Callable[[Result, Rows], Mapping[tuple[str, ...], str]]
    """The values of one result by the cells in front of them, in order."""


def sort_by(id: str, label: str, of: Callable[[Outcome], Key], *keys: str) -> Sort:
    """Sorting by a value that each row says itself, in these parts of its detail."""
    return Sort(id, label, lambda rows, wanted: ((row.place, of(row.outcome)) for row in rows.each(wanted, keys=keys)))


def shade(surprisal: float | None) -> str:
    """The shade of a surprisal in bits."""
    return "sx" if surprisal is None else f"s{min(SHADES - 1, max(0, int(surprisal / BITS)))}"


def share_shade(share: float) -> str:
    """The shade of a share; none for nothing."""
    return f"s{min(SHADES - 1, int(share * SHADES))}" if share else ""


def carrier(rows: Sequence[Placed], key: str) -> Outcome:
    """Of all judgements on an item, the one that carries a part of the detail; the first where none does."""
    return next((row.outcome for row in rows if key in row.outcome.detail), rows[0].outcome)
