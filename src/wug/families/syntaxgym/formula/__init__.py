"""The language of predictions: what a suite says about surprisals, as a checked tree.

    (6;%match_sing%) < (6;%mismatch_sing%) & (6;%match_plural%) < (6;%mismatch_plural%)

Variables are `(region number;%condition%)`, `(*;%condition%)` for a whole sentence, or `(region name;%condition%)`.
From tight to loose: `- + ~` before a value; `* /`; `+ -`; `< <= > >= = == !=`; `not`; `& |` (also `and or`).
Grouping is with ( ) or [ ]. `=` means close, `==` and `!=` are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NoReturn, TypeAlias

from wug.errors import FormulaError, suggestion
from wug.families.syntaxgym.formula import english as _formula_english
from wug.families.syntaxgym.formula import parse as _formula_parser
from wug.families.syntaxgym.formula.tree import (
    WHOLE,
    Arithmetic,
    Atom,
    Call,
    Comparison,
    Logic,
    Node,
    Not,
    Number,
    Signed,
    is_truth,
    walk,
)

__all__ = ["WHOLE", "Compared", "Comparison", "Formula", "Judgement", "Logic", "Node", "canonical", "close", "parse"]

Surprisal: TypeAlias = Callable[[int | str, str], float]
"""The value of a region (a number, or `*`) in a condition."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One comparison of a prediction, with the values on both sides."""

    formula: str
    left: float
    operator: str
    right: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a prediction holds, and by how much."""

    holds: bool
    margin: float
    """How far the values are from the other verdict: 0 or more where it holds, 0 or less where it fails."""
    comparisons: tuple[Compared, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """A prediction: its text and its tree."""

    source: str
    tree: Node

    def atoms(self) -> list[tuple[int | str, str]]:
        """The regions and conditions it speaks of, each once, in order."""
        return list(dict.fromkeys((atom.region, atom.condition) for atom in self._atoms()))

    def resolve(self, regions: Mapping[int, str], conditions: Collection[str]) -> Formula:
        """The same prediction with region names looked up; FormulaError for an unknown region or condition."""
        for atom in self._atoms():
            _region(atom, regions, self.source)
            if atom.condition not in conditions:
                message = f"unknown condition {atom.condition!r}.{suggestion(atom.condition, conditions)}"
                raise FormulaError(message, self.source, *atom.condition_columns)
        return replace(self, tree=_resolved(self.tree, regions, self.source))

    def holds(self, value: Surprisal) -> bool:
        """Whether the prediction is true of these values; FormulaError where it has no value."""
        return bool(_value(self.tree, value, self.source))

    def judge(self, value: Surprisal) -> Judgement:
        """Whether it holds, by how much, and the two sides of each comparison of numbers in it."""
        compared = []
        for node in walk(self.tree):
            if isinstance(node, Comparison) and not is_truth(node.left):
                left, right = (_value(side, value, self.source) for side in (node.left, node.right))
                compared.append(
                    Compared(canonical(node), left, node.operator, right, _compare(node.operator, left, right))
                )
        return Judgement(self.holds(value), _margin(self.tree, value, self.source), tuple(compared))

    def canonical(self) -> str:
        """The prediction in one fixed way of writing, with no bracket that is not needed."""
        return canonical(self.tree)

    def english(self, regions: Mapping[int, str]) -> str:
        """The prediction as an English sentence without a capital or a full stop."""
        return _formula_english.sentence(self.tree, regions)

    def _atoms(self) -> list[Atom]:
        return [node for node in walk(self.tree) if isinstance(node, Atom)]


def parse(source: str) -> Formula:
    """The prediction that `source` says, or FormulaError with a caret under the fault."""
    return Formula(source, _formula_parser.parse(source))


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


def close(left: float, right: float) -> bool:
    """Whether two surprisals count as equal under `=`; the tolerances are SyntaxGym's."""
    return left == right or abs(left - right) <= _tolerance(right)


def _tolerance(right: float) -> float:
    return 1e-3 + 1e-5 * abs(right)


def _bracketed(node: Node, needed: bool) -> str:
    return f"({canonical(node)})" if needed else canonical(node)


def _region(atom: Atom, regions: Mapping[int, str], source: str) -> int | str:
    if atom.region == WHOLE or atom.region in regions:
        return atom.region
    named = [number for number, name in regions.items() if name == atom.region]
    if len(named) == 1:
        return named[0]
    if named:
        numbers = " and ".join(map(str, named))
        message = f"regions {numbers} are both named {atom.region!r}: use the number"
    elif isinstance(atom.region, int):
        message = f"unknown region {atom.region}. Regions are numbered 1 to {len(regions)}"
    else:
        message = f"unknown region {atom.region!r}.{suggestion(atom.region, regions.values())}"
    raise FormulaError(message, source, *atom.region_columns)


def _resolved(node: Node, regions: Mapping[int, str], source: str) -> Node:
    def again(child: Node) -> Node:
        return _resolved(child, regions, source)

    match node:
        case Number():
            return node
        case Atom():
            return replace(node, region=_region(node, regions, source))
        case Signed() | Not():
            return replace(node, operand=again(node.operand))
        case Arithmetic() | Comparison():
            return replace(node, left=again(node.left), right=again(node.right))
        case Call():
            return replace(node, arguments=tuple(map(again, node.arguments)))
        case Logic():
            return replace(node, parts=tuple(map(again, node.parts)))


def _value(node: Node, value: Surprisal, source: str) -> float:
    """The value of a node; a truth value is a bool, which the parser keeps out of arithmetic."""
    match node:
        case Number():
            return node.value
        case Atom():
            return value(node.region, node.condition)
        case Signed():
            inner = _value(node.operand, value, source)
            return -inner if node.sign == "-" else inner
        case Not():
            return not _value(node.operand, value, source)
        case Logic():
            parts = [bool(_value(part, value, source)) for part in node.parts]
            return all(parts) if node.operator == "&" else any(parts)
        case Comparison():
            left, right = _value(node.left, value, source), _value(node.right, value, source)
            return _compare(node.operator, left, right)
        case Arithmetic():
            return _finite(node, [_value(node.left, value, source), _value(node.right, value, source)], source)
        case Call():
            return _finite(node, [_value(argument, value, source) for argument in node.arguments], source)


def _finite(node: Arithmetic | Call, values: list[float], source: str) -> float:
    """The result of an operation; one that is no number is an error under the operation's columns."""
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


def _round(number: float, places: float = 0) -> float:
    if math.isinf(number):
        return number
    return float(round(number, int(places)))


_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
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


def _compare(operator: str, left: float, right: float) -> bool:
    match operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "=":
            return close(left, right)
        case "==":
            return left == right
        case _:
            return left != right


def _margin(node: Node, value: Surprisal, source: str) -> float:
    match node:
        case Logic():
            parts = [_margin(part, value, source) for part in node.parts]
            return min(parts) if node.operator == "&" else max(parts)
        case Not():
            return -_margin(node.operand, value, source)
        case Comparison() if is_truth(node.left):
            # Two truth values agree as firmly as the less firm of them.
            left, right = _margin(node.left, value, source), _margin(node.right, value, source)
            agree = min(abs(left), abs(right))
            return agree if _value(node, value, source) else -agree
        case Comparison():
            left, right = _value(node.left, value, source), _value(node.right, value, source)
            apart = 0.0 if left == right else left - right  # equal infinities have no difference
            return _distance(node.operator, apart, right)
        case _:
            raise AssertionError("only a truth value has a margin")


def _distance(operator: str, apart: float, right: float) -> float:
    match operator:
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
