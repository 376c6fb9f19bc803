"""A localism sample as a tree: what was answered at each step, and where it first went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wug.families.pcfgset.view.answers import judged, line
from wug.rows import Placed
from wug.types import Outcome
from wug.views.marked import marked, unmarked
from wug.views.parts import Item, Lines, Node, Tree, carrier

NODES = 120
"""Nodes that a tree shows; the rest of it is left out."""


def sample(row: Placed, judgements: Sequence[Placed]) -> Item:
    """A sample: its tree, and the two answers that should be equal."""
    outcome = carrier(judgements, "answer")
    steps = steps_of(outcome)
    target, whole = (str(outcome.detail.get(key) or "") for key in ("target", "answer"))
    last = str(steps[-1].get("answer") or "") if steps else ""
    ours, theirs = marked(last, whole)
    lines = (
        line("target", target),
        judged("step by step", ours, right=last == target),
        judged("as a whole", theirs, right=whole == target),
    )
    first = dict.fromkeys(_function(step) for step in steps if step.get("diverges"))
    note = f"first wrong: {', '.join(first)}" if first else "every step is right"
    if not first and outcome.value is not True:
        note += ", the whole is not"
    parts = (tree(steps), Lines(lines, symbols=True)) if steps else (Lines(lines, symbols=True),)
    return Item(note, fails=bool(first) or outcome.value is not True, parts=parts)


def tree(steps: Sequence[Mapping[str, Any]]) -> Tree:
    """The steps from the whole down, each with its answer."""
    placed = list(_preorder(steps))
    nodes, before = [], 0
    for part, depth in placed[:NODES]:
        nodes.append(_node(part, steps, down=depth > before, up=max(0, before - depth)))
        before = depth
    return Tree(tuple(nodes), before, len(placed) > NODES)


def steps_of(outcome: Outcome) -> Sequence[Mapping[str, Any]]:
    """The steps that an outcome carries, the last of which is the whole."""
    return outcome.detail.get("steps") or ()


def _preorder(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int | str, int]]:
    """Every step and string with its depth, from the whole down; no more than can be shown."""
    waiting: list[tuple[int | str, int]] = [(len(steps) - 1, 1)]
    shown = 0
    while waiting and shown <= NODES:
        part, depth = waiting.pop()
        yield part, depth
        shown += 1
        if isinstance(part, int):
            below = [one for one in steps[part].get("inputs") or () if not isinstance(one, int) or 0 <= one < part]
            waiting += [(one, depth + 1) for one in reversed(below)]


def _node(part: int | str, steps: Sequence[Mapping[str, Any]], *, down: bool, up: int) -> Node:
    if not isinstance(part, int):
        return Node(down, up, "", unmarked(str(part)))
    step = steps[part]
    answer, wanted = str(step.get("answer") or ""), str(step.get("right") or "")
    if answer == wanted:
        return Node(down, up, _function(step), unmarked(answer))
    found, right = marked(answer, wanted)
    return Node(down, up, _function(step), found, "first" if step.get("diverges") else "later", right)


def _function(step: Mapping[str, Any]) -> str:
    return str(step.get("source") or "").partition(" ")[0]
