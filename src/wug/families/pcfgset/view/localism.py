"""Localism: consistency by steps, how single steps fare, samples as trees of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from wug.families.pcfgset.view.figures import curves, function_figure, in_language_order
from wug.families.pcfgset.view.trees import sample, steps_of
from wug.rows import Filter, Rows
from wug.stats import estimate
from wug.types import Result
from wug.views import charts
from wug.views.grouped import by_field, curve, dots
from wug.views.parts import Figure, Items, Later, Part, Sample, Tally

CHECK, WHOLE, STEPWISE = "consistency", "original_accuracy", "unrolled_accuracy"
SERIES = {CHECK: "consistent", WHOLE: "right as a whole", STEPWISE: "right step by step"}
AXES = {"steps": "number of steps", "longest": "longest result on the way (symbols)", "depth": "depth"}
KINDS = {
    (True, True, True): "consistent, right",
    (True, False, False): "consistent, wrong",
    (False, True, False): "not consistent, only the whole right",
    (False, False, True): "not consistent, only the steps right",
    (False, False, False): "not consistent, wrong",
}
"""What samples there are: whether both answers are equal, the whole is right, the last step is."""
MOST = 5000
"""Samples whose single steps are looked at; of more, the first."""
RIGHT = "A step is right where its answer is what the function makes of the very inputs that it was given."


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """How whole and steps go together, consistency by steps and function, single steps."""
    there = rows.tally(CHECK)[""]
    if there:
        yield Later("together", "The whole and its steps", lambda: _tally(rows), figure=False)
    what = "share of samples"
    yield from curves(result, SERIES, AXES, title="Consistency by", what=what)
    title = "Consistency by outermost function"
    yield from function_figure(result, SERIES, title=title, what=what, series_are="samples are")
    if there:
        bound = f" Of the first {MOST:,} samples." if there > MOST else ""
        dotted, banded = f"{RIGHT} Dots with 95 % intervals.{bound}", f"{RIGHT} The band is the 95 % interval.{bound}"
        yield Later("single", "Single steps by function", partial(_by_function, rows, dotted), note=dotted)
        title = "Single steps by the length of their inputs"
        yield Later("inputs", title, partial(_by_length, rows, banded), note=banded)


def items(result: Result) -> Items:
    """Every sample as a tree, those that are not consistent by their number of steps."""
    unlike = Sample(
        "Samples that are not consistent",
        CHECK,
        verb="not consistent",
        group=lambda outcome: outcome.groups.get("steps", ""),
        heading=lambda steps: f"{steps} step{'s' * (steps != '1')}",
        titles={row.group: "" for row in by_field(result, CHECK).get("steps", ())},
        note=(
            "Each function with the model's answer, its inputs below it. A wrong answer is one that the function does "
            "not make of the very inputs it was given."
        ),
    )
    return Items(CHECK, sample, (unlike,), size=20, noun="sample")


def _tally(rows: Rows) -> Tally:
    """How the answer to the whole and that of the last step go together."""
    right = {
        check: {row.outcome.item for row in rows.each(Filter(check, value="true"), keys=())}
        for check in (WHOLE, STEPWISE)
    }
    counts: Counter[str] = Counter()
    for row in rows.each(Filter(CHECK), keys=()):
        item = row.outcome.item
        counts[KINDS.get((row.outcome.value is True, item in right[WHOLE], item in right[STEPWISE]), "")] += 1
    return Tally(tuple((name, counts[name], "") for name in KINDS.values() if counts[name]))


def _by_function(rows: Rows, note: str) -> Figure | None:
    """How often a step is answered with what its function makes of the inputs that it was given."""
    found: dict[str, list[bool]] = {}
    for words, right in _single(rows):
        found.setdefault(words[0], []).append(right)
    points = []
    for function in in_language_order(found):
        share = estimate("", "", found[function])
        points.append(charts.Point(function, share.value, share.low, share.high, share.n))
    title = "Single steps by function"
    return dots("single", title, points, note=note, what="share of steps", first="function") if points else None


def _by_length(rows: Rows, note: str) -> Figure | None:
    """The same by the number of symbols in the inputs; None where all are of one length."""
    found: dict[int, list[bool]] = {}
    for words, right in _single(rows):
        found.setdefault(sum(word != "," for word in words[1:]), []).append(right)
    points = []
    for length, values in sorted(found.items()):
        share = estimate("", "", values)
        points.append(charts.CurvePoint(length, share.value, share.low, share.high, share.n))
    title, x = "Single steps by the length of their inputs", "symbols in the inputs"
    return curve("inputs", title, points, note=note, x=x, what="share of steps") if len(points) > 1 else None


def _single(rows: Rows) -> Iterator[tuple[list[str], bool]]:
    """The words of every step's source, and whether it is right."""
    for row in rows.each(Filter(CHECK), keys=("steps",), most=MOST):
        for step in steps_of(row.outcome):
            if words := str(step.get("source", "")).split():
                yield words, step.get("answer") == step.get("right")
