"""The test circuits of Hu et al. (2020): which part of syntax a suite is about."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CIRCUITS = {
    "npi": "Licensing",
    "reflexive": "Licensing",
    "fgd": "Long-Distance Dependencies",
    "cleft": "Long-Distance Dependencies",
    "number": "Agreement",
    "npz": "Garden-Path Effects",
    "mvrr": "Garden-Path Effects",
    "subordination": "Gross Syntactic State",
    "center": "Center Embedding",
}
_BY_TAG = {
    "fillergap": "Long-Distance Dependencies",
    "fillergapdependencies": "Long-Distance Dependencies",
    "gardenpath": "Garden-Path Effects",
    "numberagreement": "Agreement",
    "subjectverbagreement": "Agreement",
}


def circuit(name: str, tags: Iterable[str] = ()) -> str | None:
    """The circuit of a suite, from its name's beginning or else from a tag; None where neither says."""
    named = _CIRCUITS.get(_beginning(name))
    if named:
        return named
    titles = {_letters(title): title for title in _CIRCUITS.values()} | _BY_TAG
    for tag in tags:
        found = titles.get(_letters(tag)) or _CIRCUITS.get(_beginning(tag))
        if found:
            return found
    return None


def _beginning(name: str) -> str:
    return re.split(r"[-_0-9]", name.strip().lower(), maxsplit=1)[0].strip()


def _letters(tag: str) -> str:
    return "".join(filter(str.isalpha, tag.lower()))
