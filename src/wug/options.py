"""Options that are declared once: read from text, refused with one kind of message, told of in one kind of table.

Families, backends and training say what options they have as a tuple of `Option`. A package from outside may still
give a mapping of names to help: its options are text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from wug.errors import InputError, UnknownOption, nearest
from wug.files import shortened, user_path

Kind: TypeAlias = type[bool] | type[int] | type[float] | type[str] | type[Path] | tuple[str, ...]
"""What a value is; a tuple has the words to choose from."""

YES, NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")


@dataclass(frozen=True, slots=True)
class Option:
    """Something that a user may say about how a suite is scored, a model loaded or trained."""

    name: str
    type: Kind = str
    default: Any = None
    """None: it goes by something else, which `help` tells."""
    help: str = ""
    least: float | None = None
    most: float | None = None
    many: bool = False
    """Whether several values may be given, with commas between them."""
    aliases: tuple[str, ...] = ()
    """Former names, which a command line still takes."""

    def read(self, text: str) -> Any:
        """The value that the text stands for, or an InputError that says what may be written."""
        if not isinstance(text, str):  # from Python
            raise InputError(f"{self.name}={text!r}: options are text, as on the command line: {written(text)!r}")
        if not self.many:
            return self._value(text, text)
        parts = tuple(self._value(part.strip(), text) for part in text.split(",") if part.strip())
        if not parts and isinstance(self.type, tuple):
            raise self._refusal(text)
        return parts

    @property
    def values(self) -> str:
        """What may be written, in words."""
        if isinstance(self.type, tuple):
            return ", ".join(self.type)
        return {bool: "yes, no", int: "a whole number", float: "a number", Path: "a file"}.get(self.type, "text")

    @property
    def described(self) -> str:
        """The help, the words to choose from and the default, in a line."""
        choice = [self.values.replace(", ", "|")] if isinstance(self.type, tuple) or self.type is bool else []
        default = [] if self.default in (None, "", ()) else [f"default: {written(self.default)}"]
        return self.help + (f"  [{'; '.join(choice + default)}]" if choice or default else "")

    def _value(self, text: str, whole: str) -> Any:
        value = _READERS.get(self.type, _word)(text, self)
        if value is _NOTHING or (isinstance(value, int | float) and not self._within(value)):
            raise self._refusal(whole)
        return value

    def _within(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def _refusal(self, text: str) -> InputError:
        if isinstance(self.type, tuple):
            near = next((found for part in text.split(",") if (found := nearest(part.strip(), self.type))), None)
            several = ", or several with commas between them" if self.many else ""
            meant = "" if near is None else f". Did you mean {near!r}?"
            wanted = f"use one of {self.values}{several}{meant}"
        elif self.type is bool:
            wanted = "write yes or no"
        else:
            wanted = f"write {self.values}{self._bounds}"
        return InputError(f"{self.name}={shortened(text)}: {wanted}")

    @property
    def _bounds(self) -> str:
        if self.least is not None and self.most is not None:
            return f" from {self.least:,.10g} to {self.most:,.10g}"
        return "" if self.least is None else f", {self.least:,.10g} or more"


Declared: TypeAlias = Iterable[Option] | Mapping[str, str]
"""Options, or, of a package from outside, names with help."""


def declared(options: Declared) -> tuple[Option, ...]:
    """The options, whichever way they are declared."""
    if isinstance(options, Mapping):
        return tuple(Option(name, help=text) for name, text in options.items())
    return tuple(options)


def names(options: Declared) -> list[str]:
    """What the options are called."""
    return [option.name for option in declared(options)]


def read(options: Declared, given: Mapping[str, str], what: str) -> dict[str, Any]:
    """The value of every option of `what`, its default where it is not given; an error for one that there is not."""
    refuse_unknown(given, names(options), what)
    return {
        option.name: option.read(given[option.name]) if option.name in given else option.default
        for option in declared(options)
    }


def refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """UnknownOption for the first name that is not known."""
    known = list(known)
    for name in given:
        if name not in known:
            raise UnknownOption(name, what, known)


def with_defaults(options: Iterable[Option], **defaults: Any) -> tuple[Option, ...]:
    """The options with other defaults."""
    return tuple(replace(one, default=defaults.get(one.name, one.default)) for one in options)


def table(options: Declared, *, flags: bool = False) -> str:
    """The options as a Markdown table; as flags of a command line, `--so-written`."""
    rows = ["| option | values | default | meaning |", "|---|---|---|---|"]
    for option in declared(options):
        name = f"--{option.name.replace('_', '-')}" if flags else option.name
        choices = isinstance(option.type, tuple) or option.type is bool
        values = ", ".join(f"`{word}`" for word in option.values.split(", ")) if choices else option.values
        default = "" if option.default in (None, "", ()) else f"`{written(option.default)}`"
        rows.append(f"| `{name}` | {values} | {default} | {_escaped(option.help)} |")
    return "\n".join(rows)


def written(value: Any) -> str:
    """A value as a user would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    """The text as Markdown of a table's cell."""
    return text.replace("|", r"\|").replace("<", "&lt;")


_NOTHING = object()
"""What a text stands for that is no value."""


def _yes(text: str, option: Option) -> Any:
    word = text.lower()
    return word in YES if word in (*YES, *NO) else _NOTHING


def _whole(text: str, option: Option) -> Any:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()) else _NOTHING


def _number(text: str, option: Option) -> Any:
    try:
        value = float(text)
    except ValueError:
        return _NOTHING
    return value if math.isfinite(value) else _NOTHING


def _path(text: str, option: Option) -> Any:
    return user_path(text) if text else None  # as if it were not given


def _word(text: str, option: Option) -> Any:
    """One of the words; where yes and no are among them, however these are spelt."""
    words = option.type if isinstance(option.type, tuple) else ()
    if text in words:
        return text
    spelt = next((group[0] for group in (YES, NO) if text.lower() in group), None)
    return spelt if spelt in words else _NOTHING


_READERS: dict[Kind, Callable[[str, Option], Any]] = {
    bool: _yes,
    int: _whole,
    float: _number,
    str: lambda text, option: text,
    Path: _path,
}
