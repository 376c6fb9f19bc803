"""Substitutivity: consistency of the answers with and without a synonym, by function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.families.pcfgset.view.figures import curves, function_figure, judged, line, shares_figure, texts
from wug.rows import OutcomeRow, Rows
from wug.types import Estimate, Result
from wug.views.grouped import counts_items
from wug.views.parts import Figure, ItemSample, ItemsView, ItemView, LabelledText, LinesPart, ViewPart
from wug.views.text_display import marked

METRIC = "consistency"
SERIES = {
    METRIC: "consistent",
    "accuracy_original": "right with the function",
    "accuracy_twin": "right with its synonym",
}
PARTS = {"consistent_correct": "equal and right", "consistent_incorrect": "equal and wrong"}
AXES = {"functions": "number of functions", "depth": "depth"}
ABOUT, WHAT = "Consistency and accuracy, by", "share of pairs"


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Charts of both answers, by function and by size of the source."""
    yield from _shares(result)
    yield from function_figure(result, SERIES, title=f"{ABOUT} function", what=WHAT, series_are="answers are")
    yield from curves(result, SERIES, AXES, title=ABOUT, what=WHAT)


def items(result: Result) -> ItemsView:
    """Every pair; different answers by function."""
    unlike = ItemSample(
        "Answers that differ", METRIC, verb="differ", group=lambda outcome: outcome.groups.get("function", "")
    )
    return ItemsView(METRIC, synonym_item, (unlike,), size=20)


def synonym_item(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> ItemView:
    """A source with and without a synonym, and both answers."""
    source, twin, target, first, second = texts(judgements, "source", "twin", "target", "answer", "twin_answer")
    ours, theirs = marked(first, second)
    lines = (
        line("source", source),
        LabelledText("with synonym", marked(source, twin)[1], "mark"),
        line("target", target),
        judged("answer", ours, right=first == target),
        judged("answer with synonym", theirs, right=second == target),
    )
    notes = {
        (True, True): "equal and right",
        (True, False): "only the first is right",
        (False, True): "only the second is right",
        (False, False): "equal and wrong" if first == second else "both are wrong",
    }
    note = notes[first == target, second == target]
    return ItemView(note, fails=first != second, parts=(LinesPart(lines, symbols=True),))


def _shares(result: Result) -> Iterator[Figure]:
    """For all pairs and each function: equal and right, equal and wrong, not equal."""
    found: dict[str, dict[str, Estimate]] = {}
    for one in result.estimates:
        if one.metric in (*PARTS, METRIC) and (one.group == "all" or one.group.startswith("function=")):
            found.setdefault(one.group.partition("=")[2] or "all functions", {})[one.metric] = one
    whole = {name: cells for name, cells in found.items() if len(cells) > len(PARTS)}
    if whole:
        items = counts_items(result, METRIC)
        yield shares_figure(
            {
                name: {label: cells[metric].value for metric, label in PARTS.items()}
                | {"not equal": 1 - cells[METRIC].value}
                for name, cells in whole.items()
            },
            {name: cells[METRIC].n if items else None for name, cells in whole.items()},
            title="The two answers, by function",
            note="The answers to a source with and without a synonym for one function.",
            what=WHAT,
            columns=("function", "the answers are"),
        )
