"""Options of families, backends and training: declared once as a tuple of `Option`, and read from text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from wug.errors import InputError, UnknownOption, nearest
from wug.files import shortened, user_path

OptionType: TypeAlias = type[bool] | type[int] | type[float] | type[str] | type[Path] | tuple[str, ...]
"""The type of a value; a tuple of words to choose from."""

YES, NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of how a suite is scored, or a model is loaded or trained."""

    name: str
    type: OptionType = str
    default: Any = None
    """None if it depends on something else, which `help` describes."""
    help: str = ""
    least: float | None = None
    most: float | None = None
    many: bool = False
    """Whether several values may be given, separated by commas."""

    def read(self, text: str) -> Any:
        """The value of a text, or an InputError that says what may be written."""
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
        """The help, the choices and the default, in one line."""
        choice = [self.values.replace(", ", "|")] if isinstance(self.type, tuple) or self.type is bool else []
        default = [] if self.default in (None, "", ()) else [f"default: {written(self.default)}"]
        return self.help + (f"  [{'; '.join(choice + default)}]" if choice or default else "")

    def _value(self, text: str, whole: str) -> Any:
        value = _READERS.get(self.type, _word)(text, self)
        if value is _INVALID or (isinstance(value, int | float) and not self._is_in_range(value)):
            raise self._refusal(whole)
        return value

    def _is_in_range(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def _refusal(self, text: str) -> InputError:
        if isinstance(self.type, tuple):
            near = next((found for part in text.split(",") if (found := nearest(part.strip(), self.type))), None)
            several = ", or several separated by commas" if self.many else ""
            meant = "" if near is None else f". Did you mean {near!r}?"
            expected = f"use one of {self.values}{several}{meant}"
        elif self.type is bool:
            expected = "write yes or no"
        else:
            expected = f"write {self.values}{self._bounds}"
        return InputError(f"{self.name}={shortened(text)}: {expected}")

    @property
    def _bounds(self) -> str:
        if self.least is not None and self.most is not None:
            return f" from {self.least:,.10g} to {self.most:,.10g}"
        return "" if self.least is None else f", {self.least:,.10g} or more"


def names(options: Iterable[Option]) -> list[str]:
    """The names of the options."""
    return [option.name for option in options]


def read(options: Iterable[Option], values: Mapping[str, str], what: str) -> dict[str, Any]:
    """The value of every option of `what`, or its default; UnknownOption for a name that is not among them."""
    refuse_unknown(values, names(options), what)
    return {
        option.name: option.read(values[option.name]) if option.name in values else option.default for option in options
    }


def refuse_unknown(names: Iterable[str], known: Iterable[str], what: str) -> None:
    """UnknownOption for the first name that is not known."""
    known = list(known)
    for name in names:
        if name not in known:
            raise UnknownOption(name, what, known)


def table(options: Iterable[Option], *, flags: bool = False) -> str:
    """The options as a Markdown table; with `flags`, as flags of a command line."""
    rows = ["| option | values | default | meaning |", "|---|---|---|---|"]
    for option in options:
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
    return text.replace("|", r"\|").replace("<", "&lt;")


_INVALID = object()


def _number(text: str, option: Option) -> Any:
    try:
        value = float(text)
    except ValueError:
        return _INVALID
    return value if math.isfinite(value) else _INVALID


def _word(text: str, option: Option) -> Any:
    """One of the words; yes and no in any spelling, if they are among them."""
    words = option.type if isinstance(option.type, tuple) else ()
    if text in words:
        return text
    spelt = next((group[0] for group in (YES, NO) if text.lower() in group), None)
    return spelt if spelt in words else _INVALID


_READERS: dict[OptionType, Callable[[str, Option], Any]] = {
    bool: lambda text, option: text.lower() in YES if text.lower() in (*YES, *NO) else _INVALID,
    int: lambda text, option: int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()) else _INVALID,
    float: _number,
    str: lambda text, option: text,
    Path: lambda text, option: user_path(text) if text else None,  # as if not given
}
