"""Which items of a result are wanted: what the address says, and what there is to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.rows import Filter
from wug.web.looks import Look
from wug.web.site import address

GROUPS = 400
"""Groups that a list to choose from holds."""
VALUES = {"": "all", "true": "passing", "false": "failing", "none": "not judged"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What the address asks for."""

    check: str
    value: str
    group: str
    """`field=value`."""
    text: str
    usual: str
    """The check that is meant where the address names none."""
    sort: str = ""
    """What they are sorted by, behind a `-` the highest first; empty for the order of the suite."""

    @property
    def wanted(self) -> Filter:
        """As the store is asked."""
        field, equals, value = self.group.partition("=")
        return Filter(
            check=self.check or None,
            value=self.value or None,
            group=(field, value) if equals else None,
            text=self.text or None,
        )

    def query(self, **changed: object) -> dict[str, object]:
        """As the address has it."""
        check = "" if self.check == self.usual else self.check
        return {"check": check, "value": self.value, "group": self.group, "q": self.text, "sort": self.sort, **changed}

    def link(self, path: str, **changed: object) -> str:
        """The address of the same with something changed."""
        return address(path, self.query(**changed))


def choice(look: Look, query: Mapping[str, str]) -> Choice:
    """The wishes in an address; a value that makes no sense is as if it were not there."""
    usual = look.items.check
    value = query.get("value", "")
    return Choice(
        check=query.get("check") or usual,
        value=value if value in VALUES else "",
        group=query.get("group", ""),
        text=query.get("q", "").strip(),
        usual=usual,
        sort=query.get("sort", ""),
    )


def groups(look: Look, check: str) -> dict[str, list[str]]:
    """The groups of a check that items can be chosen by: field → values."""
    found: dict[str, list[str]] = {}
    room = GROUPS
    for estimate in look.result.estimates:
        field, equals, value = estimate.group.partition("=")
        if estimate.check == check and equals and room > 0:
            found.setdefault(field, []).append(value)
            room -= 1
    # A group of everything chooses nothing; `macro` and the like are no groups of items.
    return {field: values for field, values in found.items() if len(values) > 1 and field != "macro"}
