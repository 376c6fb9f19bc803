"""A plain table: `context`, `answer`, and `option_1`, `option_2`, … or a list of `options`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from string import ascii_uppercase
from typing import Any

from wug.families.choices.choice import Choice, candidate
from wug.families.choices.formats.grouping import grouped
from wug.families.choices.settings import Settings
from wug.families.tables import Record
from wug.files import shortened
from wug.types import Problem

LIST = "options"
_NUMBERED = re.compile(r"option_([1-9]\d{0,3})")


def parse(record: Record, number: int, settings: Settings, problems: list[Problem]) -> Iterator[Choice]:
    """The item of a row."""
    options = _options(record, settings, problems)
    context = record.fields.get(settings.context)
    if not isinstance(context, str):
        problems.append(Problem("error", record.place, f"{settings.context} is {_kind(context)}"))
        return
    if options is None:
        return
    answer = record.fields.get(settings.answer)
    right = _right(answer, options, settings)
    if not isinstance(right, int):
        problems.append(Problem("error", record.place, f"{settings.answer} is {_shown(answer)}: {right}"))
        return
    name = record.fields.get(settings.item or "item", number)
    candidates = tuple(candidate(context, option, settings.join) for option in options)
    yield Choice(str(name), candidates, right, grouped(record, settings))


def option_columns(columns: Collection[str]) -> list[str]:
    """The columns that a table has its options in, in the order of their numbers; empty where it has none."""
    numbered = [name for name in columns if _NUMBERED.fullmatch(name)]
    if len(numbered) > 1:
        return sorted(numbered, key=lambda name: int(name.removeprefix("option_")))
    return [LIST] if LIST in columns else []


def needed(settings: Settings, header: Collection[str]) -> tuple[str, ...]:
    """The columns that a table must have to be read as the user says."""
    options = settings.options or tuple(option_columns(header)) or ("option_1", "option_2")
    named = () if settings.item is None else (settings.item,)
    return (settings.context, *options, settings.answer, *named)


def listed(record: Record, column: str, problems: list[Problem]) -> list[str] | None:
    """The options of a field that holds a list; where they are none, a problem and None."""
    value = record.fields.get(column)
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        remedy = 'write a list of texts, ["the cup", "the pen"], or a column for each option, option_1, option_2, …'
        problems.append(Problem("error", record.place, f"{column} is {_shown(value)}: {remedy}"))
        return None
    return _enough(value, record, problems)


def _options(record: Record, settings: Settings, problems: list[Problem]) -> list[str] | None:
    columns = settings.options or option_columns(record.fields)
    if len(columns) < 2:
        return listed(record, columns[0] if columns else LIST, problems)
    values = [record.fields.get(column) for column in columns]
    texts = [str(value) for value in values if value is not None and str(value).strip()]
    # A row may have fewer options than the table has columns, but none is left out before another.
    if texts != [str(value) for value in values[: len(texts)]]:
        problems.append(Problem("error", record.place, f"{columns[_first_empty(values)]} is empty, and others follow"))
        return None
    return _enough(texts, record, problems)


def _enough(options: list[str], record: Record, problems: list[Problem]) -> list[str] | None:
    if len(options) < 2:
        problems.append(Problem("error", record.place, f"{len(options)} of at least 2 options"))
        return None
    if "" in (option.strip() for option in options):
        problems.append(Problem("error", record.place, "an option is empty"))
        return None
    return options


def _first_empty(values: Sequence[Any]) -> int:
    return next(place for place, value in enumerate(values) if value is None or not str(value).strip())


def _right(answer: Any, options: Sequence[str], settings: Settings) -> int | str:
    """The place of the right option, from 0; or what is wrong with the answer."""
    text = str(answer).strip() if isinstance(answer, str | int) and not isinstance(answer, bool) else ""
    by_text = [place for place, option in enumerate(options) if option.strip() == text]
    first, last = settings.answers_from, settings.answers_from + len(options) - 1
    by_number = [int(text) - first] if re.fullmatch(r"[0-9]{1,4}", text) and first <= int(text) <= last else []
    by_letter = [ascii_uppercase.index(text)] if len(text) == 1 and text in ascii_uppercase[: len(options)] else []
    meanings = sorted({*by_text, *by_number, *by_letter})
    if len(meanings) == 1:
        return meanings[0]
    if meanings:
        return f"it may be {' or '.join(f'option {place + 1}' for place in meanings)}. Write the text of one alone"
    if text == "0" and first == 1:
        return "options are counted from 1. Where they are counted from 0, add -S answers_from=0"
    return f"write the number of the right option, {first} to {last}, its letter, or its text"


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(shortened(str(value), 80))


def _kind(value: Any) -> str:
    return "missing" if value is None else f"{shortened(str(value), 80)!r}, no text"
