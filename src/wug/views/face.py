"""The text face of every page: Inter 4.1 (fonts/LICENSE.txt), its Latin letters and figures in one small file.

Made with fontTools from InterVariable: `opsz=14`, `wght=400:700`, Latin, punctuation, arrows, signs, and the features
kern, liga, calt, ccmp, locl, mark, mkmk, tnum, case, frac, zero. Other letters are the system's.
"""

from __future__ import annotations

import base64
from importlib import resources

_RULE = (
    '@font-face {{ font-family: Inter; font-weight: 400 700; font-display: swap; src: url("{}") format("woff2"); }}\n'
)


def css(address: str) -> str:
    """The rule that loads it from an address."""
    return (
        "@font-face { font-family: Inter; font-weight: 400 700; font-display: swap; "
        f'src: url("{address}") format("woff2"); }}\n'
    )


def inline() -> str:
    """An address that holds it whole."""
    return f"data:font/woff2;base64,{base64.b64encode(woff2()).decode()}"


def woff2() -> bytes:
    """The file."""
    return (resources.files("wug.views") / "fonts" / "inter.woff2").read_bytes()
