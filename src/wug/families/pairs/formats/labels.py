"""The columns of a table that name and group its pairs, and what the user says about a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wug.families.pairs.pair import GroupPool
from wug.families.tables import GROUPS, Record, need, number_of, plain
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class PairLabels:
    """The columns that the user names, and facts that are not in the file."""

    pattern: str | None = None
    """By default the column `pattern`, if there is one."""
    item: str | None = None
    """By default the format's column; otherwise rows are numbered."""
    groups: tuple[str, ...] = ()
    human: str | None = None
    language: str | None = None
    lines: str | None = None
    """The order of alternating lines: `good-bad` or `bad-good`."""
    files: tuple[str, ...] = ()
    """Glob patterns of the files of a folder; by default all files in a known format."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> PairLabels:
        """The labels among the options of a suite."""
        single = {name: options.get(name) for name in ("pattern", "item", "human", "language", "lines")}
        return cls(**single, groups=comma_separated(options, "groups"), files=comma_separated(options, "files"))

    def groups_of(self, record: Record) -> dict[str, str]:
        """The groups of a row in the columns that the user names."""
        found = {name: plain(record.fields[name]) for name in self.groups if name in record.fields}
        if self.pattern is not None:
            found["pattern"] = plain(record.fields.get(self.pattern))
        return found

    def human_of(self, record: Record, problems: list[Problem]) -> float | None:
        """People's judgement in a row; None if there is none."""
        return None if self.human is None else number_of(record, self.human, problems)

    def missing(self, header: Sequence[str]) -> list[Problem]:
        """Errors for the columns of patterns and names that are missing; groups may be in other files of a folder."""
        return need(header, [name for name in (self.pattern, self.item) if name is not None])

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the user names."""
        return tuple(name for name in (self.pattern, self.item, self.human, *self.groups) if name is not None)


def comma_separated(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The values of an option that takes several."""
    return tuple(value.strip() for value in options.get(name, "").split(",") if value.strip())


class RowGroups:
    """The groups of rows, cached by the values of the columns that determine them."""

    def __init__(
        self, header: Sequence[str], labels: PairLabels, groups_of: Callable[[Record], dict[str, str]], *more: str
    ) -> None:
        """`groups_of` computes the groups from the columns in `GROUPS` and in `more`."""
        relevant = {*GROUPS, *labels.columns, *more}
        self._labels, self._groups_of = labels, groups_of
        self._columns = [name for name in header if name in relevant]
        self._pool = GroupPool()
        self._known: dict[str, Mapping[str, str]] = {}

    def of(self, record: Record, contrast: str = "") -> Mapping[str, str]:
        """The groups of a row, including those that the user names."""
        try:
            key = "\0".join([contrast, *map(record.fields.get, self._columns)])  # type: ignore[list-item]
        except TypeError:  # JSON also has numbers, lists and missing keys
            return self._computed(record, contrast)
        if key not in self._known:
            self._known[key] = self._computed(record, contrast)
        return self._known[key]

    def _computed(self, record: Record, contrast: str) -> Mapping[str, str]:
        contrasts = {"contrast": contrast} if contrast else {}
        return self._pool.of(self._groups_of(record) | self._labels.groups_of(record) | contrasts)
