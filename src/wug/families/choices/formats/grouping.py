"""What the items of a file are grouped by."""

from __future__ import annotations

from collections.abc import Mapping

from wug.families.choices.settings import Settings
from wug.families.tables import Record, groups_of, plain


def grouped(record: Record, settings: Settings, named: Mapping[str, str] | None = None) -> dict[str, str]:
    """The groups of a row: columns `named` by its format, those known everywhere, and those that the user asks for."""
    fields = record.fields
    given = {name: str(fields[column]) for column, name in (named or {}).items() if fields.get(column) is not None}
    asked = {name: plain(fields[name]) for name in settings.groups if name in fields}
    found = given | groups_of(fields) | asked
    return {name: value for name, value in found.items() if value}
