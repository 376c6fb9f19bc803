"""How choices are read and scored, as the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.options import Option, read

FORMATS = ("ewok", "comps", "entity-tracking", "table")
COMPARED = ("contexts", "targets")
OPTIONS = (
    Option(
        "normalise",
        ("none", "token", "character", "byte"),
        "none",
        "divide the score of an option by its number of tokens, characters or bytes",
    ),
    Option(
        "join",
        ("space", "none"),
        "space",
        "what is put between a context and an option that have no white space there",
    ),
    Option("compare", COMPARED, "contexts", "of EWoK: a target in both contexts, or both targets in a context"),
    Option("format", FORMATS, None, "of the file; by default what its content is in"),
    Option("context", str, "context", "column with the context, in a table"),
    Option("options", str, (), "column with a list of options, or the columns with an option each", many=True),
    Option("answer", str, "answer", "column that tells the right option: its number, its letter or its text"),
    Option("answers_from", int, 1, "the number of the first option in that column", least=0, most=1),
    Option("item", str, None, "column that names the item; by default `item` if there is one"),
    Option("groups", str, (), "columns to break results down by", many=True),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How choices are read and scored."""

    normalise: str = "none"
    join: str = "space"
    compare: str = "contexts"
    format: str | None = None
    context: str = "context"
    options: tuple[str, ...] = ()
    """Empty: `options`, or `option_1`, `option_2`, …, whichever there is."""
    answer: str = "answer"
    answers_from: int = 1
    item: str | None = None
    groups: tuple[str, ...] = ()

    def signature(self, format: str) -> dict[str, str]:
        """Everything that can change a result."""
        compared = {"compare": self.compare} if format == "ewok" else {}
        return {"normalise": self.normalise, "join": self.join, **compared}


def settings(options: Mapping[str, str]) -> Settings:
    """The options, checked."""
    return Settings(**read(OPTIONS, options, "choices"))
