"""Names with wildcards: `*` matches anything, `?` one character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from wug.errors import UnknownName


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name matches one of some patterns; every name does if there are none."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def require_matches(what: str, patterns: Iterable[str], names: Iterable[str]) -> None:
    """UnknownName for the first pattern that none of the names matches."""
    known = dict.fromkeys(names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UnknownName(what, pattern, known)
