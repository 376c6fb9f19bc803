"""The formats of choices, recognised by their columns: EWoK, COMPS, entity tracking and plain tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

from wug.errors import InputError
from wug.families.choices.items import ChoiceItem, ChoicesSettings, candidate
from wug.families.named_columns import groups_of
from wug.files import head as head_of
from wug.files import require_text, shortened
from wug.problems import ProblemList
from wug.record_tables import Record, columns_of, missing_columns, plain, read_table, text_of

_EWOK = ("Context1", "Context2", "Target1", "Target2")
_EWOK_GROUPS = {
    "Domain": "domain",
    "ContextType": "context_type",
    "ContextDiff": "context_contrast",
    "TargetDiff": "target_contrast",
}
_COMPS = ("prefix_acceptable", "prefix_unacceptable", "property_phrase")
_COMPS_GROUPS = {"negative_sample_type": "negative_sample", "distraction_type": "distraction"}
_NUMBERED = re.compile(r"option_([1-9]\d{0,3})")
_LIST = "options"


class ChoicesFormat(NamedTuple):
    """A file format for choices."""

    title: str
    columns: tuple[str, ...]
    parse: Callable[[Record, int, ChoicesSettings, ProblemList], Iterator[ChoiceItem]]


def parse_ewok(record: Record, number: int, settings: ChoicesSettings, problems: ProblemList) -> Iterator[ChoiceItem]:
    """EWoK (Ivanova et al. 2024): two contexts and two targets; each target fits the context of its number.

    The published score compares the contexts for each target: log p(T1 | C1) > log p(T1 | C2), and
    log p(T2 | C2) > log p(T2 | C1). With `compare=targets`, the targets are compared in each context.
    """
    texts = [text for column in _EWOK if (text := text_of(record, column, problems)) is not None]
    if len(texts) < len(_EWOK):
        return
    contexts, targets = texts[:2], texts[2:]
    groups = _groups(record, settings, _EWOK_GROUPS)
    for right in range(2):
        if settings.compare == "contexts":
            candidates = tuple(candidate(context, targets[right], settings.join) for context in contexts)
            fixed = {"target": str(right + 1)}
        else:
            candidates = tuple(candidate(contexts[right], target, settings.join) for target in targets)
            fixed = {"context": str(right + 1)}
        yield ChoiceItem(f"{number}/{right + 1}", candidates, right, groups | fixed, f"row {number}")


def parse_comps(record: Record, number: int, settings: ChoicesSettings, problems: ProblemList) -> Iterator[ChoiceItem]:
    """COMPS (Misra et al. 2023): a property phrase that is true of one of two concepts."""
    right, wrong, phrase = (text_of(record, column, problems) for column in _COMPS)
    if right is not None and wrong is not None and phrase is not None:
        candidates = tuple(candidate(context, phrase, settings.join) for context in (right, wrong))
        yield ChoiceItem(str(record.fields.get("id", number)), candidates, 0, _groups(record, settings, _COMPS_GROUPS))


def parse_entities(
    record: Record, number: int, settings: ChoicesSettings, problems: ProblemList
) -> Iterator[ChoiceItem]:
    """Entity tracking (Kim & Schuster 2023) as a choice between the contents of a box; the first option is right."""
    context, options = text_of(record, "input_prefix", problems), _listed(record, _LIST, problems)
    if context is not None and options is not None:
        candidates = tuple(candidate(context, option, settings.join) for option in options)
        groups = _groups(record, settings, {"numops": "operations"})
        yield ChoiceItem(str(record.fields.get("sample_id", number)), candidates, 0, groups)


def parse_plain(record: Record, number: int, settings: ChoicesSettings, problems: ProblemList) -> Iterator[ChoiceItem]:
    """A table with `context`, `answer`, and `option_1`, `option_2`, … or a list of `options`."""
    options = _options(record, settings, problems)
    context = record.fields.get(settings.context)
    if not isinstance(context, str):
        what = "missing" if context is None else f"{_value_text(context)}, not text"
        problems.error(record.place, f"{settings.context} is {what}")
        return
    if options is None:
        return
    answer = record.fields.get(settings.answer)
    right = _right(answer, options, settings)
    if not isinstance(right, int):
        problems.error(record.place, f"{settings.answer} is {_value_text(answer)}: {right}")
        return
    name = record.fields.get(settings.item or "item", number)
    candidates = tuple(candidate(context, option, settings.join) for option in options)
    yield ChoiceItem(str(name), candidates, right, _groups(record, settings))


FORMATS: Mapping[str, ChoicesFormat] = {
    "ewok": ChoicesFormat("EWoK", _EWOK, parse_ewok),
    "comps": ChoicesFormat("COMPS", _COMPS, parse_comps),
    "entity-tracking": ChoicesFormat("entity tracking", ("input_prefix", _LIST), parse_entities),
    "table": ChoicesFormat("a table with context, options and answer", ("context", "answer"), parse_plain),
}


def format_of(head: str) -> str | None:
    """The name of a file's format, from its first line; None if it is unknown."""
    columns = set(columns_of(head))
    for name, form in FORMATS.items():
        if columns.issuperset(form.columns) and (name != "table" or _option_columns(columns)):
            return name
    return None


def parse(path: Path, settings: ChoicesSettings) -> tuple[str, list[ChoiceItem], ProblemList]:
    """The format of a file, its items, and the problems found in it."""
    name = settings.format or _inferred_format(path, settings)
    if settings.item is not None and name != "table":
        raise InputError(f"item is for tables: the format {name} names its items itself", file=path)
    if settings.compare == "targets" and name != "ewok":
        raise InputError(f"compare=targets is for EWoK, and this is {name}", file=path)
    table = read_table(path)
    needed = FORMATS[name].columns if name != "table" else _table_columns(settings, table.header)
    problems = ProblemList.of(table.problems, missing_columns(table.header, (*needed, *settings.groups)))
    if any(problem.place == "header" for problem in problems):
        return name, [], problems
    choices: list[ChoiceItem] = []
    for number, record in enumerate(table.records, 1):
        choices += FORMATS[name].parse(record, number, settings, problems)
    return name, choices, problems


def _inferred_format(path: Path, settings: ChoicesSettings) -> str:
    if settings.options or settings.context != "context" or settings.answer != "answer":
        return "table"
    name = format_of(head_of(path))
    if name is None:
        require_text(path)
        if not path.exists():
            raise InputError("no such file", file=path)
        titles = ", ".join(form.title for form in FORMATS.values())
        columns = shortened(", ".join(columns_of(head_of(path))))
        fix = f"Name its columns ({columns}): -S context=COLUMN -S options=COLUMN,COLUMN -S answer=COLUMN"
        raise InputError(f"this is none of the formats of choices ({titles}). {fix}", file=path)
    return name


def _groups(record: Record, settings: ChoicesSettings, columns: Mapping[str, str] | None = None) -> dict[str, str]:
    """The groups of a row, from the format's columns, the columns in `GROUP_COLUMNS`, and those that the user names."""
    fields = record.fields
    known = {name: str(fields[column]) for column, name in (columns or {}).items() if fields.get(column) is not None}
    chosen = {name: plain(fields[name]) for name in settings.groups if name in fields}
    return {name: value for name, value in (known | groups_of(fields) | chosen).items() if value}


def _option_columns(columns: Collection[str]) -> list[str]:
    """The columns with the options, in the order of their numbers; empty if there are none."""
    numbered = [name for name in columns if _NUMBERED.fullmatch(name)]
    if len(numbered) > 1:
        return sorted(numbered, key=lambda name: int(name.removeprefix("option_")))
    return [_LIST] if _LIST in columns else []


def _table_columns(settings: ChoicesSettings, header: Collection[str]) -> tuple[str, ...]:
    options = settings.options or tuple(_option_columns(header)) or ("option_1", "option_2")
    return (settings.context, *options, settings.answer, *filter(None, [settings.item]))


def _options(record: Record, settings: ChoicesSettings, problems: ProblemList) -> list[str] | None:
    columns = settings.options or _option_columns(record.fields)
    if len(columns) < 2:
        return _listed(record, columns[0] if columns else _LIST, problems)
    values = [plain(record.fields.get(column)) and str(record.fields[column]) for column in columns]
    texts = [value for value in values if value]
    # A row may have fewer options than the table has columns, but without gaps.
    if texts != values[: len(texts)]:
        problems.error(record.place, f"{columns[values.index('')]} is empty, and others follow")
        return None
    return _checked(texts, record, problems)


def _listed(record: Record, column: str, problems: ProblemList) -> list[str] | None:
    """The options of a field with a list; None and a problem if it is not a list of texts."""
    value = record.fields.get(column)
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if not isinstance(value, list) or not all(isinstance(option, str) for option in value):
        fix = 'write a list of texts, ["the cup", "the pen"], or one column per option, option_1, option_2, …'
        problems.error(record.place, f"{column} is {_value_text(value)}: {fix}")
        return None
    return _checked(value, record, problems)


def _checked(options: list[str], record: Record, problems: ProblemList) -> list[str] | None:
    if len(options) < 2:
        problems.error(record.place, f"{len(options)} of at least 2 options")
        return None
    if "" in (option.strip() for option in options):
        problems.error(record.place, "an option is empty")
        return None
    return options


def _right(answer: object, options: Sequence[str], settings: ChoicesSettings) -> int | str:
    """The index of the right option, or the problem with the answer."""
    text = str(answer).strip() if isinstance(answer, str | int) and not isinstance(answer, bool) else ""
    by_text = [index for index, option in enumerate(options) if option.strip() == text]
    first, last = settings.answers_from, settings.answers_from + len(options) - 1
    by_number = [int(text) - first] if re.fullmatch(r"[0-9]{1,4}", text) and first <= int(text) <= last else []
    by_letter = [ascii_uppercase.index(text)] if len(text) == 1 and text in ascii_uppercase[: len(options)] else []
    meanings = sorted({*by_text, *by_number, *by_letter})
    if len(meanings) == 1:
        return meanings[0]
    if meanings:
        return f"it may be {' or '.join(f'option {index + 1}' for index in meanings)}. Write the text of only one"
    if text == "0" and first == 1:
        return "options are counted from 1. If they are counted from 0, add -S answers_from=0"
    return f"write the number of the right option, {first} to {last}, its letter, or its text"


def _value_text(value: object) -> str:
    return "missing" if value is None else repr(shortened(str(value), 80))
