"""Templates: those of the site, and those of the report behind them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wug.types import Value


@functools.cache
def environment() -> Environment:
    """The one environment; a template of the site goes before one of the report with the same name."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("wug.web", "templates"), PackageLoader("wug.report", "templates")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "ensure_ascii": False}
    made.filters["count"] = count
    made.filters["when"] = when
    made.filters["part"] = lambda text: quote(str(text), safe="")
    made.filters["plural"] = plural
    made.filters["named"] = named
    made.globals["verdict"] = verdict
    made.tests["nested"] = lambda value: isinstance(value, Mapping)
    made.tests["listed"] = lambda value: isinstance(value, list | tuple)
    return made


@functools.cache
def own() -> frozenset[str]:
    """The names of the site's own templates."""
    return frozenset(PackageLoader("wug.web", "templates").list_templates())


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


def plural(number: int, one: str, many: str = "") -> str:
    """`1 item`, `1,200 items`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


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
            kind, word = "number", f"{value:.4g}"
    return Markup('<span class="verdict {}">{}</span>').format(kind, word)
