"""A report as one self-contained HTML page, without network, server or other files.

It opens with a summary, the overview and the figures of a few results. The rest is in `noscript` elements, which a
browser parses only when the reader opens them, or at once if it runs no scripts.

Each chart is in the page twice: as SVG, which needs no JavaScript, and as a Vega-Lite specification that replaces the
SVG when it scrolls into view. If the packages that draw charts are not installed, the page shows their numbers.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from wug.errors import InputError
from wug.formatting import FormattedEstimate, headline_estimate, headlines, plural
from wug.labels import caption, label_repeats, short_names
from wug.outcomes import Result, phenomenon_of
from wug.results.queries import rows_of
from wug.rows import Rows
from wug.views import comparison_charts, family_views, vega
from wug.views.grouped import chance_note, estimate_figure, point, result_chance
from wug.views.parts import Figure, ItemSample, ItemsView, ViewPart
from wug.views.templating import font_css, font_data_url, template_source, view_environment

if TYPE_CHECKING:
    from jinja2 import Environment

    from wug.results.contrasts import RunComparison

MAX_PAGE_ITEMS = 1400
"""Items in all sections of a page: a few megabytes."""
MAX_RESULTS_WITH_SVG = 60
"""Results up to which charts are also included as SVG, 20 kilobytes each."""
FEATURED_RESULTS = 3
"""Results whose first figure is shown at the top."""
MAX_SECTION_ITEMS, MIN_SECTION_ITEMS = 200, 10
"""Items per section."""


class ReportedResult(NamedTuple):
    """A result and the run that it comes from."""

    result: Result
    run: int | None = None
    command: str | None = None
    created: str | None = None


class ReportLead(NamedTuple):
    """The beginning of a page, instead of the overview of results."""

    title: str
    parts: tuple[ViewPart, ...]


class ReportSection(NamedTuple):
    """The section of a page about one result."""

    report: ReportedResult
    result: Result
    id: str
    model: str
    """Short name of the model, with the run if the model has several results on the suite."""
    section: str
    rows: tuple[FormattedEstimate, ...]
    headline: FormattedEstimate | None
    parts: tuple[ViewPart, ...]
    items: ItemsView
    samples: tuple[tuple[ItemSample, list[family_views.SampledGroup]], ...]
    export: str


Sections = dict[str, dict[str, list[ReportSection]]]
"""Section → suite → results."""


def render(
    reports: Sequence[ReportedResult], comparison: RunComparison | None = None, lead: ReportLead | None = None
) -> str:
    """The page about results and their comparison, as HTML; with a lead, the results may be empty."""
    if not reports and lead is None:
        raise InputError("there is nothing to report. Give one or more runs")
    labelled_results = label_repeats([report.result for report in reports])
    entries = _entries(
        [report._replace(result=result) for report, result in zip(reports, labelled_results, strict=True)]
    )
    models = list(dict.fromkeys(entry.model for entry in entries))
    sections = _by_section(entries)
    has_charts = vega.can_draw()
    environment = _environment(has_svg=len(reports) <= MAX_RESULTS_WITH_SVG, has_charts=has_charts)
    script = f"{template_source('chart.js')}\n{template_source('page.js')}"
    bundle = vega.javascript() if has_charts else ""
    page = environment.get_template("page.html").render(
        title=_title(entries) if lead is None else lead.title,
        date=max((entry.report.created or "" for entry in entries), default=""),
        summary=_summary(sections) if lead is None else "",
        featured=_featured_figures(sections) if lead is None and len(entries) > 1 and has_charts else [],
        lead=lead,
        entries=entries,
        models=models,
        identities={entry.model: entry.result.model for entry in entries},
        sections=sections,
        overview=_overview(entries, has_models=len(models) > 1),
        across=list(family_views.across_figures([entry.result for entry in entries])),
        comparison=comparison,
        comparison_figures=() if comparison is None else comparison_charts.figures(comparison),
        commands=list(dict.fromkeys(entry.report.command for entry in entries if entry.report.command)),
        unfinished=[entry for entry in entries if entry.result.status != "complete"],
        style=font_css(font_data_url()) + template_source("page.css"),
        script=script,
        vega=bundle,
        hashes=[_hash(bundle), _hash(script)],
    )
    return f"{page.strip()}\n"


def overview_of(results: Sequence[Result]) -> Figure | None:
    """The overview chart; None if there are fewer than two proportions."""
    entries = _entries([ReportedResult(result) for result in results])
    return _overview(entries, has_models=len({entry.model for entry in entries}) > 1)


def _entries(reports: Sequence[ReportedResult]) -> list[ReportSection]:
    all_rows = [rows_of(report.result) for report in reports]
    shown_items = [family_views.items_of(report.result, rows) for report, rows in zip(reports, all_rows, strict=True)]
    # Small sections leave more items for others.
    sizes = {
        index: min(MAX_SECTION_ITEMS, sum(_sizes(*pair).values()))
        for index, pair in enumerate(zip(shown_items, all_rows, strict=True))
    }
    limits = family_views.allocate_rows(sizes, max(MAX_PAGE_ITEMS, MIN_SECTION_ITEMS * len(sizes)))
    several_sections = len({(report.result.kind, phenomenon_of(report.result.meta)) for report in reports}) > 1
    entries: list[ReportSection] = []
    for index, (report, model) in enumerate(zip(reports, _model_names(reports), strict=True)):
        result, rows, items = report.result, all_rows[index], shown_items[index]
        entries.append(
            ReportSection(
                report=report,
                result=result,
                id=_slug(f"{result.suite} {model}", {entry.id for entry in entries}),
                model=model,
                section=phenomenon_of(result.meta) or (result.kind if several_sections else ""),
                rows=headlines(result),
                headline=headline_estimate(result),
                parts=tuple(family_views.computed_parts(family_views.parts_of(result, rows))),
                items=items,
                samples=_samples(items, rows, limits[index]),
                export=f"wug export {'RUN' if report.run is None else report.run} --to csv",
            )
        )
    return [entry for suites in _by_section(entries).values() for suite in suites.values() for entry in suite]


def _sizes(items: ItemsView, rows: Rows) -> dict[int, int]:
    return {index: rows.tally(sample.metric)[sample.value or ""] for index, sample in enumerate(items.samples)}


def _samples(
    items: ItemsView, rows: Rows, limit: int
) -> tuple[tuple[ItemSample, list[family_views.SampledGroup]], ...]:
    """The items that fit, without empty samples."""
    shares = family_views.allocate_rows(_sizes(items, rows), max(limit, MIN_SECTION_ITEMS * len(items.samples)))
    sampled_items = (
        (sample, family_views.sampled_groups(items, sample, rows, shares[i])) for i, sample in enumerate(items.samples)
    )
    return tuple((sample, groups) for sample, groups in sampled_items if groups)


def _model_names(reports: Sequence[ReportedResult]) -> list[str]:
    """Short names of the models, unique among the results of a suite."""
    model_names = short_names(report.result.model for report in reports)
    keys = [(report.result.suite, report.result.model) for report in reports]
    names: list[str] = []
    for index, report in enumerate(reports):
        number = keys[: index + 1].count(keys[index])
        suffix = f" (no. {number})" if report.run is None else f" (run {report.run})"
        names.append(model_names[report.result.model] + suffix * (keys.count(keys[index]) > 1))
    return names


def _by_section(entries: Iterable[ReportSection]) -> Sections:
    """Section → suite → entries: phenomena in order of appearance, then families; best suite first."""
    sections: Sections = {}
    for entry in entries:
        sections.setdefault(entry.section, {}).setdefault(entry.result.suite, []).append(entry)
    phenomena = {name for name, s in sections.items() if any(phenomenon_of(g[0].result.meta) for g in s.values())}
    ordered_sections = sorted(sections.items(), key=lambda pair: pair[0] not in phenomena)
    return {
        section: dict(sorted(suites.items(), key=lambda pair: _rank(pair[1]))) for section, suites in ordered_sections
    }


def _rank(entries: Sequence[ReportSection]) -> tuple[bool, float]:
    """Proportions before other numbers, highest mean first."""
    shares = [entry.headline.value for entry in entries if entry.headline is not None and entry.headline.share]
    return not shares, -fmean(shares) if shares else 0.0


def _overview(entries: Sequence[ReportSection], *, has_models: bool) -> Figure | None:
    """A chart of all headlines that are proportions; None for fewer than two."""
    shares = [(entry, row) for entry in entries if (row := entry.headline) is not None and row.share]
    if len(shares) < 2:
        return None
    points = [
        point(
            row,
            name=entry.result.suite,
            series=entry.model if has_models else "",
            group=entry.section,
            chance=result_chance(entry.result, row.metric),
        )
        for entry, row in shares
    ]
    cells = ({"suite": entry.result.suite, "model": entry.model, "metric": row.metric} for entry, row in shares)
    metrics = ", ".join(sorted({row.name for _, row in shares}))
    note = f"Share of items ({metrics}) with 95% intervals.{chance_note(points)}"
    rows = list(zip(points, cells, (row for _, row in shares), strict=True))
    return estimate_figure("overview-chart", "Accuracy on every suite", note, rows, value="accuracy")


def _title(entries: Sequence[ReportSection]) -> str:
    suites = list(dict.fromkeys(entry.result.suite for entry in entries))
    models = list(short_names(entry.result.model for entry in entries).values())
    suite_text = suites[0] if len(suites) == 1 else f"{len(suites)} suites"
    model_text = models[0] if len(models) == 1 else f"{len(models)} models"
    return f"{suite_text} · {model_text}"


def _summary(sections: Sections) -> str:
    """A sentence about the range of a model's scores, or about which model has the highest score how often."""
    groups = [group for suites in sections.values() for group in suites.values()]
    scored_entries = [entry for group in groups for entry in group if _is_score(entry)]
    models = list(dict.fromkeys(entry.model for entry in scored_entries))
    if len(scored_entries) < 2:
        return ""
    if len(models) == 1:
        ordered_entries = sorted(scored_entries, key=_value)
        low, high = (
            f"{e.headline.text} ({e.result.suite})" for e in (ordered_entries[0], ordered_entries[-1]) if e.headline
        )
        return f"{models[0]} scores between {low} and {high} on {plural(len(scored_entries), 'suite')}."
    scored_groups = ([entry for entry in group if entry in scored_entries] for group in groups)
    shared_groups = [group for group in scored_groups if len(group) > 1]
    best_models = [
        [entry.model for entry in group if _value(entry) == max(map(_value, group))] for group in shared_groups
    ]
    wins = Counter(winners[0] for winners in best_models if len(winners) == 1).most_common()
    if not wins:
        return f"{plural(len(models), 'model')} on {plural(len(groups), 'suite')}."
    (best, win_count), *other_wins = wins
    details = "".join(f", {model} on {model_wins}" for model, model_wins in other_wins)
    tie_count = len(best_models) - sum(model_wins for _, model_wins in wins)
    details += f"; on {tie_count} the best models have the same score" if tie_count else ""
    return f"{best} has the highest score on {win_count} of {plural(len(shared_groups), 'shared suite')}{details}."


def _featured_figures(sections: Sections) -> list[Figure]:
    """The first figures of the results that differ most between models; of others, those with the lowest scores."""
    ranking: list[tuple[float, float, ReportSection]] = []
    for group in (group for suites in sections.values() for group in suites.values()):
        entries_with_figures = [entry for entry in group if _is_score(entry) and _figures(entry)]
        if entries_with_figures:
            values = [_value(entry) for entry in entries_with_figures]
            ranking.append((min(values) - max(values), min(values), min(entries_with_figures, key=_value)))
    ranking.sort(key=lambda row: row[:2])
    return [
        replace(
            figure,
            id=f"featured-{index}",
            title=f"{entry.result.suite} · {entry.model} · {entry.headline.text if entry.headline else ''}",
            note=f"{figure.title}. {figure.note}",
        )
        for index, (_, _, entry) in enumerate(ranking[:FEATURED_RESULTS])
        for figure in _figures(entry)[:1]
    ]


def _is_score(entry: ReportSection) -> bool:
    """Whether the headline is a proportion of which higher values are better."""
    row = entry.headline
    return row is not None and row.share and entry.result.metric(row.metric).better == "higher"


def _figures(entry: ReportSection) -> list[Figure]:
    return [part for part in entry.parts if isinstance(part, Figure)]


def _value(entry: ReportSection) -> float:
    return entry.headline.value if entry.headline else 0.0


def _slug(text: str, used_ids: set[str]) -> str:
    """A unique HTML id of letters, digits and hyphens."""
    slug = "r-" + (re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "result")
    names = chain([slug], (f"{slug}-{number}" for number in count(2)))
    return next(name for name in names if name not in used_ids)


def _environment(*, has_svg: bool, has_charts: bool) -> Environment:
    from jinja2 import PackageLoader
    from markupsafe import Markup

    def chart(figure: Figure) -> tuple[dict[str, Any], Markup | None]:
        """The specification for the script, and the picture without JavaScript, made from one chart."""
        spec = vega.unstyled_spec(figure.chart)
        # Vega escapes every text that it writes into an SVG.
        svg = Markup(vega.page_svg(spec)) if has_svg else None
        return {**vega.page_spec(spec), "description": figure.title}, svg

    environment = view_environment(PackageLoader("wug.views", "templates"))
    environment.globals["drawn"] = has_charts
    environment.filters["chart"] = chart
    return environment


def _hash(script: str) -> str:
    """The hash by which the page's security policy allows a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def choose_figure(results: Sequence[Result], title: str | None = None) -> Figure:
    """The first chart of a result, or the overview of several; or the first with `title` in its title."""
    figures = list(all_figures(results))
    if not figures:
        raise InputError("there is no chart of these results")
    if title is None:
        return figures[0]
    matching_figures = [figure for figure in figures if title.lower() in figure.title.lower()]
    if not matching_figures:
        titles = ", ".join(repr(name) for name in dict.fromkeys(figure.title for figure in figures))
        raise InputError(f"no chart has {title!r} in its title. There is: {titles}")
    return matching_figures[0]


def all_figures(results: Sequence[Result]) -> Iterator[Figure]:
    """All charts: the overview of several results, then those of each result."""
    overview, names = overview_of(results), short_names(result.model for result in results)
    figures = [
        replace(figure, about=caption([result.suite], [names[result.model]], result.n))
        for result in results
        for figure in family_views.figures_of(result, rows_of(result))
    ]
    sizes = {result.n for result in results}
    about = caption([result.suite for result in results], names.values(), sizes.pop() if len(sizes) == 1 else None)
    yield from (
        replace(figure, about=figure.about or about)
        for figure in [*([overview] if overview else []), *family_views.across_figures(results), *figures]
        or _metric_figures(results)
    )


def _metric_figures(results: Sequence[Result]) -> Iterator[Figure]:
    """The proportions of results without a chart."""
    rows = [
        (point(row, name=row.name, chance=result_chance(result, row.metric)), {"metric": row.metric}, row)
        for result in results
        for row in headlines(result)
        if row.share
    ]
    if rows:
        yield estimate_figure("metrics", "Every metric", "With 95% intervals.", rows)
