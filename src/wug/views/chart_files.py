"""Charts in files and notebooks: their size, font size, palette, names of models and titles."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError, UnknownName
from wug.files import write_bytes
from wug.formatting import escape_controls
from wug.labels import short_names
from wug.outcomes import Result
from wug.views import vega
from wug.views.vega import PALETTE, WIDTH_PX

if TYPE_CHECKING:
    import altair

    from wug.views.parts import Figure

FONT_SIZE = 12
PALETTES: Mapping[str, tuple[str, ...]] = {
    "default": PALETTE,
    "grey": ("#1a1a1a", "#6e6e6e", "#a3a3a3", "#404040", "#8a8a8a", "#bdbdbd"),
    "okabe-ito": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442"),
}
MAX_PX, MAX_FONT_SIZE = 4000, 72
MAX_TITLE_CHARACTERS = 105
"""Characters of a line of a title."""


@dataclass(frozen=True, slots=True)
class ChartStyle:
    """How a chart looks; None for the default."""

    width: int | None = None
    """Pixels, without labels of the axes."""
    height: int | None = None
    font_size: int | None = None
    palette: str | Sequence[str] | None = None
    """A name, or colours such as `#0072b2`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Names of models, by id or short name."""

    def __post_init__(self) -> None:
        bounds = (("width", self.width, MAX_PX), ("height", self.height, MAX_PX))
        for name, value, maximum in (*bounds, ("font size", self.font_size, MAX_FONT_SIZE)):
            if value is not None and not 1 <= value <= maximum:
                raise InputError(f"{name} {value}: write a whole number from 1 to {maximum:,}")
        self.colours  # noqa: B018 (a wrong palette is an error)

    @property
    def colours(self) -> tuple[str, ...]:
        """The palette."""
        if self.palette is None:
            return PALETTE
        colours = self.palette.split(",") if isinstance(self.palette, str) else list(self.palette)
        if len(colours) == 1 and not colours[0].startswith("#"):
            if colours[0] not in PALETTES:
                raise UnknownName("palette", colours[0], PALETTES)
            return PALETTES[colours[0]]
        if invalid_colour := next((colour for colour in colours if not re.fullmatch(r"#[0-9A-Fa-f]{6}", colour)), None):
            raise InputError(
                f"palette {invalid_colour!r}: write colours such as #0072b2, or one of {', '.join(PALETTES)}"
            )
        return tuple(colours)

    @property
    def title_characters(self) -> float:
        """How many more characters than usual a line of a title has room for, as a factor."""
        return (self.width or WIDTH_PX) / WIDTH_PX * FONT_SIZE / (self.font_size or FONT_SIZE)

    def relabelled(self, results: Sequence[Result]) -> list[Result]:
        """The results with the names of their models."""
        names = short_names(result.model for result in results)
        known_names = {*names, *names.values()}
        if unknown_name := next((name for name in self.labels if name not in known_names), None):
            raise UnknownName("model", unknown_name, known_names)
        relabelled = []
        for result in results:
            label = self.labels.get(result.model, self.labels.get(names[result.model]))
            # A slash would be read as the end of a backend's name.
            relabelled.append(replace(result, model=label.replace("/", "\N{DIVISION SLASH}")) if label else result)
        return relabelled

    def apply(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A styled Vega-Lite specification with this style."""
        styled_spec = dict(spec)
        parts = [dict(part) for part in styled_spec.get("vconcat", ())] or [styled_spec]
        for part in parts:
            part |= {key: value for key, value in (("width", self.width), ("height", self.height)) if value is not None}
        if "vconcat" in styled_spec:
            styled_spec["vconcat"] = parts
        config = _scale_fonts(styled_spec["config"], (self.font_size or FONT_SIZE) / FONT_SIZE)
        marks = {name: {**config["style"][name], "color": self.colours[0]} for name in ("dot", "interval")}
        colours = {"range": {**config["range"], "category": list(self.colours)}, "style": {**config["style"], **marks}}
        return {**styled_spec, "config": {**config, **colours}}


def titled_chart(figure: Figure, room: float = 1.0) -> altair.LayerChart:
    """The chart of a figure for a file, with a title that says what it shows; `room` is the width of its lines."""
    chart: altair.LayerChart = figure.chart.properties(title=title(figure.title, figure.about, figure.note, room=room))
    return chart


def title(text: str, *about: str, room: float = 1.0) -> dict[str, list[str]]:
    """The title of a chart, and lines below it that say what it shows."""
    width = max(20, int(MAX_TITLE_CHARACTERS * room))
    heading, *subtitles = (textwrap.wrap(escape_controls(part), width) for part in (text, *about))
    return {"text": heading, "subtitle": [*itertools.chain(*subtitles)]}


def stack_charts(panels: Sequence[altair.LayerChart]) -> altair.VConcatChart:
    """Charts below each other, each with its own scale."""
    alt = vega.altair()
    copies = [panel.copy(deep=False) for panel in panels]
    for panel in copies:
        panel.usermeta = alt.Undefined  # which a panel cannot have
    return alt.vconcat(*copies).resolve_scale(x="independent", y="independent")


def stack_figures(figures: Iterable[Figure]) -> altair.VConcatChart:
    """The charts of figures below each other, each with its title."""
    return stack_charts([titled_chart(figure) for figure in figures])


def require(path: Path | None = None) -> None:
    """Raise an error if charts cannot be drawn here, or not into a file of this name."""
    if path is not None and path.suffix.lower() not in vega.CHART_WRITERS:
        suffixes = ", ".join(vega.CHART_WRITERS)
        raise InputError(f"unknown kind of chart file {path.suffix.lower()!r}. Use one of {suffixes}", file=path)
    vega.altair()
    vega.vl_convert()


def save(
    chart: altair.LayerChart | altair.VConcatChart, path: Path, style: Callable[[dict[str, Any]], dict[str, Any]] = dict
) -> None:
    """Write a chart in the format of the suffix: .svg, .png, .pdf, .html (works offline) or .json (Vega-Lite).

    `style` changes its specification.
    """
    require(path)
    write_bytes(path, vega.CHART_WRITERS[path.suffix.lower()](style(vega.spec(chart))))


def _scale_fonts(value: object, factor: float) -> Any:
    """A configuration with its font sizes multiplied."""
    if not isinstance(value, dict):
        return value
    return {
        key: round(entry * factor, 1) if key.lower().endswith("fontsize") else _scale_fonts(entry, factor)
        for key, entry in value.items()
    }
