"""The Jinja environment of report and site: templates, filters, the strips of dots, and the font."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from wug.formatting import bits, local_time, metric_label, number, plural
from wug.views import comparison as comparison_text
from wug.views.parts import ItemMargin, part_type
from wug.views.text_display import direction_of, runs_of

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment

STRIP_WIDTH_PX, STRIP_EDGE_PX, STRIP_STEP_PX, MAX_STRIP_HEIGHT_PX = 320, 8, 7.0, 74.0
"""Width, margin at both ends, distance between dots, and maximum height of a strip."""


def view_environment(loader: BaseLoader) -> Environment:
    """A Jinja environment with the filters and tests that `view.html` needs, for the report and the site."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    environment.globals["comparisons"] = comparison_text
    environment.filters |= {"part_type": part_type, "strip": strip, "direction": direction_of, "runs": runs_of}
    environment.filters |= {"plural": plural, "metric_label": metric_label, "number": number, "local_time": local_time}
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.tests["listed"] = lambda value: isinstance(value, list | tuple)
    return environment


def template_source(name: str) -> str:
    """The text of a file in `templates/`."""
    return (resources.files("wug.views") / "templates" / name).read_text(encoding="utf-8").strip()


def font_css(url: str) -> str:
    """The rule that loads the text face of every page from a URL: Inter 4.1 (fonts/LICENSE.txt).

    The file was made with fontTools from InterVariable: `opsz=14`, `wght=400:700`, Latin letters, punctuation, arrows,
    and the features kern, liga, calt, ccmp, locl, mark, mkmk, tnum, case, frac, zero.
    """
    return (
        "@font-face { font-family: Inter; font-weight: 400 700; font-display: swap; "
        f'src: url("{url}") format("woff2"); }}\n'
    )


def font_data_url() -> str:
    """A data URL that contains the font."""
    return f"data:font/woff2;base64,{base64.b64encode(font_woff2()).decode()}"


def font_woff2() -> bytes:
    """The font file."""
    return (resources.files("wug.views") / "fonts" / "inter.woff2").read_bytes()


class StripDot(NamedTuple):
    """An item in a strip."""

    margin: ItemMargin
    x: float
    y: float
    text: str
    """Such as `item 3: −1.02 bits, fails`."""


class Strip(NamedTuple):
    """Dots from the smallest margin to the largest; failing items are left of `zero`."""

    dots: tuple[StripDot, ...]
    zero: float
    height: float
    low: str
    high: str


def strip(margins: Sequence[ItemMargin], unit: str = "bits") -> Strip | None:
    """The dots of a prediction, stacked where margins are about equal; None without margins."""
    if not margins:
        return None
    low = min(0.0, *(margin.value for margin in margins))
    high = max(0.0, *(margin.value for margin in margins))
    scale = (STRIP_WIDTH_PX - 2 * STRIP_EDGE_PX) / ((high - low) or 1.0)
    columns = [int((margin.value - low) * scale / STRIP_STEP_PX) for margin in margins]
    tallest = max(Counter(columns).values())
    step = min(STRIP_STEP_PX, MAX_STRIP_HEIGHT_PX / tallest)
    height = max(3 * STRIP_STEP_PX, tallest * step + 2 * STRIP_STEP_PX)
    column_counts: Counter[int] = Counter()
    dots = []
    for margin, column in zip(margins, columns, strict=True):
        index = column_counts[column]
        column_counts[column] += 1
        y = height / 2 + (index + 1) // 2 * step * (1 if index % 2 else -1)
        verdict = "holds" if margin.holds else "fails"
        text = f"item {margin.item}: {bits(margin.value)} {unit}, {verdict}"
        dots.append(StripDot(margin, round(STRIP_EDGE_PX + (margin.value - low) * scale, 1), round(y, 1), text))
    ends = (bits(low), bits(high))
    return Strip(tuple(dots), round(STRIP_EDGE_PX - low * scale, 1), round(height, 1), *ends)
