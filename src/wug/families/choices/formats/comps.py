"""COMPS (Misra et al. 2023): a property phrase that fits one of two concepts."""

from __future__ import annotations

from collections.abc import Iterator

from wug.families.choices.choice import Choice, candidate
from wug.families.choices.formats.grouping import grouped
from wug.families.choices.settings import Settings
from wug.families.tables import Record, text_of
from wug.types import Problem

COLUMNS = ("prefix_acceptable", "prefix_unacceptable", "property_phrase")
GROUPS = {"negative_sample_type": "negative_sample", "distraction_type": "distraction"}
"""Keys that results are broken down by, and what the group is called then."""


def parse(record: Record, number: int, settings: Settings, problems: list[Problem]) -> Iterator[Choice]:
    """The item of a row: the phrase after either concept."""
    right, wrong, phrase = (text_of(record, column, problems) for column in COLUMNS)
    if right is None or wrong is None or phrase is None:
        return
    groups = grouped(record, settings, GROUPS)
    candidates = tuple(candidate(context, phrase, settings.join) for context in (right, wrong))
    yield Choice(str(record.fields.get("id", number)), candidates, 0, groups)
