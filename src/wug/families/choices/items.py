"""Items of choices, the options for reading and scoring them, and warnings about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wug.errors import InputError
from wug.families.links import PARAMETERS, TIES, LinkParameters, chosen_links, link_option, link_signature
from wug.families.suite import EXCLUDE
from wug.formatting import first_items, plural
from wug.options import Option, read
from wug.problems import Problem
from wug.requests import Request

CHOICE_LINKS = ("sum", "token", "word", "character", "byte", "penlp", "slln", "pmi")
"""The last one needs further requests, so that `all` leaves it out."""
CHOICE_PARAMETERS = tuple(option for option in PARAMETERS if not option.name.startswith("morcela"))
OPTIONS = (
    Option(
        "normalise",
        ("none", "token", "character", "byte"),
        "none",
        "divide the score of an option by its number of tokens, characters or bytes; the same as link",
    ),
    link_option(*CHOICE_LINKS),
    *CHOICE_PARAMETERS,
    Option("premise", str, "", "pmi: text before an option in place of its context; by default none"),
    Option(
        "join",
        ("space", "none", "always"),
        "space",
        "separator between a context and an option, if there is no white space; always: a space in any case",
    ),
    TIES,
    Option(
        "tokens",
        ("visible", "rest"),
        "visible",
        "tokens of an option: those that begin in it, or all after as many as its context has alone",
    ),
    Option(
        "compare", ("contexts", "targets"), "contexts", "EWoK: compare contexts for a target, or targets in a context"
    ),
    Option(
        "format", ("ewok", "comps", "entity-tracking", "table"), None, "format of the file; by default inferred from it"
    ),
    Option("context", str, "context", "column with the context, in a table"),
    Option("options", str, (), "column with a list of options, or the columns with one option each", many=True),
    Option("answer", str, "answer", "column with the right option: its number, letter or text"),
    Option("answers_from", int, 1, "the number of the first option in that column", least=0, most=1),
    Option("item", str, None, "column with the item's name; by default `item` if there is one"),
    Option("groups", str, (), "columns to break results down by", many=True),
    EXCLUDE,
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""A character of a script without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


@dataclass(frozen=True, slots=True)
class ChoicesSettings:
    """How choices are read and scored."""

    links: tuple[str, ...] = ("sum",)
    """Linking functions; the first gives `accuracy`."""
    parameters: LinkParameters = field(default_factory=LinkParameters)
    premise: str = ""
    """The text before an option whose probability PMI compares."""
    join: str = "space"
    ties: str = "error"
    """Whether a tie is an error, or won by the first option."""
    tokens: str = "visible"
    compare: str = "contexts"
    format: str | None = None
    context: str = "context"
    options: tuple[str, ...] = ()
    """Empty: `options`, or `option_1`, `option_2`, …, whichever exists."""
    answer: str = "answer"
    answers_from: int = 1
    item: str | None = None
    groups: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ChoicesSettings:
        """The settings that a user gives as options."""
        values = read(OPTIONS, options, "choices")
        links = chosen_links(values.pop("link"), values.pop("normalise"), CHOICE_LINKS[:-1])
        parameters = LinkParameters(**{option.name: values.pop(option.name) for option in CHOICE_PARAMETERS})
        values.pop(EXCLUDE.name)
        if values["premise"] and "pmi" not in links:
            raise InputError("premise is about pmi: add link=pmi")
        return cls(links, parameters, **values)

    def signature(self, format: str) -> dict[str, str]:
        """Every option that can change a score."""
        compared = {"compare": self.compare} if format == "ewok" else {}
        premise = {"premise": self.premise} if self.premise else {}
        rules = {"ties": self.ties} if self.ties != "error" else {}
        rules |= {"tokens": self.tokens} if self.tokens != "visible" else {}
        return {**link_signature(self.links, self.parameters), **premise, "join": self.join, **rules, **compared}


class Candidate(NamedTuple):
    """An option in its context."""

    context: str
    option: str
    """With the white space that separates it from the context."""
    choice: str | None = None
    """The option without any separator, if it is not the option without white space."""

    @property
    def text(self) -> str:
        """Context and option as one text, the model's input."""
        return f"{self.context}{self.option}"

    @property
    def words(self) -> str:
        """The option without the white space before it."""
        return self.option.lstrip() if self.choice is None else self.choice

    @property
    def span(self) -> tuple[int, int]:
        """The visible characters of the option, which are scored given the context before them."""
        return len(self.text) - len(self.words), len(self.text)

    @property
    def request(self) -> Request:
        """Requests the log-probability of the option given the context."""
        return Request(self.text, self.span)


class ChoiceItem(NamedTuple):
    """Several candidates, one of which is right."""

    item: str
    candidates: tuple[Candidate, ...]
    right: int
    groups: Mapping[str, str]
    source: str | None = None
    """The row of the file, if it has several items: they are not independent."""


def delimited(context: str, choice: str, delimiter: str) -> Candidate:
    """An option after its context and a delimiter; white space at the end of the context becomes part of the option."""
    stripped = context.rstrip()
    return Candidate(stripped, context[len(stripped) :] + delimiter + choice, choice)


def candidate(context: str, option: str, join: str) -> Candidate:
    """An option in its context, separated by a space unless there is white space or `join` is `none`."""
    if join == "always":
        return delimited(context, option, " ")
    option = option.rstrip()
    separated = not context or context[-1].isspace() or option[:1].isspace()
    return Candidate(context, option if separated or join == "none" else f" {option}")


def lint(choices: Sequence[ChoiceItem], settings: ChoicesSettings) -> Iterator[Problem]:
    """Warnings about items that make a score misleading."""
    identical = [item.item for item in choices if len({each.text for each in item.candidates}) < len(item.candidates)]
    if identical:
        items = plural(len(identical), "item")
        yield Problem("warning", "", f"{items} with the same option twice: {first_items(identical)}")
    if settings.join == "space" and (spaced := [choice.item for choice in choices if _has_wrong_space(choice)]):
        message = "a space is put between context and option in a script without spaces: add -S join=none"
        yield Problem("warning", "", f"{plural(len(spaced), 'item')}: {message} ({first_items(spaced)})")


def lint_repeated(choices: Sequence[ChoiceItem]) -> Iterator[Problem]:
    """Warnings about names and items that occur more than once."""
    names = Counter(choice.item for choice in choices)
    if shared := [name for name, count in names.items() if count > 1]:
        yield Problem("warning", "", f"{plural(len(shared), 'name')} used by several items: {first_items(shared)}")
    times = Counter(choice.candidates for choice in choices)
    if copies := [choice.item for choice in choices if times[choice.candidates] > 1]:
        items = plural(len(copies), "item")
        yield Problem("warning", "", f"{items} that occur more than once: {first_items(copies)}")


def _has_wrong_space(choice: ChoiceItem) -> bool:
    spaced = (each for each in choice.candidates if each.option[:1].isspace())
    return any(_UNSPACED.match(each.context[-1:]) and _UNSPACED.match(each.words[:1]) for each in spaced)
