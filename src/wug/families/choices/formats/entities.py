"""Entity tracking (Kim & Schuster 2023) as a choice: what is in the box? The first option is right."""

from __future__ import annotations

from collections.abc import Iterator

from wug.families.choices.choice import Choice, candidate
from wug.families.choices.formats.grouping import grouped
from wug.families.choices.formats.plain import listed
from wug.families.choices.settings import Settings
from wug.families.tables import Record, text_of
from wug.types import Problem

COLUMNS = ("input_prefix", "options")


def parse(record: Record, number: int, settings: Settings, problems: list[Problem]) -> Iterator[Choice]:
    """The item of a row."""
    context, options = text_of(record, "input_prefix", problems), listed(record, "options", problems)
    if context is None or options is None:
        return
    groups = grouped(record, settings, {"numops": "operations"})
    candidates = tuple(candidate(context, option, settings.join) for option in options)
    yield Choice(str(record.fields.get("sample_id", number)), candidates, 0, groups)
