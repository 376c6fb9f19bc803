"""The published set that a result was made of: its licence and what to cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wug.types import DATA, Result


def record_of(result: Result) -> Mapping[str, Any] | None:
    """The record of the set; None for a suite that is from no published set, or not through the catalogue."""
    found = result.meta.get(DATA)
    return found if isinstance(found, Mapping) else None


def facts_of(result: Result) -> dict[str, Any]:
    """What a page says about the set; empty where there is none."""
    record = record_of(result)
    if record is None:
        return {}
    known = {
        "data": record.get("title"),
        "licence": record.get("licence") or "none named",
        "terms": record.get("terms"),
        "cite": f"{record.get('citation')} (wug data cite {record.get('set')})",
        "source": f"{record.get('repository')} at {record.get('commit')}",
    }
    return {key: value for key, value in known.items() if value}


def line_of(result: Result) -> str:
    """The set in a line: title, licence, what to cite; empty where there is none."""
    facts = facts_of(result)
    return f"{facts['data']} · licence: {facts['licence']} · cite {facts['cite']}" if facts else ""
