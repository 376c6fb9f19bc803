"""Views of SyntaxGym results: predictions as cards, surprisal by region, every item with its tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wug.families.suite import evenly_spaced
from wug.families.syntaxgym.suite import SUMMARY, prediction_of
from wug.families.syntaxgym.view import regions as by_region
from wug.families.syntaxgym.view.regions import Conditions, ShownRegion, Tokens
from wug.families.syntaxgym.view.regions import question as question
from wug.formatting import bits, finite_or_none, headlines
from wug.outcomes import Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import parts as page
from wug.views.effects import effects_figure
from wug.views.text_display import Piece, Pieces, characters, join_letters

NEGATED = {"<": "≥", ">": "≤", "<=": ">", ">=": "<", "=": "≠", "==": "≠", "!=": "="}
"""What holds between two values if a comparison fails."""
EXAMPLE_SENTENCES = 2
MANY = 1000
"""Number of items from which the chart of regions is drawn on request."""


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """The chart of regions, all predictions together, each of them, their effects, and facts about the suite."""
    sentences = by_region.measured(rows, limit=MANY)
    if figure := _figure(result, rows, sentences):
        yield figure
    if summaries := tuple(row for row in headlines(result) if prediction_of(row.metric) is None):
        yield page.EstimatesPart(summaries)
    marked = set().union(*compared_regions(result))
    if split := by_region.result_note(sentences.values(), marked):
        yield page.TextPart(split)
    if each := tuple(cards(result, rows)):
        yield page.CardsPart("Predictions", each)
    if effects := effects_figure(result, rows):
        yield effects
    if description := result.meta.get("description"):
        yield page.TextPart(str(description), lead=True)
    if about := {key: result.meta[key] for key in ("author", "reference", "tags") if result.meta.get(key)}:
        yield page.FactsPart(about)


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every item with its sentences; first those on which a prediction fails."""
    metrics = [estimate.metric for estimate in result.estimates if estimate.group == "all"]
    metric = SUMMARY if SUMMARY in metrics or not metrics else metrics[0]
    predictions = [(row.metric, prediction) for row in headlines(result) if (prediction := prediction_of(row.metric))]
    failing = (
        page.ItemSample(
            f"{prediction.title}: items that fail", name, heading=lambda group: "failing items", folded=True
        )
        for name, prediction in predictions
    )
    every_item = page.ItemSample("Item by item", metric, value=None)
    show = partial(item, result=result, marks=compared_regions(result))
    return page.ItemsView(metric, show, (*failing, every_item), size=12, scale=True, sorts=SORTS)


def example(result: Result, rows: Rows) -> page.LinesPart | None:
    """The sentences of the first item that the first prediction compares, with its regions marked."""
    formulas, items = result.meta.get("formulas") or (), by_region.measured(rows, limit=1)
    if not formulas or not items:
        return None
    sentences = next(iter(items.values()))
    compared = [condition for condition in _conditions(formulas[0]) if condition in sentences]
    marked = compared_regions(result)[0]
    lines = []
    for name in list(dict.fromkeys([*compared, *sentences]))[:EXAMPLE_SENTENCES]:
        pieces: list[Piece] = []
        for region in (region for region in sentences[name] if region.content):
            pieces += [Piece(" " * bool(pieces)), Piece(region.content, differs=region.number in marked)]
        lines.append(page.LabelledText(name, tuple(pieces), "mark"))
    return page.LinesPart(tuple(lines))


def _figure(result: Result, rows: Rows, first: Mapping[str, Conditions]) -> page.Figure | page.DeferredPart | None:
    marked = sorted(set().union(*compared_regions(result)))
    if rows.tally(SUMMARY)[""] <= MANY:
        return by_region.mean_figure(result, rows, marked, first)
    draw = partial(by_region.mean_figure, result, rows, marked)
    return page.DeferredPart(
        "regions", by_region.TITLE, draw, item_figure=partial(by_region.item_figure, result, rows, marked)
    )


def _region_surprisals(result: Result, rows: Rows) -> dict[tuple[str, ...], str]:
    means = by_region.region_means(by_region.measured(rows, limit=MANY).values(), by_region.names_of(result, ()))
    ordered = sorted(means, key=lambda mean: (mean.number, mean.condition))
    return {(f"{mean.number} {mean.name}".strip(), mean.condition): bits(mean.value) for mean in ordered}


OPTION_PAGES = (
    page.OptionPage(
        option="boundary",
        values={
            "no": "with the next word (default)",
            "yes": "with the word itself (boundary=yes)",
            "published": "as Pimentel & Meister's released code (boundary=published)",
        },
        link="Does it matter with which word the end of a word is counted?",
        title="Where words end",
        text=(
            "Most tokenizers put the space that ends a word into the token of the next word. So the probability that a "
            "word ends is counted with the next word, although the reader meets it with this one. The option "
            "boundary=yes counts it with the word that ends (Pimentel & Meister 2024). The choice can change what a "
            "model is found to know: it affects surprisal at the point of disambiguation in garden paths (Oh & Schuler "
            "2024), so report which one was used."
        ),
        table_title="Mean surprisal (bits) by region",
        table_columns=("region", "condition"),
        table_rows=_region_surprisals,
    ),
)


LOOKED_AT, MARGINS = 1000, 300


def cards(result: Result, rows: Rows) -> Iterator[page.PredictionCard]:
    """A card for each prediction, by every metric."""
    for estimate in headlines(result):
        if (prediction := prediction_of(estimate.metric)) is None:
            continue
        formula: Mapping[str, Any] = dict(enumerate(result.meta.get("formulas") or ())).get(prediction.index, {})
        source = str(formula.get("source") or "")
        text = str(formula.get("canonical") or source)
        counts = rows.tally(estimate.metric)
        margins = [
            page.ItemMargin(row.outcome.item, row.position, margin, row.outcome.value is True)
            for row in rows.each(Filter(estimate.metric), keys=("margin",), limit=LOOKED_AT)
            if (margin := finite_or_none(row.outcome.detail.get("margin"))) is not None
            and row.outcome.value is not None
        ]
        yield page.PredictionCard(
            title=prediction.title,
            metric=estimate.metric,
            estimate=estimate,
            meaning=estimate.meaning or str(formula.get("english") or ""),
            formula=text,
            source=source if "".join(source.split()) != "".join(text.split()) else "",
            passed=counts["true"],
            failed=counts["false"],
            conditions=_conditions(formula),
            margins=tuple(sorted(evenly_spaced(margins, MARGINS), key=lambda margin: margin.value)),
        )


def compared_regions(result: Result) -> list[frozenset[int]]:
    """The numbers of the regions that each prediction compares; empty for whole sentences."""
    numbers = {name: region for region, name in reversed(by_region.names_of(result, ()).items())}
    return [
        frozenset(
            number for region, _ in known.get("regions") or () if isinstance(number := numbers.get(region, region), int)
        )
        for known in result.meta.get("formulas") or ()
    ]


def _conditions(formula: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(condition) for _, condition in formula.get("regions") or ()))


def _verdict(comparison: Mapping[str, Any]) -> page.ItemStatement:
    sides = (finite_or_none(comparison.get(key)) for key in ("left", "right"))
    left, right = ("∞" if side is None else bits(side) for side in sides)
    holds, operator = bool(comparison.get("holds")), str(comparison.get("operator") or "")
    text = f"{left} {operator if holds else NEGATED.get(operator, operator)} {right}"
    return page.ItemStatement(holds, text, str(comparison.get("formula") or ""))


def item(
    row: OutcomeRow, judgements: Sequence[OutcomeRow], *, result: Result, marks: Sequence[Collection[int]]
) -> page.ItemView:
    """An item with its sentences, and the comparisons of a prediction or the predictions that fail."""
    outcome = row.outcome
    prediction = prediction_of(outcome.metric)
    sentences = by_region.conditions(page.carrier(judgements, "conditions"))
    marked = set().union(*(marks if prediction is None else marks[prediction.index : prediction.index + 1]))
    margin = finite_or_none(outcome.detail.get("margin"))
    failed = [other.outcome.metric for other in judgements if other.outcome.value is False]
    note = by_region.item_note(sentences, marked)
    parts: list[page.ViewPart] = []
    if statements := tuple(map(_verdict, outcome.detail.get("comparisons") or ())):
        parts.append(page.StatementsPart(statements))
    if note:
        parts.append(page.TextPart(note))
    if sentences:
        parts.append(_table(f"Item {outcome.item}", sentences, result, marked))
    return page.ItemView(
        note=str(outcome.detail.get("why") or "") if margin is None else f"margin {bits(margin)} bits",
        fails=outcome.value is False,
        sentence=_text(next(iter(sentences.values()), ())),
        failed_metrics=() if prediction else tuple(metric for metric in failed if prediction_of(metric)),
        parts=tuple(parts),
        sentences=tuple(dict.fromkeys(filter(None, map(_text, sentences.values())))),
    )


def _table(name: str, sentences: Conditions, result: Result, marked: Collection[int]) -> page.TablePart:
    names = by_region.names_of(result, [sentences])
    sign = "Σ" if (region_metric := by_region.metric_of(result)) == "sum" else region_metric
    columns = (page.TableColumn(str(number), remark=name, marked=number in marked) for number, name in names.items())
    rows = []
    for condition, regions in sentences.items():
        cells = {region.number: _cell(region, sign) for region in regions}
        ordered = (cells.get(number, page.TableCell()) for number in names)
        rows.append(page.TablePartRow((page.TableCell(condition), *ordered)))
    return page.TablePart(name, "", (page.TableColumn(""), *columns), (("", tuple(rows)),), style="tokens")


def _cell(region: ShownRegion, sign: str) -> page.TableCell:
    tokens = region.tokens or (((region.content, region.value),) if region.content else ())
    several = len(tokens) > 1 and region.value is not None
    return page.TableCell(
        pieces=_pieces(tokens, region.content),
        line_below=f"{sign} {tenths(region.value)}" if several else "",
        remark=f"unknown: {', '.join(region.unknown)}" if region.unknown else "",
    )


def _pieces(tokens: Tokens, content: str) -> Pieces:
    """The tokens of a region; parts of one character are joined, and their bits added."""
    spans = characters([text for text, _ in tokens])
    texts = ["".join(text for text, _ in tokens[span.start : span.stop] if text).strip() for span in spans]
    pieces = []
    for span, text in zip(spans, join_letters(texts, _joined(texts, content)), strict=True):
        known = [value for _, value in tokens[span.start : span.stop] if value is not None]
        bits = sum(known) if known else None
        of = f", {len(span)} parts" if len(span) > 1 else ""
        pieces.append(Piece(text or "␣", value=f"{tenths(bits)}{of}", shade=page.shade(bits)))
    return tuple(pieces)


def _joined(texts: Sequence[str], content: str) -> list[bool]:
    """Whether each text continues the word of the preceding one."""
    continues, end = [], 0
    for text in texts:
        start = content.find(text, end)
        continues.append(0 < start == end)
        end = max(end, start + len(text))
    return continues


def tenths(value: float | None) -> str:
    """Bits with one decimal."""
    return "–" if value is None else f"{value:.1f}".replace("-", "−")


def _text(regions: Sequence[ShownRegion]) -> str:
    return " ".join(region.content for region in regions if region.content)


def _margin_keys(rows: Rows, wanted: Filter) -> Iterator[tuple[int, page.SortKey]]:
    """The margin of a prediction or, for all of them, the smallest one."""
    predictions = ((metric, prediction_of(metric)) for metric in rows.metrics())
    every = [metric for metric, prediction in predictions if prediction and not prediction.region_metric]
    least: dict[str, float] = {}
    for metric in every if wanted.metric == SUMMARY else [wanted.metric]:
        for row in rows.each(Filter(metric), keys=("margin",)):
            if (margin := finite_or_none(row.outcome.detail.get("margin"))) is not None:
                least[row.outcome.item] = min(margin, least.get(row.outcome.item, margin))
    for row in rows.each(wanted, keys=()):
        yield row.position, least.get(row.outcome.item)


def _sentence_keys(
    measure: Callable[[Conditions], page.SortKey], rows: Rows, wanted: Filter
) -> Iterator[tuple[int, page.SortKey]]:
    """A measure of the sentences of the summary, for the rows of any metric."""
    keys = {item: measure(sentences) for item, sentences in by_region.measured(rows).items()}
    for row in rows.each(wanted, keys=()):
        yield row.position, keys.get(row.outcome.item)


def _surprisal(sentences: Conditions) -> page.SortKey:
    sums = [sum(region.value or 0.0 for region in regions) for regions in sentences.values()]
    return sum(sums) / len(sums) if sums else None


def _length(sentences: Conditions) -> page.SortKey:
    return max((float(len(_text(regions).split())) for regions in sentences.values()), default=None)


SORTS = (
    page.SortOption("margin", "margin (bits)", _margin_keys),
    page.SortOption("surprisal", "surprisal (bits)", partial(_sentence_keys, _surprisal)),
    page.SortOption("length", "length (words)", partial(_sentence_keys, _length)),
)
