"""SyntaxGym suites: predictions as cards, surprisal region by region, every item with its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wug.families.syntaxgym.checks import SUMMARY, prediction_of
from wug.families.syntaxgym.view.predictions import cards, compared_regions
from wug.families.syntaxgym.view.regions import (
    TITLE,
    item_figure,
    mean_figure,
    measured,
    names_of,
    region_means,
)
from wug.families.syntaxgym.view.sentences import item
from wug.families.syntaxgym.view.sorts import SORTS
from wug.rows import Rows
from wug.types import Result
from wug.views.numbers import bits, headlines
from wug.views.parts import Cards, Facts, Figure, Items, Later, Numbers, OptionPage, Part, Prose, Sample

MANY = 1000
"""Items of which the chart of regions takes a while."""


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """The chart of regions, all predictions at once, each of them, what the suite is about, where it is from."""
    if figure := _figure(result, rows):
        yield figure
    if together := tuple(row for row in headlines(result) if prediction_of(row.check) is None):
        yield Numbers(together)
    if each := tuple(cards(result, rows)):
        yield Cards("Predictions", each)
    if description := result.meta.get("description"):
        yield Prose(str(description), lead=True)
    if about := {key: result.meta[key] for key in ("author", "reference", "tags") if result.meta.get(key)}:
        yield Facts(about)


def items(result: Result, rows: Rows) -> Items:
    """Every item with its sentences; those on which each prediction fails, then all of them."""
    checks = [estimate.check for estimate in result.estimates if estimate.group == "all"]
    check = SUMMARY if SUMMARY in checks or not checks else checks[0]
    predictions = [(row.check, found) for row in headlines(result) if (found := prediction_of(row.check))]
    failing = (
        Sample(f"{found.title}: items that fail", name, heading=lambda group: "failing items", folded=True)
        for name, found in predictions
    )
    whole = Sample("Item by item", check, value=None)
    show = partial(item, result=result, marks=compared_regions(result))
    return Items(check, show, (*failing, whole), size=12, scale=True, sorts=SORTS)


def _figure(result: Result, rows: Rows) -> Figure | Later | None:
    """The chart of regions; of very many items when someone asks for it."""
    marked = sorted(set().union(*compared_regions(result)))
    draw = partial(mean_figure, result, rows, marked)
    if rows.tally(SUMMARY)[""] <= MANY:
        return draw()
    return Later("regions", TITLE, draw, alone=partial(item_figure, result, rows, marked))


def _region_surprisals(result: Result, rows: Rows) -> dict[tuple[str, ...], str]:
    """Mean surprisal in bits by region and condition."""
    means = region_means(measured(rows, most=MANY).values(), names_of(result, ()))
    ordered = sorted(means, key=lambda mean: (mean.number, mean.condition))
    return {(f"{mean.number} {mean.name}".strip(), mean.condition): bits(mean.value) for mean in ordered}


OPTION_PAGES = (
    OptionPage(
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
