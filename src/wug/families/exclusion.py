"""Items that the user leaves out of a suite (`-S exclude=…`), by name or by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError, UnknownName
from wug.files import checksum, read_lines, user_path
from wug.options import Option

EXCLUDE = Option("exclude", str, (), "items to leave out: names, GROUP=VALUE, or @FILE with one per line", many=True)
MAX_SIGNATURE_CHARACTERS = 60


class Kept(NamedTuple):
    """The items that are left."""

    places: tuple[int, ...]
    signature: Mapping[str, str]
    """The field `exclude`; empty if nothing was excluded."""
    notices: tuple[str, ...]


def kept(text: str | None, items: Sequence[tuple[str, Mapping[str, str]]], file: Path) -> Kept:
    """The items, given by name and groups, that `exclude` leaves; an unknown name is an error."""
    rules = [rule for word in EXCLUDE.read(text or "") for rule in _read(word)]
    if not rules:
        return Kept(tuple(range(len(items))), {}, ())
    gone: set[int] = set()
    for rule in rules:
        field, _, value = rule.partition("=")
        matching = {index for index, (name, groups) in enumerate(items) if name == rule or groups.get(field) == value}
        if not matching:
            groups = {f"{name}={value}" for _, known in items for name, value in known.items()}
            known = groups if "=" in rule else {name for name, _ in items}
            raise UnknownName("item to exclude", rule, known)
        gone |= matching
    if len(gone) == len(items):
        raise InputError(f"exclude={text}: no item is left", file=file)
    written = ",".join(dict.fromkeys(rules)).replace("|", "/")
    signature = written if len(written) <= MAX_SIGNATURE_CHARACTERS else f"{len(gone)} items@{checksum(written)}"
    places = tuple(index for index in range(len(items)) if index not in gone)
    return Kept(places, {"exclude": signature}, (f"{len(gone):,} of {len(items):,} items excluded (exclude={text})",))


def _read(word: str) -> list[str]:
    if not word.startswith("@"):
        return [word]
    return [line.strip() for line in read_lines(user_path(word[1:])) if line.strip()]
