"""The tree of a prediction: regions, numbers, arithmetic, comparisons, and logic over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

WHOLE = "*"
"""The region of a whole sentence."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written; never negative, the sign is a Signed."""

    value: float
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Atom:
    """The surprisal of a region in a condition: `(2;%match%)`."""

    region: int | str
    """A number, a name that has not been looked up yet, or `*`."""
    condition: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)
    region_columns: tuple[int, int] = field(default=(0, 0), compare=False)
    condition_columns: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True, slots=True)
class Signed:
    """Unary `-` or `+`."""

    sign: str
    operand: Node
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Two numbers joined by `+ - * /`."""

    operator: str
    left: Node
    right: Node
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function of numbers."""

    function: str
    arguments: tuple[Node, ...]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two numbers compared; with `= == !=` also two truth values."""

    operator: str
    left: Node
    right: Node
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Logic:
    """Truth values joined by `&`, or by `|`; no part is itself joined by the same sign."""

    operator: str
    parts: tuple[Node, ...]
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """A truth value denied."""

    operand: Node
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


Node: TypeAlias = Number | Atom | Signed | Arithmetic | Call | Comparison | Logic | Not


def is_truth(node: Node) -> bool:
    """Whether the node is a truth value; the others are numbers."""
    return isinstance(node, Comparison | Logic | Not)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, from left to right."""
    match node:
        case Number() | Atom():
            return ()
        case Signed() | Not():
            return (node.operand,)
        case Arithmetic() | Comparison():
            return (node.left, node.right)
        case Call():
            return node.arguments
        case Logic():
            return node.parts


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, from left to right."""
    yield node
    for child in children(node):
        yield from walk(child)
