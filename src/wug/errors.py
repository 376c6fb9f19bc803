"""Exceptions whose text is meant for the user.

WugError                 the root; the command line prints it and exits with 1
├── InputError           a file or a value that cannot be used, with its location
│   ├── FormulaError     a prediction that cannot be read, with a caret under the error
│   ├── UnknownMember    an attribute that another program has (also an AttributeError)
│   └── SuiteError       a suite with errors, all of them listed
├── UnknownName          an unknown name, with the nearest known one
│   └── UnknownOption    an unknown option, with all known ones
├── ModelError           a model that cannot be loaded or run
├── MissingExtra         an optional package that is not installed
├── BrokenPlugin         a plugin that cannot be imported
├── DataError            a published set that cannot be fetched, or was changed
│   └── NotFetched       a published set that is missing, with the command that fetches it
└── StoreError           the run store cannot be read or written
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wug.problems import Problem


class WugError(Exception):
    """Anything that the user can act on; its text says what happened, where, and what to do.

    Examples:
        >>> try:
        ...     wug.open_suites("wug_agreemnt")
        ... except wug.WugError as error:
        ...     message = str(error)
    """


class InputError(WugError):
    """A file or a value that cannot be used."""

    def __init__(self, message: str, *, file: object = None, place: str | None = None) -> None:
        self.message = message
        self.file = None if file is None else str(file)
        self.place = place
        where = ", ".join(part for part in (self.file, place) if part)
        super().__init__(f"{where}: {message}" if where else message)


class FormulaError(InputError):
    """A prediction that cannot be read; `start` and `end` are the columns of the error in `formula`."""

    def __init__(
        self,
        message: str,
        formula: str,
        start: int,
        end: int,
        *,
        file: object = None,
        place: str | None = None,
    ) -> None:
        self.formula, self.start, self.end = formula, start, end
        super().__init__(f"{message}\n{caret(formula, start, end)}", file=file, place=place)
        self.message = message

    @classmethod
    def at_word(cls, message: str, formula: str, position: int, **where: Any) -> FormulaError:
        """The error at the word with an index, or at the end; `where` may name the file and the place."""
        spans = [match.span() for match in re.finditer(r"\S+", formula)]
        end = len(formula.rstrip())
        return cls(message, formula, *(spans[position] if position < len(spans) else (end, end + 1)), **where)


class SuiteError(InputError):
    """A suite with errors; `problems` lists them."""

    def __init__(self, problems: Sequence[Problem], *, file: object) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        count = len(self.problems)
        super().__init__(f"{count} error{'s' if count != 1 else ''} in this suite\n{lines}", file=file)


class UnknownName(WugError):
    """An unknown name, with the nearest known one."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.what, self.name, self.known = what, name, sorted(known)
        super().__init__(f"unknown {what} {name!r}.{suggestion(name, self.known)}")


class UnknownOption(UnknownName):
    """An unknown option, with the nearest one and all known ones."""

    def __init__(self, name: str, of: str, known: Iterable[str]) -> None:
        names = list(known)
        super().__init__("option", name, names)
        near = nearest(name, names)
        meant = f" Did you mean {near!r}?" if near else ""
        there = f"Options: {', '.join(names)}" if names else "It has none"
        self.args = (f"unknown option {name!r} of {of}.{meant} {there}",)


class UnknownMember(InputError, AttributeError):
    """An attribute that another program has, with what to write instead."""


class ModelError(WugError):
    """A model that cannot be loaded or run."""


class MissingExtra(WugError):
    """An optional package that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs packages that are not installed: pip install 'wug[{extra}]', or '.[{extra}]' in a clone"
        )


@contextmanager
def needs_extra(purpose: str, extra: str) -> Iterator[None]:
    """Raise MissingExtra if a package that is imported in the block is not installed."""
    try:
        yield
    except ImportError:
        raise MissingExtra(purpose, extra) from None


class BrokenPlugin(WugError):
    """A plugin that cannot be imported."""

    def __init__(self, name: str, package: str, error: BaseException) -> None:
        super().__init__(
            f"{name!r}, which the package {package} adds, cannot be used ({type(error).__name__}: {error}). Repair the "
            "package, or remove it"
        )


class DataError(WugError):
    """A published set that cannot be fetched, or was changed."""


class NotFetched(DataError):
    """A published set that is missing, with the command that fetches it."""


class StoreError(WugError):
    """The run store cannot be read or written."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of an error message: " Did you mean 'x'?", or the names that exist, or nothing."""
    names = list(known)
    near = nearest(name, names)
    if near:
        return f" Did you mean {near!r}?"
    if not names:
        return ""
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f" There is: {shown}"


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known name that is most similar to `name`, whatever its case, or None."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.65)
    folded = {candidate.casefold(): candidate for candidate in reversed(known)}
    near = near or [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.65)]
    return next(iter(near), None)


def caret(text: str, start: int, end: int) -> str:
    """`text` indented by four, with carets under its characters `start:end`; a long text is cut around them."""
    first = max(0, start - _AROUND) if len(text) > 2 * _AROUND else 0
    last = min(len(text), max(start + 1, min(end, start + _AROUND)) + _AROUND) if len(text) > 2 * _AROUND else len(text)
    end = min(end, max(last, start + 1))
    # Characters that are not printed as one would move the carets.
    shown = "".join(ch if ch.isprintable() else " " for ch in text[first:last])
    before, after = "… " if first else "", " …" if last < len(text) else ""
    return f"    {before}{shown}{after}\n    {' ' * (len(before) + start - first)}{'^' * max(1, end - start)}"


_AROUND = 300
"""Characters shown on either side of an error."""


def first_line(error: BaseException, most: int = 300) -> str:
    """The first line of a library's message, without PyTorch's advice to load pickled code."""
    text = (str(error).strip() or type(error).__name__).split("\n")[0]
    if "weights_only" in str(error):
        return "a file of weights is damaged, or has more in it than tensors. Nothing in it was run"
    return text[:most]
