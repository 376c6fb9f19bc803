"""Tags of a suite: those of its author, and the phenomenon that it tests."""

from __future__ import annotations

from collections.abc import Iterable

from wug.errors import InputError, nearest
from wug.types import Suite, phenomenon_of


def tags_of(suite: Suite) -> list[str]:
    """The tags of a suite's file, then its phenomenon: `agreement`, `long-distance-dependencies`."""
    phenomenon = phenomenon_of(suite.meta).lower().replace(" ", "-")
    given = list(suite.meta.get("tags") or ())
    return given if _spelt([phenomenon]) <= {"", *_spelt(given)} else [*given, phenomenon]


def tagged(suites: Iterable[Suite], wanted: Iterable[str]) -> list[Suite]:
    """The suites that have one of the wanted tags, however it is spelt; an error that lists the tags where none has."""
    found, tags = list(suites), list(wanted)
    chosen = [suite for suite in found if _spelt(tags_of(suite)) & _spelt(tags)]
    if not chosen:
        known = sorted({tag for suite in found for tag in tags_of(suite)})
        near = nearest(tags[0], known)
        meant = f" Did you mean {near!r}?" if near else ""
        raise InputError(f"no suite has the tag {' or '.join(tags)}.{meant} Tags there: {', '.join(known) or 'none'}")
    return chosen


def _spelt(tags: Iterable[str]) -> set[str]:
    """Tags without capitals, spaces and hyphens."""
    return {"".join(filter(str.isalnum, tag.lower())) for tag in tags}
