"""The columns of a table that name and group its pairs, and what the user says about a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wug.problems import ProblemList
from wug.record_tables import Record, missing_columns, number_of, plain


class PairLabels(NamedTuple):
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
        groups = {name: plain(record.fields[name]) for name in self.groups if name in record.fields}
        if self.pattern is not None:
            groups["pattern"] = plain(record.fields.get(self.pattern))
        return groups

    def human_of(self, record: Record, problems: ProblemList) -> float | None:
        """People's judgement in a row; None if there is none."""
        return None if self.human is None else number_of(record, self.human, problems)

    def missing(self, header: Sequence[str]) -> ProblemList:
        """Errors for the columns of patterns and names that are missing; groups may be in other files of a folder."""
        return missing_columns(header, [name for name in (self.pattern, self.item) if name is not None])

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the user names."""
        return tuple(name for name in (self.pattern, self.item, self.human, *self.groups) if name is not None)


def comma_separated(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The values of an option that takes several."""
    return tuple(value.strip() for value in options.get(name, "").split(",") if value.strip())
