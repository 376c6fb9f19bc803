"""The language of SCAN: which commands there are, and the actions that a command means.

A command is one phrase or two: `C → S | S and S | S after S`, `S → V | V twice | V thrice`. A phrase V is a verb, or a
verb with a direction, `opposite` a direction or `around` a direction; `turn` always has a direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple, TypeAlias

from wug.errors import FormulaError, suggestion

Actions: TypeAlias = tuple[str, ...]

VERBS: Mapping[str, Actions] = {
    "walk": ("I_WALK",),
    "look": ("I_LOOK",),
    "run": ("I_RUN",),
    "jump": ("I_JUMP",),
    "turn": (),
}
"""The primitives, and the action of each; `turn` has none beyond that of its direction."""
DIRECTIONS: Mapping[str, Actions] = {"left": ("I_TURN_LEFT",), "right": ("I_TURN_RIGHT",)}
MANNERS = ("opposite", "around")
REPETITIONS: Mapping[str, int] = {"twice": 2, "thrice": 3}
CONJUNCTIONS = ("and", "after")
WORDS = (*VERBS, *DIRECTIONS, *MANNERS, *REPETITIONS, *CONJUNCTIONS)
ACTIONS = tuple(action for actions in (*VERBS.values(), *DIRECTIONS.values()) for action in actions)

TEMPLATES = ("primitive", "direction", "opposite", "around")
"""The four kinds of phrase, from the shortest to the longest: `jump`, `jump left`, `jump opposite left`, `jump around
left`.
"""
ACTIONS_PER_BIN = 8


class ScanPhrase(NamedTuple):
    """A verb with its direction and repetition; what is absent is empty."""

    verb: str
    manner: str = ""
    direction: str = ""
    repetition: str = ""

    @property
    def template(self) -> str:
        """Which of the four templates it is."""
        return self.manner or ("direction" if self.direction else "primitive")

    @property
    def actions(self) -> Actions:
        """What it means."""
        turn, act = DIRECTIONS.get(self.direction, ()), VERBS[self.verb]
        once = (turn + act) * 4 if self.manner == "around" else turn * (1 + (self.manner == "opposite")) + act
        return once * REPETITIONS.get(self.repetition, 1)


class ScanCommand(NamedTuple):
    """One phrase, or two with a conjunction."""

    words: tuple[str, ...]
    phrases: tuple[ScanPhrase, ...]

    @property
    def conjunction(self) -> str:
        """`and`, `after`, or empty."""
        return next((word for word in self.words if word in CONJUNCTIONS), "")

    @property
    def actions(self) -> Actions:
        """What it means."""
        parts = [phrase.actions for phrase in self.phrases]
        return tuple(action for part in (parts[::-1] if self.conjunction == "after" else parts) for action in part)

    @property
    def groups(self) -> dict[str, str]:
        """The groups that results are broken down by."""
        last = -(-len(self.actions) // ACTIONS_PER_BIN) * ACTIONS_PER_BIN
        return {
            "template": max((phrase.template for phrase in self.phrases), key=TEMPLATES.index),
            "direction": self._which(DIRECTIONS),
            "repetition": self._which(REPETITIONS),
            "conjunction": self.conjunction or "none",
            "commands": str(len(self.phrases)),
            "actions": f"{last - ACTIONS_PER_BIN + 1}–{last}",
            "words": str(len(self.words)),
        }

    def _which(self, pair: Mapping[str, object]) -> str:
        known = [word for word in pair if word in self.words]
        return "both" if len(known) > 1 else next(iter(known), "none")


def parse(text: str) -> ScanCommand:
    """Parse a command; FormulaError with the column if it is not one."""
    reader = _Reader(text)
    phrases = [reader.phrase()]
    if reader.take(CONJUNCTIONS):
        phrases.append(reader.phrase())
    if reader.at < len(reader.words):
        raise reader.error("the end of the command" if len(phrases) > 1 else "'and', 'after' or the end")
    return ScanCommand(tuple(reader.words), tuple(phrases))


def answer(text: str) -> str:
    """The actions of a command; empty if it is not one."""
    try:
        return " ".join(parse(text).actions)
    except FormulaError:
        return ""


def commands() -> Iterator[str]:
    """All 20,910 commands."""
    ways = ["", *(f" {way}" for way in DIRECTIONS), *(f" {way} {to}" for way, to in product(MANNERS, DIRECTIONS))]
    phrases = [verb + way for verb in VERBS for way in ways if way or verb != "turn"]
    single = [phrase + often for phrase in phrases for often in ("", *(f" {word}" for word in REPETITIONS))]
    yield from single
    for first, conjunction, second in product(single, CONJUNCTIONS, single):
        yield f"{first} {conjunction} {second}"


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.words, self.at = text, text.split(), 0

    def take(self, known: Mapping[str, object] | tuple[str, ...]) -> str:
        """The next word if it is one of these; otherwise empty."""
        if self.at == len(self.words) or self.words[self.at] not in known:
            return ""
        self.at += 1
        return self.words[self.at - 1]

    def phrase(self) -> ScanPhrase:
        verb = self.take(VERBS)
        if not verb:
            raise self.error(f"one of {', '.join(VERBS)}")
        manner, direction = self.take(MANNERS), self.take(DIRECTIONS)
        if not direction and (manner or verb == "turn"):
            raise self.error("'left' or 'right'" if manner else "a direction")
        return ScanPhrase(verb, manner, direction, self.take(REPETITIONS))

    def error(self, expected: str) -> FormulaError:
        if not self.words:
            return FormulaError("the command is empty", self.text, 0, 1)
        word = self.words[self.at] if self.at < len(self.words) else ""
        message = f"{word!r} where {expected} is expected" if word else f"the command ends where {expected} is expected"
        if word and word not in WORDS:
            message = f"unknown word {word!r}.{suggestion(word, WORDS)}"
        return FormulaError.at_word(message, self.text, self.at)
