"""EWoK (Ivanova et al. 2024): two contexts and two targets; each target fits the context of its number.

The published score asks of each target in which context it is more probable: log p(T1 | C1) > log p(T1 | C2), and
log p(T2 | C2) > log p(T2 | C1). With `compare=targets` it is asked of each context which target is more probable.
"""

from __future__ import annotations

from collections.abc import Iterator

from wug.families.choices.choice import Choice, candidate
from wug.families.choices.formats.grouping import grouped
from wug.families.choices.settings import Settings
from wug.families.tables import Record, text_of
from wug.types import Problem

CONTEXTS, TARGETS = ("Context1", "Context2"), ("Target1", "Target2")
COLUMNS = (*CONTEXTS, *TARGETS)
GROUPS = {
    "Domain": "domain",
    "ContextType": "context_type",
    "ContextDiff": "context_contrast",
    "TargetDiff": "target_contrast",
}
"""Columns that results are broken down by, and what the group is called then."""


def parse(record: Record, number: int, settings: Settings, problems: list[Problem]) -> Iterator[Choice]:
    """The two items of a row."""
    contexts = [text for column in CONTEXTS if (text := text_of(record, column, problems)) is not None]
    targets = [text for column in TARGETS if (text := text_of(record, column, problems)) is not None]
    if len(contexts) < 2 or len(targets) < 2:
        return
    groups = grouped(record, settings, GROUPS)
    for right in range(2):
        if settings.compare == "contexts":
            candidates = tuple(candidate(context, targets[right], settings.join) for context in contexts)
            asked = {"target": str(right + 1)}
        else:
            candidates = tuple(candidate(contexts[right], target, settings.join) for target in targets)
            asked = {"context": str(right + 1)}
        yield Choice(f"{number}/{right + 1}", candidates, right, groups | asked, f"row {number}")
