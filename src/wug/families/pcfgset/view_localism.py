"""Localism: consistency by steps, accuracy of single steps, samples as trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wug.families.answer_views import judged, line, samples
from wug.families.pcfgset import view as common
from wug.outcomes import Outcome, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.stats import estimate
from wug.views import parts as page
from wug.views.charts import Point
from wug.views.grouped import by_field, curve, curves, dots
from wug.views.text_display import mark_differences, single_piece

METRIC, WHOLE, STEPWISE = "consistency", "original_accuracy", "unrolled_accuracy"
SERIES = {METRIC: "consistent", WHOLE: "right as a whole", STEPWISE: "right step by step"}
AXES = {"steps": "number of steps", "longest": "longest result on the way (symbols)", "depth": "depth"}
KINDS = {
    (True, True, True): "consistent, right",
    (True, False, False): "consistent, wrong",
    (False, True, False): "not consistent, only the whole right",
    (False, False, True): "not consistent, only the steps right",
    (False, False, False): "not consistent, wrong",
}
"""Kinds of samples: whether both answers are equal, the whole is right, the last step is right."""
MAX_SAMPLES = 5000
RIGHT = "A step is right if its answer is the result of the function for the inputs that it was given."


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Whole against steps, consistency by steps and function, single steps."""
    there = rows.tally(METRIC)[""]
    if there:
        yield page.DeferredPart("together", "The whole and its steps", lambda: _tally(rows), figure=False)
    what = "share of samples"
    yield from curves(result, SERIES, AXES, title="Consistency by", what=what)
    title = "Consistency by outermost function"
    yield from common.function_figure(result, SERIES, title=title, what=what, series_are="samples are")
    if there:
        bound = f" Only the first {MAX_SAMPLES:,} samples." if there > MAX_SAMPLES else ""
        dotted, banded = f"{RIGHT} Dots with 95% intervals.{bound}", f"{RIGHT} The band is the 95% interval.{bound}"
        yield page.DeferredPart("single", "Single steps by function", partial(_by_function, rows, dotted), note=dotted)
        title = "Single steps by the length of their inputs"
        yield page.DeferredPart("inputs", title, partial(_by_length, rows, banded), note=banded)


def items(result: Result) -> page.ItemsView:
    """Every sample as a tree; inconsistent ones by number of steps."""
    unlike = replace(
        samples("Samples that are not consistent", METRIC, "not consistent", "steps"),
        heading=lambda steps: f"{steps} step{'s' * (steps != '1')}",
        titles={row.group: "" for row in by_field(result, METRIC).get("steps", ())},
        note=(
            "Each function with the model's answer, its inputs below it. An answer is wrong if it is not the result of "
            "the function for the inputs that it was given."
        ),
    )
    return page.ItemsView(METRIC, sample, (unlike,), size=20, noun="sample", texts=common.SOURCES)


def _tally(rows: Rows) -> page.CountsPart:
    right = {
        metric: {row.outcome.item for row in rows.each(Filter(metric, value="true"), keys=())}
        for metric in (WHOLE, STEPWISE)
    }
    counts: Counter[str] = Counter()
    for row in rows.each(Filter(METRIC), keys=()):
        item = row.outcome.item
        counts[KINDS.get((row.outcome.value is True, item in right[WHOLE], item in right[STEPWISE]), "")] += 1
    return page.CountsPart(tuple((name, counts[name], "") for name in KINDS.values() if counts[name]))


def _by_function(rows: Rows, note: str) -> page.Figure | None:
    by_function: dict[str, list[bool]] = {}
    for words, right in _single(rows):
        by_function.setdefault(words[0], []).append(right)
    shares = {function: estimate("", "", by_function[function]) for function in common.in_language_order(by_function)}
    points = [Point(function, share.value, share.low, share.high, share.n) for function, share in shares.items()]
    title = "Single steps by function"
    return dots("single", title, points, note=note, value="share of steps", row="function") if points else None


def _by_length(rows: Rows, note: str) -> page.Figure | None:
    by_length: dict[int, list[bool]] = {}
    for words, right in _single(rows):
        by_length.setdefault(sum(word != "," for word in words[1:]), []).append(right)
    points = common.share_curve(by_length)
    title, x = "Single steps by the length of their inputs", "symbols in the inputs"
    return curve("inputs", title, points, note=note, x=x, value="share of steps") if len(points) > 1 else None


def _single(rows: Rows) -> Iterator[tuple[list[str], bool]]:
    for row in rows.each(Filter(METRIC), keys=("steps",), limit=MAX_SAMPLES):
        for step in steps_of(row.outcome):
            if words := str(step.get("source", "")).split():
                yield words, step.get("answer") == step.get("right")


MAX_NODES = 120


def sample(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> page.ItemView:
    """A sample: its tree, and the two answers that should be equal."""
    outcome = page.carrier(judgements, "answer")
    steps = steps_of(outcome)
    target, answer = (str(outcome.detail.get(key) or "") for key in ("target", "answer"))
    last = str(steps[-1].get("answer") or "") if steps else ""
    ours, theirs = mark_differences(last, answer)
    lines = (
        line("target", target),
        judged("step by step", ours, right=last == target),
        judged("as a whole", theirs, right=answer == target),
    )
    first = dict.fromkeys(_function(step) for step in steps if step.get("diverges"))
    note = f"first wrong: {', '.join(first)}" if first else "every step is right"
    if not first and outcome.value is not True:
        note += ", the whole is not"
    parts = (tree(steps), page.LinesPart(lines, symbols=True)) if steps else (page.LinesPart(lines, symbols=True),)
    return page.ItemView(note, fails=bool(first) or outcome.value is not True, parts=parts)


def tree(steps: Sequence[Mapping[str, Any]]) -> page.TreePart:
    """The steps from the whole down, each with its answer."""
    placed = list(_preorder(steps))
    nodes, before = [], 0
    for part, depth in placed[:MAX_NODES]:
        nodes.append(_node(part, steps, down=depth > before, up=max(0, before - depth)))
        before = depth
    return page.TreePart(tuple(nodes), before, len(placed) > MAX_NODES)


def steps_of(outcome: Outcome) -> Sequence[Mapping[str, Any]]:
    """The steps of an outcome; the last is the whole."""
    return outcome.detail.get("steps") or ()


def _preorder(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int | str, int]]:
    """Every step and string with its depth, from the whole down, as far as it can be shown."""
    waiting: list[tuple[int | str, int]] = [(len(steps) - 1, 1)]
    count = 0
    while waiting and count <= MAX_NODES:
        part, depth = waiting.pop()
        yield part, depth
        count += 1
        if isinstance(part, int):
            below = [
                part_below
                for part_below in steps[part].get("inputs") or ()
                if not isinstance(part_below, int) or 0 <= part_below < part
            ]
            waiting += [(part_below, depth + 1) for part_below in reversed(below)]


def _node(part: int | str, steps: Sequence[Mapping[str, Any]], *, down: bool, up: int) -> page.TreeNode:
    if not isinstance(part, int):
        return page.TreeNode(down, up, "", single_piece(str(part)))
    step = steps[part]
    answer, expected = str(step.get("answer") or ""), str(step.get("right") or "")
    if answer == expected:
        return page.TreeNode(down, up, _function(step), single_piece(answer))
    pieces, right = mark_differences(answer, expected)
    return page.TreeNode(down, up, _function(step), pieces, "first" if step.get("diverges") else "later", right)


def _function(step: Mapping[str, Any]) -> str:
    return str(step.get("source") or "").partition(" ")[0]
