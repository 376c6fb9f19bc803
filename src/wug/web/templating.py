"""Jinja environment of the site: its own templates and those it shares with the report."""

from __future__ import annotations

import functools
import json
import re
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import JSONResponse

from wug.types import Value
from wug.views.numbers import number
from wug.views.page import add_view_filters

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@functools.cache
def environment() -> Environment:
    """The Jinja environment; a template of the site overrides one of the report with the same name."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("wug.web", "templates"), PackageLoader("wug.views", "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    add_view_filters(made)
    made.filters["local_time"] = local_time
    made.filters["urlquote"] = lambda text: quote(str(text), safe="", errors="replace")
    made.globals["verdict"] = verdict
    made.tests["printable"] = lambda text: make_printable(text) == text
    return made


@functools.cache
def template_names() -> frozenset[str]:
    """Names of the site's own templates."""
    return frozenset(PackageLoader("wug.web", "templates").list_templates())


def make_printable(text: str) -> str:
    """Replace control characters by their Unicode pictures, and lone surrogates by U+FFFD."""
    return _UNPRINTABLE.sub(_replacement, text)


class JsonResponse(JSONResponse):
    """JSON in ASCII, so that lone surrogates survive."""

    def render(self, content: Any) -> bytes:
        """Serialise the content."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def local_time(text: str | None) -> str:
    """A timestamp of the store in short form, in local time; other text unchanged."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    local = moment.astimezone() if moment.tzinfo else moment.replace(tzinfo=UTC).astimezone()
    return local.strftime("%-d %b %Y, %H:%M")


def verdict(value: Value) -> Markup:
    """HTML for the value of an outcome: a coloured word, or a number."""
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


def _replacement(found: re.Match[str]) -> str:
    code = ord(found[0])
    return "\u2421" if code == 0x7F else chr(0x2400 + code) if code < 0x20 else "\ufffd"
