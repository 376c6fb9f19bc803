"""What a user says about a file of pairs beyond what is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.families.pairs.pair import GroupPool
from wug.families.tables import GROUPS, Record, need, number_of, plain
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Labels:
    """Where a table has what its rows are called and grouped by, and what no table says."""

    pattern: str | None = None
    """None: in the column `pattern` if there is one."""
    item: str | None = None
    """None: in the column that the format has for it; else rows are numbered."""
    groups: tuple[str, ...] = ()
    human: str | None = None
    """The column with people's judgements."""
    language: str | None = None
    """Of the pairs of which the file does not say it."""
    lines: str | None = None
    """Which sentence comes first where lines alternate and nothing says so: `good-bad` or `bad-good`."""
    files: tuple[str, ...] = ()
    """Patterns of the files of a folder that are meant; without any, those that are in a known format."""

    def groups_of(self, record: Record) -> dict[str, str]:
        """The groups that the user named columns for."""
        found = {name: plain(record.fields[name]) for name in self.groups if name in record.fields}
        if self.pattern is not None:
            found["pattern"] = plain(record.fields.get(self.pattern))
        return found

    def human_of(self, record: Record, problems: list[Problem]) -> float | None:
        """What people judged of the pair of a row; None where nobody was asked."""
        return None if self.human is None else number_of(record, self.human, problems)

    def missing(self, header: Sequence[str]) -> list[Problem]:
        """Errors for the columns of patterns and names that a table lacks; groups may be those of another file."""
        return need(tuple(header), tuple(name for name in (self.pattern, self.item) if name is not None))

    def named_columns(self) -> tuple[str, ...]:
        """The columns that the user names, all of which must be there."""
        return tuple(name for name in (self.pattern, self.item, self.human, *self.groups) if name is not None)


class Grouping:
    """What rows are grouped by, looked up by what stands in the columns that say it: many rows have the same."""

    def __init__(
        self, header: Sequence[str], labels: Labels, groups_of: Callable[[Record], dict[str, str]], *more: str
    ) -> None:
        """`groups_of` tells the groups from the columns that `GROUPS` knows, and from `more`."""
        told = {*GROUPS, *labels.named_columns(), *more}
        self._labels, self._groups_of = labels, groups_of
        self.columns = [name for name in header if name in told]
        """Those that say it."""
        self._pool = GroupPool()
        self._known: dict[tuple[Any, ...], Mapping[str, str]] = {}

    def of(self, record: Record) -> Mapping[str, str]:
        """The groups of a row, those that the user named columns for among them."""
        key = tuple(map(record.fields.get, self.columns))
        # JSON has numbers and lists, too, and columns that a row lacks; some of these are equal, and not the same.
        if not all(type(value) is str for value in key):
            return self._made(record)
        return self._known.get(key) or self._known.setdefault(key, self._made(record))

    def _made(self, record: Record) -> Mapping[str, str]:
        return self._pool.of(self._groups_of(record) | self._labels.groups_of(record))
