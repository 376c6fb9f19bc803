"""Differences of models as charts: a dot and its interval for each suite and check, on either side of a line at 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wug.errors import InputError
from wug.views import charts, vega
from wug.views.comparison import difference, interval, p_text, side_names, verdict
from wug.views.parts import Figure

if TYPE_CHECKING:
    import altair

    from wug.results.comparison import Comparison, Contrast


def chart(comparison: Comparison) -> altair.VConcatChart:
    """All panels one above the other, with the names of the sides above them."""
    found = figures(comparison)
    if not found:
        raise InputError("there is no difference to draw")
    named = [f"{label} = {name}" for label, name in side_names(comparison).items()]
    title = {"text": "Difference with 95 % interval", "subtitle": named, "anchor": "start", "offset": 14}
    return charts.stacked([figure.chart for figure in found]).properties(title=title)


def figures(comparison: Comparison) -> list[Figure]:
    """A panel for shares, in percentage points, and one for each check of numbers."""
    panels: dict[str, list[Contrast]] = {}
    for contrast in comparison.contrasts:
        panels.setdefault("" if contrast.share else contrast.check, []).append(contrast)
    return [_figure(check, own, f"compared-{place}") for place, (check, own) in enumerate(panels.items())]


def _figure(check: str, contrasts: Sequence[Contrast], id: str) -> Figure:
    share = not check
    couples = list(dict.fromkeys((c.first.label, c.second.label) for c in contrasts))
    what = "percentage points" if share else check.replace("_", " ")
    if len(couples) == 1:
        first, second = couples[0]
        title = f"{second} − {first} in {what}   (right of 0: {second} higher, left: {first} higher)"
    else:
        title = f"difference in {what}   (right of 0: the first-named is higher)"
    several = len({c.check for c in contrasts}) > 1
    points = [_point(c, 100 if share else 1, several, len(couples) > 1) for c in contrasts]
    return Figure(
        id=id,
        draw=lambda: _with_zero(charts.intervals(points, title=title, series_are="pair")),
        title="Differences in per cent right" if share else f"Differences in {what}",
        note="Each dot is the difference on the items that both have, with its 95 % interval.",
        columns=("suite", "check", "pair", "difference", "95 % interval", "p", "p (Holm)", "verdict"),
        rows=tuple(
            (
                *(c.suite, c.check.replace("_", " "), f"{c.second.label} − {c.first.label}"),
                *(difference(c), interval(c), p_text(c.p), p_text(c.p_holm), verdict(c)),
            )
            for c in contrasts
        ),
        records=tuple(map(_record, contrasts)),
    )


def _record(c: Contrast) -> dict[str, Any]:
    return {
        "suite": c.suite,
        "check": c.check,
        "first": c.first.name,
        "second": c.second.name,
        "difference": c.difference,
        "low": c.low,
        "high": c.high,
        "p": c.p,
        "p_holm": c.p_holm,
        "n": c.n,
        "verdict": verdict(c),
    }


def _point(c: Contrast, scale: int, several: bool, series: bool) -> charts.Point:
    return charts.Point(
        row=c.check.replace("_", " ") if several else c.suite,
        value=scale * c.difference,
        low=None if c.low is None else scale * c.low,
        high=None if c.high is None else scale * c.high,
        n=c.n,
        series=f"{c.second.label} − {c.first.label}" if series else "",
        group=c.suite if several else "",
    )


def _with_zero(drawn: altair.LayerChart) -> altair.LayerChart:
    """The chart with a line at 0, behind the dots, which stays in view however far away they are."""
    alt = vega.altair()
    zero = (
        alt.Chart(alt.Data(values=[{"zero": 0}]))
        .mark_rule(strokeDash=[4, 3], color="currentColor", tooltip=None)
        .encode(x="zero:Q")
    )
    layers = [layer.properties(data=drawn.data) for layer in drawn.layer]  # altair keeps what they share with the whole
    kept = {name: drawn[name] for name in ("params", "usermeta") if drawn[name] is not alt.Undefined}
    return alt.layer(zero, *layers).properties(width=vega.WIDTH, height=drawn.height, **kept)
