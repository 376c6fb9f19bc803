"""The parts of a view, which terminal, report and site render.

The module `view` of a family makes them from a result and its rows. It offers
    parts(result, rows) -> Iterable[ViewPart]    figures, tables and other parts, in reading order
    items(result, rows) -> ItemsView         how single items are shown
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from wug.errors import WugError
from wug.formatting import FormattedEstimate
from wug.outcomes import Outcome, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views.text_display import Direction, Pieces, direction_of

if TYPE_CHECKING:
    import altair

SHADE_COUNT = 10
"""Shades are the CSS classes `s0` to `s9`, and `sx` for an unknown value."""
BITS_PER_SHADE = 2
"""The same in every view, so that shades can be compared."""


class ViewPart:
    """A part of a view: each subclass has a macro in `view.html`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TextPart(ViewPart):
    """A sentence or two."""

    text: str
    lead: bool = False
    """Whether it introduces the view."""


@dataclass(frozen=True, slots=True)
class EstimatesPart(ViewPart):
    """Estimates with their meanings and intervals."""

    rows: tuple[FormattedEstimate, ...]
    folded: str = ""
    """Summary of the collapsed section; empty if it is not collapsed."""


@dataclass(frozen=True, slots=True)
class CountsPart(ViewPart):
    """Numbers of items: name, count, explanation."""

    rows: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class Figure(ViewPart):
    """A chart with title, note, and its numbers as a table."""

    id: str
    draw: Callable[[], altair.LayerChart]
    """Draws the chart, which takes long: called only when it is shown."""
    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    records: tuple[Mapping[str, Any], ...] = ()
    question: str = ""
    about: str = ""
    """The suites, the models and the number of items, for files."""
    items: tuple[str, ...] = ()
    item_figure: Callable[[str], Figure | None] | None = None
    """The same chart of one item."""
    pair: Callable[[str, OtherResult], FigurePair] | None = None
    """This chart and that of another result on the same suite; called with the name of this model."""
    folded: bool = False
    """Whether a page shows only its title until the reader opens it."""

    @property
    def chart(self) -> altair.LayerChart:
        """Draw the chart."""
        return self.draw()


class OtherResult(NamedTuple):
    """Another result on the same suite."""

    name: str
    result: Result
    rows: Rows


class FigurePair(NamedTuple):
    """The charts of two results."""

    first: Figure | None
    second: Figure | None
    """Each with the same scale."""
    both: Figure | None


class TableCell(NamedTuple):
    """A cell of a table: text, an estimate with its bar, or pieces of text."""

    text: str = ""
    """Its text; with `pieces`, the text if there are none."""
    line_below: str = ""
    remark: str = ""
    estimate: FormattedEstimate | None = None
    pieces: Pieces | None = None
    mark: str = "del"
    """Meaning of differences in the pieces: `ins` right, `del` wrong."""
    shade: str = ""
    tip: str = ""
    about: Filter | None = None


class TablePartRow(NamedTuple):
    """A row of a table."""

    cells: tuple[TableCell, ...]
    quiet: bool = False
    """Whether it is shown in a muted colour."""


class TableColumn(NamedTuple):
    """The heading of a column."""

    name: str
    remark: str = ""
    numeric: bool = False
    marked: bool = False
    """Whether it is highlighted, as regions that a prediction compares."""


@dataclass(frozen=True, slots=True)
class TablePart(ViewPart):
    """Rows under headings."""

    id: str
    title: str
    columns: tuple[TableColumn, ...]
    groups: tuple[tuple[str, tuple[TablePartRow, ...]], ...]
    """Heading, which may be empty, and its rows."""
    note: str = ""
    style: Literal["", "types", "heat", "terms", "tokens"] = ""
    folded: bool = False

    @property
    def direction(self) -> Direction:
        """Direction of the columns: for tokens, that of their sentence."""
        if self.style != "tokens":
            return "ltr"
        cells = (cell for _, rows in self.groups for row in rows for cell in row.cells)
        return direction_of([piece for cell in cells for piece in cell.pieces or ()])


class PredictionCard(NamedTuple):
    """A prediction: its meaning, its estimate and its formula."""

    title: str
    metric: str
    estimate: FormattedEstimate
    meaning: str
    formula: str
    source: str = ""
    """The formula as written in the suite, if that differs."""
    conditions: tuple[str, ...] = ()
    """The conditions that it compares."""
    passed: int = 0
    failed: int = 0
    margins: tuple[ItemMargin, ...] = ()
    unit: str = "bits"


class ItemMargin(NamedTuple):
    """By how much a prediction holds for an item; negative if it fails."""

    item: str
    position: int
    value: float
    holds: bool


@dataclass(frozen=True, slots=True)
class CardsPart(ViewPart):
    """Predictions side by side."""

    title: str
    cards: tuple[PredictionCard, ...]


@dataclass(frozen=True, slots=True)
class FactsPart(ViewPart):
    """Names and values, which may be nested."""

    values: Mapping[str, Any]
    folded: str = ""


class LabelledText(NamedTuple):
    """A labelled text; `mark` is the meaning of differences: `ins` right, `del` wrong, `mark` neither."""

    label: str
    pieces: Pieces
    mark: str = "del"
    value: str = ""
    side: float | None = None
    """A number from −1 to 1 that is drawn as a bar instead of the text."""


@dataclass(frozen=True, slots=True)
class LinesPart(ViewPart):
    """Texts below each other, such as a target and an output."""

    lines: tuple[LabelledText, ...]
    symbols: bool = False


@dataclass(frozen=True, slots=True)
class CodePart(ViewPart):
    """A formula or a logical form."""

    text: str


class ItemStatement(NamedTuple):
    """A statement about an item that is true or false."""

    holds: bool
    text: str
    code: str


@dataclass(frozen=True, slots=True)
class StatementsPart(ViewPart):
    """Statements about an item."""

    rows: tuple[ItemStatement, ...]


class TreeNode(NamedTuple):
    """A step with its output, or an input string."""

    down: bool
    """Whether it is the first child of the previous node."""
    up: int
    function: str
    answer: Pieces
    state: Literal["", "first", "later"] = ""
    """`first` if it is wrong and everything below is right, `later` if something below is wrong, too."""
    correction: Pieces = ()
    """The correct output, if the output is wrong."""


@dataclass(frozen=True, slots=True)
class TreePart(ViewPart):
    """Steps with their outputs, from the whole down to the input strings."""

    nodes: tuple[TreeNode, ...]
    end: int
    cut: bool


@dataclass(frozen=True, slots=True)
class DeferredPart(ViewPart):
    """A part that reads every row, made when it is requested; it may turn out to be empty."""

    id: str
    title: str
    make: Callable[[], Figure | TablePart | CountsPart | None]
    figure: bool = True
    note: str = ""
    item_figure: Callable[[str], Figure | None] | None = None
    """The same chart of one item, which reads only its rows."""


def part_type(part: object) -> str:
    """The name of a part's type, by which `view.html` renders it; WugError for anything that is not a part."""
    if not isinstance(part, ViewPart):
        names = ", ".join(sorted({part_class.__name__ for part_class in ViewPart.__subclasses__()}))
        raise WugError(f"a view cannot show a {type(part).__name__}: the module `view` of a family gives {names}")
    return type(part).__name__


class ItemView(NamedTuple):
    """An item with details that explain its outcome."""

    note: str = ""
    """The outcome in words, such as `by −3.20` or `both are wrong`."""
    fails: bool = True
    sentence: str = ""
    """The sentence that identifies it."""
    chips: tuple[str, ...] = ()
    failed_metrics: tuple[str, ...] = ()
    """Other metrics that fail on it."""
    parts: tuple[ViewPart, ...] = ()
    sentences: tuple[str, ...] = ()
    """Its full sentences, for the page that scores them token by token."""


@dataclass(frozen=True, slots=True)
class ItemSample:
    """Items that a report shows, by group."""

    title: str
    metric: str
    value: str | None = "false"
    """Value of the items that are shown; None for all."""
    counted_value: str = "false"
    """Value of the items that headings count: `12 of 40 wrong`."""
    verb: str = "fail"
    group: Callable[[Outcome], str] = lambda outcome: ""
    """The group of an outcome, from its groups and value."""
    heading: Callable[[str], str] = str
    titles: Mapping[str, str] = field(default_factory=dict)
    """More about each group; groups are sorted in this order, others come last."""
    note: str = ""
    folded: bool = False
    """Whether it is collapsed even if it is a single group."""


SortKey: TypeAlias = float | str | None
"""What items are sorted by; None sorts last."""


class SortOption(NamedTuple):
    """A way to sort items."""

    id: str
    label: str
    values: Callable[[Rows, Filter], Iterable[tuple[int, SortKey]]]
    """Positions of the rows that pass the filter, with their keys."""


class ItemsView(NamedTuple):
    """How the items of a result are shown."""

    metric: str
    """The metric whose rows represent the items and carry their details."""
    show: Callable[[OutcomeRow, Sequence[OutcomeRow]], ItemView]
    """Makes an item from a row and all outcomes of the same item."""
    samples: tuple[ItemSample, ...] = ()
    size: int = 30
    noun: str = "item"
    texts: tuple[str, ...] = ("sentence", "text")
    """Details with an item's text; the first that it has defines its length."""
    scale: bool = False
    """Whether words are shaded by surprisal, so that a legend is needed."""
    shaded: Literal["token", "word"] = "token"
    sorts: tuple[SortOption, ...] = ()
    """Sort options besides groups and numeric details."""


class OptionPage(NamedTuple):
    """A page of the site that compares results which differ in one option of the model only.

    A family lists its pages as `OPTION_PAGES` in its module `view`. They exist for models whose backend has the option.
    """

    option: str
    values: Mapping[str, str]
    link: str
    title: str
    text: str
    """Why the option matters, for the reader of a result."""
    table_title: str
    table_columns: tuple[str, ...]
    table_rows: Callable[[Result, Rows], Mapping[tuple[str, ...], str]]
    """The values of one result by the cells in front of them, in order."""


def sort_by(id: str, label: str, sort_key: Callable[[Outcome], SortKey], *keys: str) -> SortOption:
    """Sort by a value computed from single outcomes, of whose details only `keys` are read."""
    return SortOption(
        id, label, lambda rows, filter: ((row.position, sort_key(row.outcome)) for row in rows.each(filter, keys=keys))
    )


def shade(surprisal: float | None) -> str:
    """The CSS class of a surprisal in bits."""
    return "sx" if surprisal is None else f"s{min(SHADE_COUNT - 1, max(0, int(surprisal / BITS_PER_SHADE)))}"


def share_shade(share: float) -> str:
    """The CSS class of a proportion; empty for 0."""
    return f"s{min(SHADE_COUNT - 1, int(share * SHADE_COUNT))}" if share else ""


def carrier(rows: Sequence[OutcomeRow], key: str) -> Outcome:
    """The outcome of an item that has a detail; the first one if none has."""
    return next((row.outcome for row in rows if key in row.outcome.detail), rows[0].outcome)
