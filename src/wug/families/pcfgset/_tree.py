"""A localism sample drawn as a tree: what was answered at each step, and where it first went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.families.pcfgset.language import Argument, Expression, Step, draw

NOTHING = "(nothing)"


def answer_tree(detail: Mapping[str, Any]) -> str:
    """The `detail` of a localism `consistency` outcome as lines of text."""
    rows: Sequence[Mapping[str, Any]] = detail["steps"]
    steps = tuple(Step(str(row["source"]).split()[0], _arguments(row["inputs"])) for row in rows)
    expression = Expression(tuple(str(detail["source"]).split()), steps, len(steps) - 1)
    same = rows[-1]["answer"] == detail["answer"]
    return "\n".join(
        [
            draw(expression, [_label(step, row) for step, row in zip(steps, rows, strict=True)]),
            "",
            f"step by step  {_said(rows[-1]['answer'], detail['target'])}",
            f"as a whole    {_said(detail['answer'], detail['target'])}",
            f"target        {detail['target']}",
            "consistent" if same else "not consistent",
        ]
    )


def _label(step: Step, row: Mapping[str, Any]) -> str:
    label = f"{step.function} → {row['answer'] or NOTHING}"
    if row["answer"] == row["right"]:
        return label
    first = "first wrong here, " if row["diverges"] else ""
    return f"{label}   ✗ {first}right: {row['right'] or NOTHING}"


def _said(answer: str, target: str) -> str:
    return f"{answer or NOTHING}   {'✓' if answer == target else '✗'}"


def _arguments(inputs: Sequence[int | str]) -> tuple[Argument, ...]:
    return tuple(part if isinstance(part, int) else tuple(part.split()) for part in inputs)
