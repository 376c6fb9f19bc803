"""Parts of the views of tests that compare an output with its target."""

from __future__ import annotations

from collections.abc import Sequence

from wug.rows import OutcomeRow
from wug.views import parts as page
from wug.views.text_display import Pieces, mark_differences, single_piece


def samples(title: str, metric: str, verb: str, field: str) -> page.ItemSample:
    """Failing items, by a field of their groups."""
    return page.ItemSample(title, metric, verb=verb, group=lambda outcome: outcome.groups.get(field, ""))


def texts(judgements: Sequence[OutcomeRow], *keys: str) -> list[str]:
    """Strings in the detail of an item's answer; empty if missing."""
    detail = page.carrier(judgements, "answer").detail
    return [str(detail.get(key) or "") for key in keys]


def line(label: str, text: str) -> page.LabelledText:
    """A line without marks."""
    return page.LabelledText(label, single_piece(text))


def judged(label: str, pieces: Pieces, *, right: bool) -> page.LabelledText:
    """A line that is marked as right or wrong."""
    return page.LabelledText(f"{'✓' if right else '✗'} {label}", pieces, "ins" if right else "del")


def answer(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> page.ItemView:
    """A line with target and answer, and whether it ends too early."""
    source, target, answered = texts(judgements, "source", "target", "answer")
    right = answered == target
    expected, pieces = (single_piece(target), single_piece(answered)) if right else mark_differences(target, answered)
    symbols = answered.split()
    note = "stops too early" if not right and target.split()[: len(symbols)] == symbols else ""
    shown_target = page.LabelledText("target", expected, "ins")
    lines = (line("source", source), shown_target, judged("answer", pieces, right=right))
    return page.ItemView(note if symbols else "no answer", parts=(page.LinesPart(lines, symbols=True),))
