"""A localism sample as a tree: what was answered at each step, and where it first went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.show.families._marked import Pieces, marked
from wug.show.families.pcfgset._answers import Line, as_it_is, text_of
from wug.types import Outcome

NODES = 120
"""Nodes that a tree shows; the rest of it is left out."""


@dataclass(frozen=True, slots=True)
class Node:
    """A step with its answer, or a string that a step was given."""

    down: bool
    """Whether it is the first below the node before it."""
    up: int
    """Levels to go back up before it."""
    function: str
    """Empty for a plain string."""
    answer: Pieces
    state: str
    """`first` where it is wrong and all below it is right, `later` where more than it is wrong; else empty."""
    right: Pieces
    """What the function makes of the very inputs; only where the answer is another."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample as the page shows it."""

    item: str
    steps: int
    note: str
    nodes: tuple[Node, ...]
    end: int
    """Levels to go back up after the last node."""
    cut: bool
    """Whether nodes are left out."""
    lines: tuple[Line, ...]


def drawn(outcome: Outcome) -> Drawn:
    """The tree of a sample, and the answers that should be equal."""
    steps = steps_of(outcome)
    target, whole = text_of(outcome, "target"), text_of(outcome, "answer")
    last = str(steps[-1].get("answer") or "") if steps else ""
    placed = list(_preorder(steps))
    nodes, before = [], 0
    for part, depth in placed[:NODES]:
        nodes.append(_node(part, steps, down=depth > before, up=max(0, before - depth)))
        before = depth
    ours, theirs = marked(last, whole)
    right = {True: ("✓", "ins"), False: ("✗", "del")}
    (sign, mark), (whole_sign, whole_mark) = right[last == target], right[whole == target]
    lines = (
        Line("target", as_it_is(target)),
        Line(f"{sign} step by step", ours, mark),
        Line(f"{whole_sign} as a whole", theirs, whole_mark),
    )
    return Drawn(outcome.item, len(steps), _note(steps), tuple(nodes), before, len(placed) > NODES, lines)


def steps_of(outcome: Outcome) -> Sequence[Mapping[str, Any]]:
    """The steps that an outcome carries, the last of which is the whole."""
    return outcome.detail.get("steps") or ()


def _preorder(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int | str, int]]:
    """Every step and string with its depth, from the whole down; no more than can be shown."""
    waiting: list[tuple[int | str, int]] = [(len(steps) - 1, 1)] if steps else []
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
        return Node(down, up, "", as_it_is(str(part)), "", ())
    step = steps[part]
    answer, wanted = str(step.get("answer") or ""), str(step.get("right") or "")
    function = str(step.get("source") or "").partition(" ")[0]
    if answer == wanted:
        return Node(down, up, function, as_it_is(answer), "", ())
    said, right = marked(answer, wanted)
    return Node(down, up, function, said, "first" if step.get("diverges") else "later", right)


def _note(steps: Sequence[Mapping[str, Any]]) -> str:
    """Where it first goes wrong."""
    first = [str(step.get("source") or "").partition(" ")[0] for step in steps if step.get("diverges")]
    if not first:
        return "every step is right, the whole is not"
    return f"first wrong: {', '.join(dict.fromkeys(first))}"
