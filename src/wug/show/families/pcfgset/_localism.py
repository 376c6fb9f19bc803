"""Localism: consistency by steps, how single steps fare, samples as trees of answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from wug.families.pcfgset.language import FUNCTIONS
from wug.show import charts
from wug.show.families import Figure, Place
from wug.show.families._grouped import by_field, curve, curve_points, dots, intervals_are, point
from wug.show.families._spread import spread
from wug.show.families.pcfgset._plain import band_note
from wug.show.families.pcfgset._trees import Drawn, drawn, steps_of
from wug.stats import estimate
from wug.types import Outcome, Result

CHECK = "consistency"
SERIES = {CHECK: "consistent", "original_accuracy": "right as a whole", "unrolled_accuracy": "right step by step"}
CURVES = {
    "steps": "number of steps",
    "longest": "longest result on the way (symbols)",
    "depth": "depth",
}


def localism(result: Result, place: Place) -> dict[str, Any]:
    """What the page shows of a localism test."""
    judged = [outcome for outcome in result.outcomes if outcome.check == CHECK]
    unlike = [outcome for outcome in judged if outcome.value is False]
    shown = spread(unlike, place.room, lambda outcome: str(outcome.groups.get("steps", "")))
    trees = sorted((drawn(outcome) for some in shown.values() for outcome in some), key=lambda tree: tree.steps)
    figures = [*_figures(result, place), *_single_steps(judged, place)]
    return {"figures": figures, "trees": _batches(trees), "left": len(unlike) - len(trees), "tally": _tally(judged)}


def _batches(trees: Sequence[Drawn]) -> list[tuple[int, list[Drawn]]]:
    """The trees by their number of steps."""
    by_steps: dict[int, list[Drawn]] = {}
    for tree in trees:
        by_steps.setdefault(tree.steps, []).append(tree)
    return list(by_steps.items())


def _tally(judged: Sequence[Outcome]) -> list[tuple[str, int, str]]:
    """How the answer to the whole and that of the last step go together."""
    count: Counter[str] = Counter()
    for outcome in judged:
        steps = steps_of(outcome)
        if steps:
            target = outcome.detail.get("target")
            whole, last = outcome.detail.get("answer") == target, steps[-1].get("answer") == target
            kind = "consistent" if outcome.value else "not consistent"
            right = {
                (True, True): "right",
                (True, False): "only the whole right",
                (False, True): "only the steps right",
            }
            count[f"{kind}, {right.get((whole, last), 'wrong')}"] += 1
    order = ("right", "wrong")
    names = [f"consistent, {end}" for end in order]
    names += [f"not consistent, {end}" for end in ("only the whole right", "only the steps right", "wrong")]
    return [(name, count[name], "") for name in names if count[name]]


def _figures(result: Result, place: Place) -> Iterator[Figure]:
    fields = {check: by_field(result, check) for check in SERIES}
    for field, x in CURVES.items():
        points = [p for check, name in SERIES.items() for p in curve_points(fields[check].get(field, ()), name)]
        if len({p.x for p in points}) > 1:
            title = f"Consistency by {x.partition(' (')[0]}"
            note = band_note(result, CHECK)
            yield curve(f"{place.id}-by-{field}", title, points, note=note, x=x, what="share of samples")
    places = {name: number for number, name in enumerate(FUNCTIONS)}
    functions = sorted((row.group for row in fields[CHECK].get("function", ())), key=lambda name: places.get(name, 99))
    points_by_function = [
        point(row, series=name)
        for function in functions
        for check, name in SERIES.items()
        for row in fields[check].get("function", ())
        if row.group == function
    ]
    if points_by_function:
        yield dots(
            f"{place.id}-functions",
            "Consistency by outermost function",
            points_by_function,
            note=intervals_are(result, CHECK),
            what="share of samples",
            first="function",
            series="samples are",
        )


def _single_steps(judged: Sequence[Outcome], place: Place) -> Iterator[Figure]:
    """How often a step is answered with what its function makes of the inputs that it was given."""
    functions: dict[str, list[bool]] = {}
    lengths: dict[int, list[bool]] = {}
    for outcome in judged:
        for step in steps_of(outcome):
            words = str(step.get("source", "")).split()
            if words:
                right = step.get("answer") == step.get("right")
                functions.setdefault(words[0], []).append(right)
                lengths.setdefault(sum(word != "," for word in words[1:]), []).append(right)
    if not functions:
        return
    places = {name: number for number, name in enumerate(FUNCTIONS)}
    points = []
    for function in sorted(functions, key=lambda name: places.get(name, 99)):
        found = estimate("", "", functions[function])
        points.append(charts.Point(function, found.value, found.low, found.high, found.n))
    right = "A step is right where its answer is what the function makes of the very inputs that it was given."
    yield dots(
        f"{place.id}-single",
        "Single steps by function",
        points,
        note=f"{right} Dots with 95 % intervals.",
        what="share of steps",
        first="function",
    )
    if len(lengths) > 1:
        curved = []
        for length, values in sorted(lengths.items()):
            found = estimate("", "", values)
            curved.append(charts.CurvePoint(length, found.value, found.low, found.high, found.n))
        note = f"{right} The band is the 95 % interval."
        title = "Single steps by the length of their inputs"
        yield curve(f"{place.id}-inputs", title, curved, note=note, x="symbols in the inputs", what="share of steps")
