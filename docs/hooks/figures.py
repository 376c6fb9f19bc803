"""Figures in the colours of the page: each SVG is shown as it is in light mode, and in a dark copy in dark mode."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

STYLES = Path(__file__).resolve().parents[2] / "src/wug/views"
_IMAGE = re.compile(r'<img (?P<before>[^>]*)src="(?P<name>[^"]*(?:images|gallery)/[\w-]+)\.svg"(?P<after>[^>]*?)/?>')
_COLOUR = re.compile(r"--([\w-]+):\s*(#[0-9a-f]{6})")
_MEDIA = "@media (prefers-color-scheme: dark)"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add a light and a dark copy of each figure, and the typeface of the program's pages."""
    files.append(File.generated(config, "style/inter.woff2", content=(STYLES / "fonts/inter.woff2").read_bytes()))
    dark = _dark_colours()
    for file in [file for file in files if re.fullmatch(r"(images|gallery)/[\w-]+\.svg", file.src_uri)]:
        name, drawn = file.src_uri.removesuffix(".svg"), file.content_string
        files.append(File.generated(config, f"{name}-light.svg", content=drawn.replace(_MEDIA, "@media not all")))
        drawn = re.sub("|".join(dark), lambda found: dark[found[0]], drawn)
        files.append(File.generated(config, f"{name}-dark.svg", content=drawn.replace(_MEDIA, "@media all")))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Show both copies of each figure; the style sheet hides the one that does not fit."""

    def both(found: re.Match[str]) -> str:
        attributes = re.sub(r'class="[^"]*"', "", found["before"] + found["after"])
        return "".join(
            f'<img class="figure {scheme}" loading="lazy" src="{found["name"]}-{scheme}.svg" {attributes}>'
            for scheme in ("light", "dark")
        )

    return _IMAGE.sub(both, html)


def _dark_colours() -> dict[str, str]:
    """The colours of charts in dark mode by those of light mode, from the program's style sheet."""
    light, dark = (STYLES / "templates/page.css").read_text(encoding="utf-8").split("@media screen", 1)
    by_name, in_dark = dict(_COLOUR.findall(light)), dict(_COLOUR.findall(dark.split("* {", 1)[0]))
    charts = {colour: in_dark[name] for name, colour in by_name.items() if name.startswith("chart-")}
    return charts | {'fill="white"': f'fill="{in_dark["paper"]}"'}
