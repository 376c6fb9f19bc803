"""What a user says about a file of pairs beyond what is in it."""

from __future__ import annotations

from dataclasses import dataclass

from wug.families.pairs.formats.tables import Record, number_of, plain
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

    def named_columns(self) -> tuple[str, ...]:
        """The columns that the user names, all of which must be there."""
        return tuple(name for name in (self.pattern, self.item, self.human, *self.groups) if name is not None)
