"""A report as one HTML page that needs nothing else: no network, no server, no other file.

Each chart stands in the page twice: as SVG, there at once and without JavaScript, and as a Vega-Lite
specification that takes the SVG's place when it comes into view, with tooltips, legend and the page's width. Where
the packages that draw are not installed, a chart's numbers stand in its place.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from wug.errors import InputError
from wug.labels import short_names
from wug.rows import Rows, rows_of
from wug.types import Result, phenomenon_of
from wug.views import charts, face, vega
from wug.views.comparison_section import compared
from wug.views.family_views import Batch, batches, items_of, made, parts_of
from wug.views.marked import direction_of, runs_of
from wug.views.numbers import Shown, bits, headlines, plain, shown
from wug.views.parts import Figure, Items, Margin, Part, Sample, part_type
from wug.views.sample import allotted

if TYPE_CHECKING:
    from jinja2 import Environment

    from wug.results.comparison import Comparison

WIDTH, EDGE, STEP, TALLEST = 320, 8, 7.0, 74.0
"""Of the drawing, free at both ends, between neighbouring dots; and how tall it may be."""


class Dot(NamedTuple):
    """An item of the strip."""

    margin: Margin
    x: float
    y: float
    text: str
    """Such as `item 3: −1.02 bits, fails`."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Dots from the least margin to the greatest, those that fail left of `zero`."""

    dots: tuple[Dot, ...]
    zero: float
    height: float
    least: str
    most: str


def strip(margins: Sequence[Margin], unit: str = "bits") -> Strip | None:
    """The dots of a prediction; None where it has none. Those of about one margin stand above each other."""
    if not margins:
        return None
    low = min(0.0, *(margin.value for margin in margins))
    high = max(0.0, *(margin.value for margin in margins))
    scale = (WIDTH - 2 * EDGE) / ((high - low) or 1.0)
    columns = [int((margin.value - low) * scale / STEP) for margin in margins]
    tallest = max(Counter(columns).values())
    step = min(STEP, TALLEST / tallest)
    height = max(3 * STEP, tallest * step + 2 * STEP)
    met: Counter[int] = Counter()
    dots = []
    for margin, column in zip(margins, columns, strict=True):
        place = met[column]
        met[column] += 1
        y = height / 2 + (place + 1) // 2 * step * (1 if place % 2 else -1)
        verdict = "holds" if margin.holds else "fails"
        text = f"item {margin.item}: {bits(margin.value)} {unit}, {verdict}"
        dots.append(Dot(margin, round(EDGE + (margin.value - low) * scale, 1), round(y, 1), text))
    ends = (bits(low), bits(high))
    return Strip(tuple(dots), round(EDGE - low * scale, 1), round(height, 1), *ends)


ITEMS = 1400
"""Items that one page shows one by one, in all its sections: a few megabytes."""
STILL = 60
"""Results up to which every chart has its SVG too, 20 kilobytes each."""
MOST, LEAST = 200, 10
"""Items that one section shows, however few or many sections there are."""


@dataclass(frozen=True, slots=True)
class Report:
    """A result, and what is known of the run that it came from."""

    result: Result
    run: int | None = None
    command: str | None = None
    created: str | None = None


@dataclass(frozen=True, slots=True)
class Lead:
    """What stands before the results, in place of their overview."""

    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A report with its place on the page."""

    report: Report
    result: Result
    id: str
    model: str
    """The model's name, with the run's where one model has several results for a suite."""
    section: str
    rows: tuple[Shown, ...]
    headline: Shown | None
    parts: tuple[Part, ...]
    items: Items
    samples: tuple[tuple[Sample, list[Batch]], ...]
    export: str


def render(reports: Sequence[Report], comparison: Comparison | None = None, lead: Lead | None = None) -> str:
    """The page about these results, and how they compare, as HTML text; with a lead there need not be any results."""
    if not reports and lead is None:
        raise InputError("there is nothing to report. Give one or more runs")
    entries = _entries(reports)
    models = list(dict.fromkeys(entry.model for entry in entries))
    sections = _by_section(entries)
    drawn = vega.can_draw()
    environment = _environment(still=len(reports) <= STILL, drawn=drawn)
    script = f"{source('chart.js')}\n{source('page.js')}"
    bundle = vega.javascript() if drawn else ""
    page = environment.get_template("page.html").render(
        title=_title(entries) if lead is None else lead.title,
        lead=lead,
        entries=entries,
        models=models,
        identities={entry.model: entry.result.model for entry in entries},
        sections=sections,
        overview=_overview(entries, several=len(models) > 1),
        compared=None if comparison is None else compared(comparison),
        commands=list(dict.fromkeys(entry.report.command for entry in entries if entry.report.command)),
        unfinished=[entry for entry in entries if entry.result.status != "complete"],
        style=face.css(face.inline()) + source("page.css"),
        script=script,
        vega=bundle,
        hashes=[_hash(bundle), _hash(script)],
    )
    return f"{page.strip()}\n"


def overview_of(results: Sequence[Result]) -> Figure | None:
    """The chart of the overview, if there is one."""
    entries = _entries([Report(result) for result in results])
    return _overview(entries, several=len({entry.model for entry in entries}) > 1)


def _entries(reports: Sequence[Report]) -> list[Entry]:
    every = [rows_of(report.result) for report in reports]
    shown_items = [items_of(report.result, rows) for report, rows in zip(reports, every, strict=True)]
    rooms = _rooms(shown_items, every)
    parted = len({(report.result.kind, phenomenon_of(report.result.meta)) for report in reports}) > 1
    entries: list[Entry] = []
    for place, (report, model) in enumerate(zip(reports, _model_names(reports), strict=True)):
        result, rows, items = report.result, every[place], shown_items[place]
        entries.append(
            Entry(
                report=report,
                result=result,
                id=_slug(f"{result.suite} {model}", {entry.id for entry in entries}),
                model=model,
                section=phenomenon_of(result.meta) or (result.kind if parted else ""),
                rows=headlines(result),
                headline=None if result.headline is None else shown(result, result.headline),
                parts=tuple(made(parts_of(result, rows))),
                items=items,
                samples=_samples(items, rows, rooms[place]),
                export=f"wug export {'RUN' if report.run is None else report.run} --to csv",
            )
        )
    return [entry for suites in _by_section(entries).values() for suite in suites.values() for entry in suite]


def _rooms(items: Sequence[Items], rows: Sequence[Rows]) -> dict[int, int]:
    """How many items each section may show: what small ones leave is for the others."""
    wanted = {place: min(MOST, sum(_sizes(*one).values())) for place, one in enumerate(zip(items, rows, strict=True))}
    return allotted(wanted, max(ITEMS, LEAST * len(wanted)))


def _sizes(items: Items, rows: Rows) -> dict[int, int]:
    """How many items each sample has."""
    return {place: rows.tally(one.check)[one.value or ""] for place, one in enumerate(items.samples)}


def _samples(items: Items, rows: Rows, room: int) -> tuple[tuple[Sample, list[Batch]], ...]:
    """The items that there is room for; a sample of none is left out."""
    shares = allotted(_sizes(items, rows), max(room, LEAST * len(items.samples)))
    found = ((sample, batches(items, sample, rows, shares[place])) for place, sample in enumerate(items.samples))
    return tuple((sample, some) for sample, some in found if some)


def _model_names(reports: Sequence[Report]) -> list[str]:
    """A name for each report's model, as short as it can be, that no other result of the same suite has."""
    short = short_names(report.result.model for report in reports)
    names: list[str] = []
    for index, report in enumerate(reports):
        same = [
            other
            for other, one in enumerate(reports)
            if (one.result.suite, one.result.model) == (report.result.suite, report.result.model)
        ]
        which = f"run {report.run}" if report.run is not None else f"no. {same.index(index) + 1}"
        name = short[report.result.model]
        names.append(name if len(same) == 1 else f"{name} ({which})")
    return names


def _by_section(entries: Iterable[Entry]) -> dict[str, dict[str, list[Entry]]]:
    """Section → suite → entries: phenomena in order of appearance, then families; the best suite first."""
    sections: dict[str, dict[str, list[Entry]]] = {}
    for entry in entries:
        sections.setdefault(entry.section, {}).setdefault(entry.result.suite, []).append(entry)
    ordered = sorted(sections.items(), key=lambda pair: not any(_is_phenomenon(group[0]) for group in pair[1].values()))
    return {section: dict(sorted(suites.items(), key=lambda pair: _rank(pair[1]))) for section, suites in ordered}


def _is_phenomenon(entry: Entry) -> bool:
    """Whether the suite itself says what it stands under."""
    return bool(phenomenon_of(entry.result.meta))


def _rank(entries: Sequence[Entry]) -> tuple[bool, float]:
    """Shares before other numbers, the highest mean first."""
    shares = [entry.headline.value for entry in entries if entry.headline is not None and entry.headline.share]
    return not shares, -fmean(shares) if shares else 0.0


def _overview(entries: Sequence[Entry], *, several: bool) -> Figure | None:
    """The dots of all results that are shares; None where there are none to compare."""
    shares = [(entry, row) for entry in entries if (row := entry.headline) is not None and row.share]
    if len(shares) < 2:
        return None
    points = [
        charts.Point(
            entry.result.suite, row.value, row.low, row.high, row.n, entry.model if several else "", entry.section
        )
        for entry, row in shares
    ]
    checks = sorted({row.name for _, row in shares})
    return Figure(
        id="overview-chart",
        draw=partial(charts.accuracy, points),
        title="Accuracy on every suite",
        note=f"Share of items ({', '.join(checks)}) with 95 % intervals.",
        columns=("suite", "model", "check", "accuracy", "95 % interval", "n"),
        rows=tuple(
            (entry.result.suite, entry.model, row.name, row.text, row.interval, str(row.n)) for entry, row in shares
        ),
        records=tuple(
            {"suite": entry.result.suite, "model": entry.result.model, "check": row.check}
            | {"accuracy": row.value, "low": row.low, "high": row.high, "n": row.n}
            for entry, row in shares
        ),
    )


def _title(entries: Sequence[Entry]) -> str:
    suites = list(dict.fromkeys(entry.result.suite for entry in entries))
    models = list(short_names(entry.result.model for entry in entries).values())
    what = suites[0] if len(suites) == 1 else f"{len(suites)} suites"
    who = models[0] if len(models) == 1 else f"{len(models)} models"
    return f"{what} · {who}"


def _slug(text: str, taken: set[str]) -> str:
    """A place's name for links, of letters, digits and hyphens, that is not taken."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "result"
    number = 1
    name = f"r-{slug}"
    while name in taken:
        number += 1
        name = f"r-{slug}-{number}"
    return name


def _environment(*, still: bool, drawn: bool) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("wug.views", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.globals["still"], environment.globals["drawn"] = still, drawn
    charts = _Charts()
    environment.filters["vega_spec"] = charts.spec
    environment.filters["svg"] = charts.svg
    add_view_filters(environment)
    return environment


def add_view_filters(environment: Environment) -> None:
    """Add the filters and tests that `view.html` needs, for the report and the site."""
    environment.filters["part_type"] = part_type
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["plural"] = plural
    environment.filters["plain"] = plain
    environment.filters["strip"] = strip
    environment.filters["direction"] = direction_of
    environment.filters["runs"] = runs_of
    environment.tests["listed"] = lambda value: isinstance(value, list | tuple)


def plural(number: int, name: str, names: str = "") -> str:
    """`1 item`, `1,200 items`."""
    return f"{number:,} {name if number == 1 else names or name + 's'}"


class _Charts:
    """The pictures and the specifications of figures; a page asks for both of one, which is made once."""

    def __init__(self) -> None:
        self._last: tuple[Figure, dict[str, Any]] | None = None

    def _made(self, figure: Figure) -> dict[str, Any]:
        if self._last is None or self._last[0] is not figure:
            self._last = (figure, vega.undressed(figure.chart))
        return self._last[1]

    def spec(self, figure: Figure) -> dict[str, Any]:
        """What a script draws the figure of."""
        return {**vega.page_spec(self._made(figure)), "description": figure.title}

    def svg(self, figure: Figure) -> Any:
        """What is seen before, or without, the script."""
        from markupsafe import Markup

        # Vega escapes every text that it writes into an SVG.
        return Markup(vega.page_svg(self._made(figure)))


def source(name: str) -> str:
    """The text of a file beside the templates, as it is."""
    return (resources.files("wug.views") / "templates" / name).read_text(encoding="utf-8").strip()


def _hash(script: str) -> str:
    """What the page's security policy knows a script by: no other one runs."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
