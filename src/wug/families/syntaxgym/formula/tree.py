"""The tree of a prediction: nodes, canonical text, and evaluation given the surprisals."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field, replace
from statistics import fmean
from types import UnionType
from typing import NoReturn, TypeAlias, TypeGuard

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
class Operation(FormulaNode):
    """An operator or a function, and what it is applied to."""

    operator: str
    operands: tuple[Node, ...]


class Signed(Operation):
    """A number after `-` or `+`."""


class Arithmetic(Operation):
    """Two numbers joined by `+ - * /`."""


class Call(Operation):
    """A function of numbers."""


class Relation(Operation):
    """Two numbers compared; with `= == !=` also two truth values."""


class Logic(Operation):
    """Truth values joined by `&` or by `|`; no operand has the same operator."""


class Not(Operation):
    """A negated truth value."""


Node: TypeAlias = Number | Atom | Signed | Arithmetic | Call | Relation | Logic | Not


def is_truth(node: Node) -> bool:
    """Whether the node is a truth value, not a number."""
    return isinstance(node, Relation | Logic | Not)


def compares_numbers(node: Node) -> TypeGuard[Relation]:
    """Whether the node is a comparison of two numbers."""
    return isinstance(node, Relation) and not is_truth(node.operands[0])


def children(node: Node) -> tuple[Node, ...]:
    """The children of a node, from left to right."""
    return node.operands if isinstance(node, Operation) else ()


def walk(node: Node) -> Iterator[Node]:
    """The node and its descendants, from left to right."""
    yield node
    for child in children(node):
        yield from walk(child)


def conditions_in(node: Node) -> set[str]:
    """The conditions that a node mentions."""
    return {atom.condition for atom in walk(node) if isinstance(atom, Atom)}


def is_in_bits(node: Node) -> bool:
    """Whether a number, or what a comparison compares, is an amount of surprisal."""
    for part in walk(node):
        if isinstance(part, Call) and part.operator in ("log", "exp", "sqrt"):
            return False
        if isinstance(part, Arithmetic) and part.operator in "*/":
            left, right = map(conditions_in, part.operands)
            if right and (left or part.operator == "/"):
                return False
    return bool(conditions_in(node))


def with_atoms(node: Node, change: Callable[[Atom], Atom]) -> Node:
    """The same tree with every atom changed."""
    if isinstance(node, Operation):
        return replace(node, operands=tuple(with_atoms(operand, change) for operand in node.operands))
    return change(node) if isinstance(node, Atom) else node


def number_text(value: float) -> str:
    """A number as it is written in a prediction."""
    return repr(value).removesuffix(".0")


def canonical(node: Node) -> str:
    """The canonical text of a node, which parses to the same node."""
    match node:
        case Number():
            return number_text(node.value)
        case Atom():
            return f"({node.region};%{node.condition}%)"
        case Call():
            return f"{node.operator}({', '.join(map(canonical, node.operands))})"
        case Signed():
            return node.operator + _bracketed(node.operands[0], Arithmetic)
        case Not():
            inner = canonical(node.operands[0])
            return f"~{inner}" if isinstance(node.operands[0], Not) else f"~({inner})"
        case Arithmetic(operands=(first, second)):
            loose = ("+", "-") if node.operator in "*/" else ()
            left = _bracketed(first, Arithmetic, loose)
            # The right side keeps its brackets: floating-point sums depend on their order.
            right = _bracketed(second, Arithmetic, "+-*/" if loose else "+-")
            return f"{left} {node.operator} {right}"
        case Logic():
            return f" {node.operator} ".join(_bracketed(part, Logic) for part in node.operands)
        case _:
            return f" {node.operator} ".join(_bracketed(side, Relation | Logic) for side in node.operands)


def _bracketed(node: Node, loose: type[Operation] | UnionType, operators: Container[str] | None = None) -> str:
    """The canonical text of an operand, in brackets if it is of a kind that binds less tightly."""
    needed = isinstance(node, loose) and (operators is None or node.operator in operators)
    return f"({canonical(node)})" if needed else canonical(node)


Surprisal: TypeAlias = Callable[[int | str, str], float]
"""The value of a region (a number, or `*`) in a condition."""


def value_of(node: Node, value: Surprisal, source: str) -> float:
    """The value of a node; a truth value is a bool, which the parser keeps out of arithmetic."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Atom):
        return value(node.region, node.condition)
    operands = [value_of(operand, value, source) for operand in node.operands]
    match node:
        case Signed():
            return -operands[0] if node.operator == "-" else operands[0]
        case Not():
            return not operands[0]
        case Logic():
            return all(operands) if node.operator == "&" else any(operands)
        case Relation():
            return COMPARISONS[node.operator](*operands)
        case _:
            return _finite(node, operands, source)


def margin_of(node: Node, value: Surprisal, source: str) -> float:
    """Distance of the values from the opposite result: at least 0 if it holds, at most 0 if it fails."""
    if compares_numbers(node):
        left, right = (value_of(side, value, source) for side in node.operands)
        apart = 0.0 if left == right else left - right  # equal infinities have no difference
        return _distance(node.operator, apart, right)
    margins = [margin_of(operand, value, source) for operand in children(node)]
    match node:
        case Logic():
            return min(margins) if node.operator == "&" else max(margins)
        case Not():
            return -margins[0]
        case _:
            # The margin of an equivalence is the smaller one.
            agree = min(map(abs, margins))
            return agree if value_of(node, value, source) else -agree


def lacking(node: Node, empty: Callable[[int | str, str], bool]) -> Iterator[Atom]:
    """The atoms of empty regions that are not in a sum with nonempty regions of the same condition.

    A comparison of numbers counts as the difference of its sides.
    """
    if compares_numbers(node):
        left, right = node.operands
        terms = [*_terms(left, 1), *_terms(right, -1)]
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
    if not isinstance(node, Operation) or node.operator not in ("+", "-", "sum"):
        yield sign, node
        return
    *first, last = node.operands
    for operand in first:
        yield from _terms(operand, sign)
    yield from _terms(last, -sign if node.operator == "-" else sign)


def close(left: float, right: float) -> bool:
    """Whether two surprisals count as equal under `=`; the tolerances are SyntaxGym's."""
    return left == right or abs(left - right) <= _tolerance(right)


def _finite(node: Arithmetic | Call, values: list[float], source: str) -> float:
    """The result of an operation, or FormulaError if it is undefined."""
    try:
        result = _OPERATIONS[node.operator](*values)
    except ZeroDivisionError:
        _undefined("division by zero", node, source)
    except OverflowError:
        _undefined("the result is too large", node, source)
    except ValueError:
        _undefined(f"{node.operator} of {values[0]:g} is undefined", node, source)
    if math.isnan(result):
        _undefined(f"{node.operator} of infinite values is undefined", node, source)
    if math.isinf(result) and all(map(math.isfinite, values)):
        _undefined("the result is too large", node, source)
    return result


def _undefined(message: str, node: Node, source: str) -> NoReturn:
    raise FormulaError(message, source, node.start, node.end) from None


def _round(number: float, digits: float = 0) -> float:
    return number if math.isinf(number) else float(round(number, int(digits)))


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

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
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
