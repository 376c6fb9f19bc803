"""Views of SCAN results: accuracy by primitive, template, direction, repetition, conjunction and length."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wug.families.answer_views import answer, samples
from wug.families.scan.language import REPETITIONS, TEMPLATES, VERBS
from wug.formatting import FormattedEstimate
from wug.outcomes import Result
from wug.rows import Rows
from wug.views.grouped import by_field, curves, dots, interval_note, overall_parts, point
from wug.views.parts import ItemsView, ViewPart

METRIC = "accuracy"
FIELDS = {
    "primitive": "primitive (in any part of the command)",
    "template": "longest template",
    "direction": "direction",
    "repetition": "repetition",
    "conjunction": "conjunction",
    "seen": "what training has of the command",
    "actions": "number of actions",
}
_ORDER = {name: index for index, name in enumerate((*VERBS, *TEMPLATES, "none", *REPETITIONS))}


def parts(result: Result, rows: Rows) -> Iterator[ViewPart]:
    """Estimates over all commands, a chart per group field, and a curve over the length of commands."""
    yield from overall_parts(result)
    fields, note = by_field(result, METRIC), interval_note(result, METRIC)
    for field, label in FIELDS.items():
        points = [point(row) for row in sorted(fields.get(field, ()), key=_place)]
        if len(points) > 1:
            title = f"Accuracy by {label.partition(' (')[0]}"
            yield dots(f"by-{field}", title, points, note=note, value=METRIC, row=label)
    yield from curves(result, {METRIC: ""}, {"words": "words in the command"}, title="Accuracy by", what=METRIC)


def items(result: Result, rows: Rows) -> ItemsView:
    """Every command; wrong outputs by template."""
    return ItemsView(
        METRIC, answer, (samples("Wrong answers", METRIC, "wrong", "template"),), size=20, texts=("source",)
    )


def _place(row: FormattedEstimate) -> tuple[int, str]:
    """Verbs, templates and repetitions in the order of the language, bins by their first number, others by name."""
    first = re.match(r"\d+", row.group)
    return (int(first[0]) if first else _ORDER.get(row.group, len(_ORDER))), row.group
