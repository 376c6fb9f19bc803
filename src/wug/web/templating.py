"""Templates: those of the site, and those of the report behind them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import JSONResponse

from wug.show.marked import direction_of, runs_of
from wug.show.numbers import number, plain
from wug.show.page import plural
from wug.show.strip import strip
from wug.types import Value

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@functools.cache
def environment() -> Environment:
    """The one environment; a template of the site goes before one of the report with the same name."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("wug.web", "templates"), PackageLoader("wug.show", "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    made.filters["count"] = count
    made.filters["kind"] = lambda part: type(part).__name__
    made.filters["plain"] = plain
    made.filters["when"] = when
    made.filters["part"] = lambda text: quote(str(text), safe="", errors="replace")
    made.filters["plural"] = plural
    made.filters["named"] = named
    made.filters["direction"] = direction_of
    made.filters["runs"] = runs_of
    made.filters["strip"] = strip
    made.globals["verdict"] = verdict
    made.tests["nested"] = lambda value: isinstance(value, Mapping)
    made.tests["whole"] = lambda text: visible(text) == text
    made.tests["listed"] = lambda value: isinstance(value, list | tuple)
    return made


@functools.cache
def own() -> frozenset[str]:
    """The names of the site's own templates."""
    return frozenset(PackageLoader("wug.web", "templates").list_templates())


def visible(text: str) -> str:
    """The text with a picture for each control character, and a mark for each half of a character."""
    return _UNSEEN.sub(_picture, text)


class Json(JSONResponse):
    """Data for a program, in ASCII: halves of characters stay what they are."""

    def render(self, content: Any) -> bytes:
        """The data as bytes."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def count(number: int) -> str:
    """A number with its thousands parted."""
    return f"{number:,}"


@dataclass(frozen=True, slots=True)
class Named:
    """A model's identity taken apart: `causal/gpt2@607a30d`."""

    kind: str
    name: str
    mark: str


def named(model: str) -> Named:
    """Kind, name and fingerprint of a model; what has another shape is all name."""
    kind, slash, rest = model.partition("/")
    name, at, mark = rest.rpartition("@")
    if not slash or not rest:
        return Named("", model, "")
    return Named(kind, name, mark) if at and name else Named(kind, rest, "")


def when(text: str | None) -> str:
    """A moment of the store in short, in the time of this machine; anything else as it is."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    local = moment.astimezone() if moment.tzinfo else moment.replace(tzinfo=UTC).astimezone()
    return local.strftime("%-d %b %Y, %H:%M") if local else text


def verdict(value: Value) -> Markup:
    """A judgement as a mark in colour and in words, a measurement as a number."""
    match value:
        case True:
            kind, word = "true", "passes"
        case False:
            kind, word = "false", "fails"
        case None:
            kind, word = "none", "not judged"
        case _:
            kind, word = "number", number(value)
    return Markup('<span class="verdict {}">{}</span>').format(kind, word)


def _picture(found: re.Match[str]) -> str:
    number = ord(found[0])
    return "\u2421" if number == 0x7F else chr(0x2400 + number) if number < 0x20 else "\ufffd"
