"""Substitutivity: whether a synonym is answered alike, function by function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wug.families.pcfgset.view.answers import judged, line, texts
from wug.families.pcfgset.view.figures import curves, function_figure, shares_figure
from wug.rows import Placed, Rows
from wug.types import Estimate, Result
from wug.views.grouped import counts_items
from wug.views.marked import marked
from wug.views.parts import Figure, Item, Items, Line, Lines, Part, Sample

CHECK = "consistency"
SERIES = {CHECK: "consistent", "accuracy_original": "right with the function", "accuracy_twin": "right with its twin"}
PARTS = {"consistent_correct": "equal and right", "consistent_incorrect": "equal and wrong"}
AXES = {"functions": "number of functions", "depth": "depth"}
ABOUT, WHAT = "Consistency and accuracy, by", "share of pairs"


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Charts of both answers, by function and by how large a source is."""
    yield from _shares(result)
    yield from function_figure(result, SERIES, title=f"{ABOUT} function", what=WHAT, series_are="answers are")
    yield from curves(result, SERIES, AXES, title=ABOUT, what=WHAT)


def items(result: Result) -> Items:
    """Every pair of twins, those answered differently by function."""
    unlike = Sample(
        "Answers that differ", CHECK, verb="differ", group=lambda outcome: outcome.groups.get("function", "")
    )
    return Items(CHECK, twins, (unlike,), size=20)


def twins(row: Placed, judgements: Sequence[Placed]) -> Item:
    """A source and its twin with both answers, and which of them are right."""
    source, twin, target, first, second = texts(judgements, "source", "twin", "target", "answer", "twin_answer")
    ours, theirs = marked(first, second)
    lines = (
        line("source", source),
        Line("with twin", marked(source, twin)[1], "mark"),
        line("target", target),
        judged("answer", ours, right=first == target),
        judged("twin's answer", theirs, right=second == target),
    )
    notes = {
        (True, True): "equal and right",
        (True, False): "only the first is right",
        (False, True): "only the twin's is right",
        (False, False): "equal and wrong" if first == second else "both are wrong",
    }
    note = notes[first == target, second == target]
    return Item(note, fails=first != second, parts=(Lines(lines, symbols=True),))


def _shares(result: Result) -> Iterator[Figure]:
    """For all pairs and each function: equal and right, equal and wrong, not equal."""
    found: dict[str, dict[str, Estimate]] = {}
    for one in result.estimates:
        if one.check in (*PARTS, CHECK) and (one.group == "all" or one.group.startswith("function=")):
            found.setdefault(one.group.partition("=")[2] or "all functions", {})[one.check] = one
    whole = {name: cells for name, cells in found.items() if len(cells) > len(PARTS)}
    if whole:
        items = counts_items(result, CHECK)
        yield shares_figure(
            {
                name: {label: cells[check].value for check, label in PARTS.items()}
                | {"not equal": 1 - cells[CHECK].value}
                for name, cells in whole.items()
            },
            {name: cells[CHECK].n if items else None for name, cells in whole.items()},
            title="The two answers, by function",
            note="The answers to a source and to the same source with a twin of one function.",
            what=WHAT,
            columns=("function", "the answers are"),
        )
