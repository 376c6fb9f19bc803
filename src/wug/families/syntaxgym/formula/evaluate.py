"""What a prediction comes to, given the surprisals: the value of each node, and the margin of the verdict."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from statistics import fmean
from typing import NoReturn, TypeAlias

from wug.errors import FormulaError
from wug.families.syntaxgym.formula import tree
from wug.families.syntaxgym.formula.tree import Atom, Node, children, is_truth

Surprisal: TypeAlias = Callable[[int | str, str], float]
"""The value of a region (a number, or `*`) in a condition."""


def value_of(node: Node, value: Surprisal, source: str) -> float:
    """The value of a node; a truth value is a bool, which the parser keeps out of arithmetic."""
    match node:
        case tree.Number():
            return node.value
        case tree.Atom():
            return value(node.region, node.condition)
        case tree.Signed():
            inner = value_of(node.operand, value, source)
            return -inner if node.sign == "-" else inner
        case tree.Not():
            return not value_of(node.operand, value, source)
        case tree.Logic():
            parts = [bool(value_of(part, value, source)) for part in node.parts]
            return all(parts) if node.operator == "&" else any(parts)
        case tree.Comparison():
            left, right = value_of(node.left, value, source), value_of(node.right, value, source)
            return compare(node.operator, left, right)
        case tree.Arithmetic():
            return _finite(node, [value_of(node.left, value, source), value_of(node.right, value, source)], source)
        case tree.Call():
            return _finite(node, [value_of(argument, value, source) for argument in node.arguments], source)


def margin_of(node: Node, value: Surprisal, source: str) -> float:
    """How far the values are from the other verdict: 0 or more where a truth value holds, 0 or less where it fails."""
    match node:
        case tree.Logic():
            parts = [margin_of(part, value, source) for part in node.parts]
            return min(parts) if node.operator == "&" else max(parts)
        case tree.Not():
            return -margin_of(node.operand, value, source)
        case tree.Comparison() if is_truth(node.left):
            # Two truth values agree as firmly as the less firm of them.
            left, right = margin_of(node.left, value, source), margin_of(node.right, value, source)
            agree = min(abs(left), abs(right))
            return agree if value_of(node, value, source) else -agree
        case tree.Comparison():
            left, right = value_of(node.left, value, source), value_of(node.right, value, source)
            apart = 0.0 if left == right else left - right  # equal infinities have no difference
            return _distance(node.operator, apart, right)
        case _:
            raise AssertionError("only a truth value has a margin")


def lacking(node: Node, empty: Callable[[int | str, str], bool]) -> Iterator[Atom]:
    """The atoms of empty regions that are not added to others of their condition that are not empty.

    A comparison of numbers counts as the difference of its sides.
    """
    if isinstance(node, tree.Comparison) and not is_truth(node.left):
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
    """What a sum adds up, each with its sign."""
    match node:
        case tree.Arithmetic() if node.operator in "+-":
            yield from _terms(node.left, sign)
            yield from _terms(node.right, sign if node.operator == "+" else -sign)
        case tree.Call() if node.function == "sum":
            for argument in node.arguments:
                yield from _terms(argument, sign)
        case tree.Signed():
            yield from _terms(node.operand, -sign if node.sign == "-" else sign)
        case _:
            yield sign, node


def compare(sign: str, left: float, right: float) -> bool:
    """Whether a comparison of two numbers holds."""
    return _COMPARISONS[sign](left, right)


def close(left: float, right: float) -> bool:
    """Whether two surprisals count as equal under `=`; the tolerances are SyntaxGym's."""
    return left == right or abs(left - right) <= _tolerance(right)


def _finite(node: tree.Arithmetic | tree.Call, values: list[float], source: str) -> float:
    """The result of an operation; one that is no number is an error under the operation's columns."""
    name = node.operator if isinstance(node, tree.Arithmetic) else node.function
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


def _round(number: float, places: float = 0) -> float:
    if math.isinf(number):
        return number
    return float(round(number, int(places)))


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
