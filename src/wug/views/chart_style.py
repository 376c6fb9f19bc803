"""Size, font size, palette and names of models of a chart that is written to a file or shown in a notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wug.errors import InputError, UnknownName
from wug.labels import short_names
from wug.types import Result
from wug.views.vega import PALETTE, WIDTH_PX

FONT_SIZE = 12
PALETTES: Mapping[str, tuple[str, ...]] = {
    "default": PALETTE,
    "grey": ("#1a1a1a", "#6e6e6e", "#a3a3a3", "#404040", "#8a8a8a", "#bdbdbd"),
    "okabe-ito": ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442"),
}
MAX_PX, MAX_FONT_SIZE = 4000, 72


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
        styled = dict(spec)
        parts = [dict(part) for part in styled.get("vconcat", ())] or [styled]
        for part in parts:
            part |= {key: value for key, value in (("width", self.width), ("height", self.height)) if value is not None}
        if "vconcat" in styled:
            styled["vconcat"] = parts
        config = _scaled(styled["config"], (self.font_size or FONT_SIZE) / FONT_SIZE)
        marks = {name: {**config["style"][name], "color": self.colours[0]} for name in ("dot", "interval")}
        colours = {"range": {**config["range"], "category": list(self.colours)}, "style": {**config["style"], **marks}}
        return {**styled, "config": {**config, **colours}}


def _scaled(value: object, factor: float) -> Any:
    """A configuration with its font sizes multiplied."""
    if not isinstance(value, dict):
        return value
    return {
        key: round(entry * factor, 1) if key.lower().endswith("fontsize") else _scaled(entry, factor)
        for key, entry in value.items()
    }
