"""The template language: `the {person.N} [{verb.N}|*{verb.-N}].` as a list of parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wug.errors import FormulaError

_SLOT = re.compile(r"(?P<word>[^\W\d]\w*?)(?P<number>\d*)(?P<features>(?:\.-?\w+(?::\w+)?)*)")
_FEATURE = re.compile(r"(?P<other>-?)(?P<name>\w+)(?::(?P<column>\w+))?")


@dataclass(frozen=True, slots=True)
class Feature:
    """One part of the name of a form."""

    name: str
    """A value (`sing`), a feature that varies (`N`), or a slot whose column is meant (`noun` of `noun:gender`)."""
    other: bool = False
    """`-N`: any value but that of N."""
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for a word of the lexicon."""

    name: str
    """`person2`; slots of the same name hold the same word."""
    word_class: str
    """`person`."""
    features: tuple[Feature, ...]


Piece = str | Slot


@dataclass(frozen=True, slots=True)
class Contrast:
    """What tells the sentences apart: the right words, then the wrong ones."""

    right: tuple[Piece, ...]
    wrong: tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed text: every sentence that it stands for has these parts in this order."""

    parts: tuple[Piece | Contrast, ...]

    @property
    def foils(self) -> int:
        """How many wrong sentences there are for a right one."""
        return max(len(part.wrong) for part in self.parts if isinstance(part, Contrast))

    def right(self) -> list[Piece]:
        """The pieces of the right sentence."""
        return [piece for part in self.parts for piece in (part.right if isinstance(part, Contrast) else (part,))]

    def wrong(self, foil: int) -> list[Piece]:
        """The pieces of one of the wrong sentences."""
        return [piece for part in self.parts for piece in (part.wrong[foil] if isinstance(part, Contrast) else (part,))]


def parse(text: str) -> Template:
    """A text of the template language, or a FormulaError with a caret under the fault."""
    parts: list[Piece | Contrast] = []
    for start, chunk in _chunks(text):
        if chunk.startswith("["):
            parts.append(_contrast(text, start, chunk[1:-1]))
        else:
            parts += _pieces(text, start, chunk)
    counts = {len(part.wrong) for part in parts if isinstance(part, Contrast)}
    if not counts:
        raise FormulaError("nothing tells the sentences apart; write [right|*wrong]", text, 0, len(text))
    if len(counts) > 1:
        raise FormulaError("every bracket needs as many starred alternatives as the others", text, 0, len(text))
    return Template(tuple(parts))


def slots(pieces: Sequence[Piece]) -> Iterator[Slot]:
    """The slots among some pieces."""
    return (piece for piece in pieces if isinstance(piece, Slot))


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Brackets, and what stands between them, with their places."""
    at = 0
    for found in re.finditer(r"\[[^\[\]]*\]", text):
        yield at, text[at : found.start()]
        yield found.start(), found.group()
        at = found.end()
    yield at, text[at:]


def _contrast(text: str, start: int, inside: str) -> Contrast:
    alternatives: list[tuple[Piece, ...]] = []
    at = start + 1
    for number, alternative in enumerate(inside.split("|")):
        starred = alternative.startswith("*")
        if starred != (number > 0):
            why = "the first alternative is the right one and has no star" if starred else "a wrong form needs a star"
            raise FormulaError(why, text, at, at + len(alternative))
        alternatives.append(tuple(_pieces(text, at + starred, alternative[starred:])))
        at += len(alternative) + 1
    if len(alternatives) < 2:
        raise FormulaError("a bracket needs a wrong alternative: [right|*wrong]", text, start, at)
    return Contrast(alternatives[0], tuple(alternatives[1:]))


def _pieces(text: str, start: int, chunk: str) -> Iterator[Piece]:
    at = 0
    for found in re.finditer(r"\{([^{}]*)\}", chunk):
        yield from _literal(text, start + at, chunk[at : found.start()])
        yield _slot(text, start + found.start(1), found.group(1))
        at = found.end()
    yield from _literal(text, start + at, chunk[at:])


def _literal(text: str, start: int, words: str) -> Iterator[str]:
    if stray := re.search(r"[\[\]{}|*]", words):
        place = start + stray.start()
        raise FormulaError(f"a {stray.group()!r} that belongs to nothing", text, place, place + 1)
    if words:
        yield words


def _slot(text: str, start: int, inside: str) -> Slot:
    found = _SLOT.fullmatch(inside)
    if found is None:
        raise FormulaError("not a word of the lexicon: write {class} or {class.form}", text, start, start + len(inside))
    features = []
    for part in found["features"].split(".")[1:]:
        feature = _FEATURE.fullmatch(part)
        if feature is None or (feature["other"] and feature["column"]):
            raise FormulaError(f"{part!r} is no form", text, start, start + len(inside))
        features.append(Feature(feature["name"], bool(feature["other"]), feature["column"]))
    return Slot(found["word"] + found["number"], found["word"], tuple(features))
