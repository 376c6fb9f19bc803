"""The tree of a prediction: nodes, canonical text, and evaluation given the surprisals."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import NoReturn, TypeAlias

from wug.errors import FormulaError

WHOLE = "*"
"""The region of a whole sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaNode:
    """A node with its span in the text of the prediction, which does not matter for equality."""

    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Number(FormulaNode):
    """A nonnegative number; the sign is a Signed."""

    value: float


@dataclass(frozen=True, slots=True)
class Atom(FormulaNode):
    """The surprisal of a region in a condition: `(2;%match%)`."""

    region: int | str
    """A number, an unresolved name, or `*`."""
    condition: str
    region_columns: tuple[int, int] = field(default=(0, 0), compare=False, kw_only=True)
    condition_columns: tuple[int, int] = field(default=(0, 0), compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Signed(FormulaNode):
    """Unary `-` or `+`."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Joined(FormulaNode):
    """Two operands and an operator."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Arithmetic(Joined):
    """Two numbers joined by `+ - * /`."""


@dataclass(frozen=True, slots=True)
class Call(FormulaNode):
    """A function of numbers."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Relation(Joined):
    """Two numbers compared; with `= == !=` also two truth values."""


@dataclass(frozen=True, slots=True)
class Logic(FormulaNode):
    """Truth values joined by `&` or by `|`; no part has the same operator."""

    operator: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not(FormulaNode):
    """A negated truth value."""

    operand: Node


Node: TypeAlias = Number | Atom | Signed | Arithmetic | Call | Relation | Logic | Not


def is_truth(node: Node) -> bool:
    """Whether the node is a truth value, not a number."""
    return isinstance(node, Relation | Logic | Not)


def children(node: Node) -> tuple[Node, ...]:
    """The children of a node, from left to right."""
    match node:
        case Number() | Atom():
            return ()
        case Signed() | Not():
            return (node.operand,)
        case Arithmetic() | Relation():
            return (node.left, node.right)
        case Call():
            return node.arguments
        case Logic():
            return node.parts


def walk(node: Node) -> Iterator[Node]:
    """The node and its descendants, from left to right."""
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
        case Arithmetic() | Relation():
            return replace(node, left=with_atoms(node.left, change), right=with_atoms(node.right, change))
        case Call():
            return replace(node, arguments=tuple(with_atoms(argument, change) for argument in node.arguments))
        case Logic():
            return replace(node, parts=tuple(with_atoms(part, change) for part in node.parts))


def canonical(node: Node) -> str:
    """The canonical text of a node, which parses to the same node."""
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
            keeps = isinstance(node.right, Arithmetic) and (bool(loose) or node.right.operator in "+-")
            right = _bracketed(node.right, keeps)
            return f"{left} {node.operator} {right}"
        case Relation():
            left, right = (_bracketed(s, isinstance(s, Relation | Logic)) for s in (node.left, node.right))
            return f"{left} {node.operator} {right}"
        case Logic():
            return f" {node.operator} ".join(_bracketed(part, isinstance(part, Logic)) for part in node.parts)
        case Not():
            return "~" + _bracketed(node.operand, not isinstance(node.operand, Not))


def _bracketed(node: Node, needed: bool) -> str:
    return f"({canonical(node)})" if needed else canonical(node)


Surprisal: TypeAlias = Callable[[int | str, str], float]
"""The value of a region (a number, or `*`) in a condition."""


def value_of(node: Node, value: Surprisal, source: str) -> float:
    """The value of a node; a truth value is a bool, which the parser keeps out of arithmetic."""
    match node:
        case Number():
            return node.value
        case Atom():
            return value(node.region, node.condition)
        case Signed():
            inner = value_of(node.operand, value, source)
            return -inner if node.sign == "-" else inner
        case Not():
            return not value_of(node.operand, value, source)
        case Logic():
            parts = [bool(value_of(part, value, source)) for part in node.parts]
            return all(parts) if node.operator == "&" else any(parts)
        case Relation():
            left, right = value_of(node.left, value, source), value_of(node.right, value, source)
            return compare(node.operator, left, right)
        case Arithmetic():
            return _finite(node, [value_of(node.left, value, source), value_of(node.right, value, source)], source)
        case Call():
            return _finite(node, [value_of(argument, value, source) for argument in node.arguments], source)


def margin_of(node: Node, value: Surprisal, source: str) -> float:
    """Distance of the values from the opposite result: at least 0 if it holds, at most 0 if it fails."""
    match node:
        case Logic():
            parts = [margin_of(part, value, source) for part in node.parts]
            return min(parts) if node.operator == "&" else max(parts)
        case Not():
            return -margin_of(node.operand, value, source)
        case Relation() if is_truth(node.left):
            # The margin of an equivalence is the smaller one.
            left, right = margin_of(node.left, value, source), margin_of(node.right, value, source)
            agree = min(abs(left), abs(right))
            return agree if value_of(node, value, source) else -agree
        case Relation():
            left, right = value_of(node.left, value, source), value_of(node.right, value, source)
            apart = 0.0 if left == right else left - right  # equal infinities have no difference
            return _distance(node.operator, apart, right)
        case _:
            raise AssertionError("a number has no margin")


def lacking(node: Node, empty: Callable[[int | str, str], bool]) -> Iterator[Atom]:
    """The atoms of empty regions that are not in a sum with nonempty regions of the same condition.

    A comparison of numbers counts as the difference of its sides.
    """
    if isinstance(node, Relation) and not is_truth(node.left):
        terms = [*_terms(node.left, 1), *_terms(node.right, -1)]
    else:
        terms = [] if is_truth(node) else list(_terms(node, 1))
    sums: dict[tuple[int, str], list[Atom]] = {}
    for sign, term in terms:
        if isinstance(term, Atom):
            sums.setdefault((sign, term.condition), []).append(term)
    for atoms in sums.values():
        if all(empty(atom.region, atom.condition) for atom in atoms):
            yield from atoms
    for below in [term for _, term in terms] or [node]:
        for child in children(below):
            yield from lacking(child, empty)


def _terms(node: Node, sign: int) -> Iterator[tuple[int, Node]]:
    """The terms of a sum with their signs."""
    match node:
        case Arithmetic() if node.operator in "+-":
            yield from _terms(node.left, sign)
            yield from _terms(node.right, sign if node.operator == "+" else -sign)
        case Call() if node.function == "sum":
            for argument in node.arguments:
                yield from _terms(argument, sign)
        case Signed():
            yield from _terms(node.operand, -sign if node.sign == "-" else sign)
        case _:
            yield sign, node


def compare(sign: str, left: float, right: float) -> bool:
    """Whether a comparison of two numbers holds."""
    return _COMPARISONS[sign](left, right)


def close(left: float, right: float) -> bool:
    """Whether two surprisals count as equal under `=`; the tolerances are SyntaxGym's."""
    return left == right or abs(left - right) <= _tolerance(right)


def _finite(node: Arithmetic | Call, values: list[float], source: str) -> float:
    """The result of an operation, or FormulaError if it is undefined."""
    name = node.operator if isinstance(node, Arithmetic) else node.function
    try:
        result = _OPERATIONS[name](*values)
    except ZeroDivisionError:
        _undefined("division by zero", node, source)
    except OverflowError:
        _undefined("the result is too large", node, source)
    except ValueError:
        _undefined(f"{name} of {values[0]:g} is undefined", node, source)
    if math.isnan(result):
        _undefined(f"{name} of infinite values is undefined", node, source)
    if math.isinf(result) and all(map(math.isfinite, values)):
        _undefined("the result is too large", node, source)
    return result


def _undefined(message: str, node: Node, source: str) -> NoReturn:
    raise FormulaError(message, source, node.start, node.end) from None


def _round(number: float, digits: float = 0) -> float:
    if math.isinf(number):
        return number
    return float(round(number, int(digits)))


_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "abs": abs,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "mean": lambda *values: fmean(values),
    "sum": lambda *values: math.fsum(values),
    "sqrt": math.sqrt,
    "log": math.log,
    "exp": math.exp,
    "round": _round,
}


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": close,
    "==": operator.eq,
    "!=": operator.ne,
}


def _distance(sign: str, apart: float, right: float) -> float:
    match sign:
        case ">" | ">=":
            return apart
        case "<" | "<=":
            return -apart
        case "=":
            return 0.0 if math.isinf(right) and not apart else _tolerance(right) - abs(apart)
        case "==":
            return -abs(apart)
        case _:
            return abs(apart)


def _tolerance(right: float) -> float:
    return 1e-3 + 1e-5 * abs(right)
