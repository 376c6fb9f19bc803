"""The tree of a prediction: regions, numbers, arithmetic, comparisons, and logic over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

WHOLE = "*"
"""The region of a whole sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where a node stands in the text of the prediction; two nodes that say the same are equal wherever they stand."""

    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Number(Written):
    """A number as written; never negative, the sign is a Signed."""

    value: float


@dataclass(frozen=True, slots=True)
class Atom(Written):
    """The surprisal of a region in a condition: `(2;%match%)`."""

    region: int | str
    """A number, a name that has not been looked up yet, or `*`."""
    condition: str
    region_columns: tuple[int, int] = field(default=(0, 0), compare=False, kw_only=True)
    condition_columns: tuple[int, int] = field(default=(0, 0), compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Signed(Written):
    """Unary `-` or `+`."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Joined(Written):
    """Two sides and what stands between them."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Arithmetic(Joined):
    """Two numbers joined by `+ - * /`."""


@dataclass(frozen=True, slots=True)
class Call(Written):
    """A function of numbers."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Joined):
    """Two numbers compared; with `= == !=` also two truth values."""


@dataclass(frozen=True, slots=True)
class Logic(Written):
    """Truth values joined by `&`, or by `|`; no part is itself joined by the same sign."""

    operator: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not(Written):
    """A truth value denied."""

    operand: Node


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


def with_atoms(node: Node, change: Callable[[Atom], Atom]) -> Node:
    """The same tree with every atom changed."""
    match node:
        case Number():
            return node
        case Atom():
            return change(node)
        case Signed() | Not():
            return replace(node, operand=with_atoms(node.operand, change))
        case Arithmetic() | Comparison():
            return replace(node, left=with_atoms(node.left, change), right=with_atoms(node.right, change))
        case Call():
            return replace(node, arguments=tuple(with_atoms(argument, change) for argument in node.arguments))
        case Logic():
            return replace(node, parts=tuple(with_atoms(part, change) for part in node.parts))


def canonical(node: Node) -> str:
    """A node in one fixed way of writing, which reads back as the same node."""
    match node:
        case Number():
            return repr(node.value).removesuffix(".0")
        case Atom():
            return f"({node.region};%{node.condition}%)"
        case Signed():
            return node.sign + _bracketed(node.operand, isinstance(node.operand, Arithmetic))
        case Call():
            return f"{node.function}({', '.join(map(canonical, node.arguments))})"
        case Arithmetic():
            loose = ("+", "-") if node.operator in "*/" else ()
            left = _bracketed(node.left, isinstance(node.left, Arithmetic) and node.left.operator in loose)
            # The right side keeps its brackets: floating-point sums depend on their order.
            right = _bracketed(
                node.right, isinstance(node.right, Arithmetic) and (bool(loose) or node.right.operator in "+-")
            )
            return f"{left} {node.operator} {right}"
        case Comparison():
            left, right = (_bracketed(s, isinstance(s, Comparison | Logic)) for s in (node.left, node.right))
            return f"{left} {node.operator} {right}"
        case Logic():
            return f" {node.operator} ".join(_bracketed(part, isinstance(part, Logic)) for part in node.parts)
        case Not():
            return "~" + _bracketed(node.operand, not isinstance(node.operand, Not))


def _bracketed(node: Node, needed: bool) -> str:
    return f"({canonical(node)})" if needed else canonical(node)
