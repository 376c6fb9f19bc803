"""What is odd about choices."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from wug.families.choices.choice import Choice
from wug.families.choices.settings import Settings
from wug.types import Problem

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""A character of a script that writes no space between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


def counted(choices: Sequence[Choice], settings: Settings) -> Iterator[Problem]:
    """What makes a score mean less than it seems, each in a line with how many items it is about."""
    alike = [choice.item for choice in choices if len({one.text for one in choice.candidates}) < len(choice.candidates)]
    if alike:
        yield Problem("warning", "", f"{_items(len(alike))} with the same option twice: {_few(alike)}")
    if settings.join == "space":
        parted = [choice.item for choice in choices if _is_parted(choice)]
        if parted:
            message = "a space is put between context and option in a script that writes none: add -S join=none"
            yield Problem("warning", "", f"{_items(len(parted))}: {message} ({_few(parted)})")


def repeated(choices: Sequence[Choice]) -> Iterator[Problem]:
    """Names and items that are there more than once."""
    names = Counter(choice.item for choice in choices)
    if twice := [name for name, count in names.items() if count > 1]:
        yield Problem("warning", "", f"{len(twice)} names are those of several items: {_few(twice)}")
    times = Counter(choice.candidates for choice in choices)
    if again := [choice.item for choice in choices if times[choice.candidates] > 1]:
        yield Problem("warning", "", f"{_items(len(again))} there more than once: {_few(again)}")


def _is_parted(choice: Choice) -> bool:
    """Whether a space stands between two characters of a script without spaces."""
    return any(
        one.option[:1].isspace() and _UNSPACED.match(one.context[-1:]) and _UNSPACED.match(one.words[:1])
        for one in choice.candidates
    )


def _items(count: int) -> str:
    return f"{count} item{'s' * (count != 1)}"


def _few(items: Sequence[str]) -> str:
    return ", ".join(items[:5]) + (", …" if len(items) > 5 else "")
