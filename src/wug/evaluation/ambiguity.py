"""Names that could mean two things: both are told, and neither is taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.files import existing


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a name stands for, and how to write it so that nothing else can be meant."""

    what: str
    written: str


def refuse_ambiguous(name: str, others: Iterable[Meaning]) -> None:
    """An error where a file or folder is called like something else, unless the name is written as a path."""
    path = existing(name)
    if path is None or name.startswith((".", "~")) or Path(name).is_absolute():
        return
    what = "folder" if path.is_dir() else "file"
    for other in others:
        raise InputError(
            f"{name} could mean two things: the {what} {name} here, which is written ./{name}, and {other.what}, "
            f"which is written {other.written}"
        )
