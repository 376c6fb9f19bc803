"""The text that a table of pairs was taken from: the `.text` file beside it (Gulordava et al. 2018).

A model that carries its state reads this text, in which a third word often stands in the place of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wug.errors import InputError
from wug.families.pairs.formats.linzen import companion
from wug.families.pairs.pair import Pair, without_eos
from wug.files import read_lines
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Running:
    """Pairs, each with its line in a text."""

    pairs: tuple[Pair, ...]
    lines: tuple[str, ...]


def running(path: Path, pairs: Sequence[Pair]) -> Running | Problem | None:
    """The pairs with their lines in the text beside their file, or why they have none; None where there is no text.

    Its lines are the sentences of the pairs, in the order of the pairs; further ones may stand between them.
    """
    beside = companion(path, "text") if path.is_file() and all(pair.sentence is not None for pair in pairs) else None
    if beside is None:
        return None
    try:
        lines = tuple(read_lines(beside))
    except InputError as error:
        return Problem("warning", "", str(error))
    plain = [" ".join(without_eos(line).split()) for line in lines]
    placed: list[Pair] = []
    number = -1
    for pair in pairs:
        try:
            number = plain.index(str(pair.sentence), number + 1)
        except ValueError:
            after = f"after line {number + 1}" if placed else "in it"
            message = f"{beside.name} does not go with these pairs: there is no {pair.sentence!r} {after}"
            return Problem("warning", f"pair {pair.item}", message)
        placed.append(replace(pair, line=number))
    return Running(tuple(placed), lines)
