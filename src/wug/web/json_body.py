"""What a page sends as JSON, checked before anything is done with it."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from wug.errors import InputError

DEPTH = 60
"""Objects and lists inside one another; a suite needs six."""
LATEST = 8_640_000_000_000_000
"""The last millisecond that a browser's clock can show."""

_HALVES = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def received(body: bytes) -> dict[str, Any]:
    """The object that was sent; InputError where it is none, or holds what no file can keep."""
    try:
        given = json.loads(body or b"{}", parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        raise InputError("what was sent is not JSON") from None
    if not isinstance(given, dict):
        raise InputError("what was sent is not an object")
    _check(given, halves=_ESCAPED_HALF.search(body) is not None)
    return given


def moment(given: dict[str, Any], key: str) -> int:
    """A time in milliseconds since 1970."""
    found = given.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= LATEST:
        raise InputError(f"{key!r} should be a time in milliseconds since 1970")
    return found


def revision(given: dict[str, Any], key: str) -> int | None:
    """How often a draft had been written when the page saw it; None where it has not seen it."""
    found = given.get(key)
    if found is not None and (isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= LATEST):
        raise InputError(f"{key!r} should be a number of times, or null")
    return found


def without_halves(text: str) -> str:
    """The text with a mark for each half of a character (a lone surrogate), which no file or page can hold."""
    return _HALVES.sub("\ufffd", text)


def _check(given: dict[str, Any], *, halves: bool) -> None:
    level: list[Any] = [given]
    for _ in range(DEPTH):
        inner: list[Any] = []
        for one in level:
            texts = [*one, *one.values()] if isinstance(one, dict) else one
            if halves and (found := next((t for t in texts if isinstance(t, str) and _HALVES.search(t)), None)):
                raise InputError(f"{found[:80]!r} holds half a character: write it again")
            inner += [t for t in texts if isinstance(t, dict | list)]
        if not inner:
            return
        level = inner
    raise InputError(f"what was sent has more than {DEPTH} lists and objects inside one another")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that can be kept")
    return number


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is no JSON")
