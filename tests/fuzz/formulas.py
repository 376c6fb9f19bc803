"""Predictions with their truth, made together: an independent evaluator for the language of formulas."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

REGIONS = {1: "subject", 2: "verb", 3: "end"}
CONDITIONS = ("match", "mis match", "x-1")


class Undefined(Exception):
    """A value that a formula cannot have."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a formula, how tightly it holds together, and its value; None where it is undefined."""

    text: str
    tight: int
    value: float | bool | None


ATOM, SIGN, PRODUCT, SUM, COMPARED, DENIED, JOINED = 7, 6, 5, 4, 3, 2, 1
"""From tight to loose, as the documentation lists them."""

Values = dict[tuple[int | str, str], float]


def values(draw: random.Random) -> Values:
    """The surprisal of every region in every condition; some are equal, so that ties occur."""
    few = [draw.choice((0.0, 1.0, -2.5, 1e-3, 1e6, draw.uniform(-3, 40))) for _ in range(5)]
    regions: tuple[int | str, ...] = (*REGIONS, "*")
    return {(region, name): draw.choice(few) for region in regions for name in CONDITIONS}


def prediction(draw: random.Random, given: Values) -> Part:
    """A formula that can be read."""
    return _truth(draw, given, draw.randint(0, 4))


def _truth(draw: random.Random, given: Values, depth: int) -> Part:
    kind = draw.random()
    if depth <= 0 or kind < 0.5:
        left, right = _number(draw, given, depth), _number(draw, given, depth - 1)
        operator = draw.choice(("<", "<=", ">", ">=", "=", "==", "!="))
        return Part(
            f"{_within(draw, left, SUM)}{_gap(draw)}{operator}{_gap(draw)}{_within(draw, right, SUM)}",
            COMPARED,
            _compared(operator, left.value, right.value),
        )
    if kind < 0.65:
        inner = _truth(draw, given, depth - 1)
        word, needed = draw.choice((("~", ATOM), ("not ", COMPARED), ("NOT ", COMPARED)))
        value = None if inner.value is None else not inner.value
        return Part(f"{word}{_within(draw, inner, needed)}", SIGN if word == "~" else DENIED, value)
    if kind < 0.75:
        left, right = _truth(draw, given, depth - 1), _truth(draw, given, depth - 1)
        operator = draw.choice(("=", "==", "!="))
        known = left.value is not None and right.value is not None
        text = f"{_within(draw, left, ATOM)} {operator} {_within(draw, right, ATOM)}"
        return Part(text, COMPARED, (left.value == right.value) == (operator != "!=") if known else None)
    parts = [_truth(draw, given, depth - 1) for _ in range(draw.randint(2, 4))]
    sign = draw.choice("&|")
    word = draw.choice((f" {sign} ", sign, " and " if sign == "&" else " or "))
    value = None
    if all(part.value is not None for part in parts):
        value = all(part.value for part in parts) if sign == "&" else any(part.value for part in parts)
    return Part(word.join(_within(draw, part, DENIED) for part in parts), JOINED, value)


def _number(draw: random.Random, given: Values, depth: int) -> Part:
    kind = draw.random()
    if depth <= 0 or kind < 0.4:
        return _atom(draw, given)
    if kind < 0.5:
        inner, sign = _number(draw, given, depth - 1), draw.choice("+-")
        value = None if inner.value is None else -inner.value if sign == "-" else inner.value
        return Part(f"{sign}{_within(draw, inner, SIGN)}", SIGN, value)
    if kind < 0.65:
        return _called(draw, [_number(draw, given, depth - 1) for _ in range(draw.randint(1, 3))])
    operator = draw.choice("+-*/")
    own = PRODUCT if operator in "*/" else SUM
    left, right = _number(draw, given, depth - 1), _number(draw, given, depth - 1)
    text = f"{_within(draw, left, own)}{_gap(draw)}{operator}{_gap(draw)}{_within(draw, right, own + 1)}"
    return Part(text, own, _computed(operator, [left.value, right.value]))


def _atom(draw: random.Random, given: Values) -> Part:
    if draw.random() < 0.3:
        text = draw.choice(("0", "1", "0.5", ".25", "3.", "1e2", "12.75", "1E-3"))
        return Part(text, ATOM, float(text))
    region, name = draw.choice(list(given))
    shown = REGIONS[region] if isinstance(region, int) and draw.random() < 0.3 else region
    return Part(f"({shown};%{name}%)", ATOM, given[region, name])


def _called(draw: random.Random, arguments: list[Part]) -> Part:
    name = draw.choice(("abs", "min", "max", "mean", "sum", "sqrt", "log", "exp", "round"))
    if name not in ("min", "max", "mean", "sum"):
        arguments = arguments[:1]
    inside = [f"{argument.text}" for argument in arguments]
    given = [argument.value for argument in arguments]
    if name == "round" and draw.random() < 0.5:
        places = draw.randint(0, 4)
        inside.append(str(places))
        given.append(places)
    opening, closing = draw.choice(("()", "[]"))
    return Part(f"{name}{opening}{', '.join(inside)}{closing}", ATOM, _computed(name, given))


def _computed(name: str, given: list[float | bool | None]) -> float | None:
    """The value of an operation; None where there is none."""
    if any(value is None for value in given):
        return None
    numbers = [float(value) for value in given if value is not None]
    operations: dict[str, Callable[..., float]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "abs": abs,
        "min": lambda *v: min(v),
        "max": lambda *v: max(v),
        "mean": lambda *v: math.fsum(v) / len(v),
        "sum": lambda *v: math.fsum(v),
        "sqrt": math.sqrt,
        "log": math.log,
        "exp": math.exp,
        "round": lambda a, places=0.0: float(round(a, int(places))),
    }
    try:
        value = operations[name](*numbers)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _compared(operator: str, left: float | bool | None, right: float | bool | None) -> bool | None:
    if left is None or right is None:
        return None
    match operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "=":  # SyntaxGym's: numpy's isclose with a tolerance of 0.001
            return left == right or abs(left - right) <= 1e-3 + 1e-5 * abs(right)
        case "==":
            return left == right
        case _:
            return left != right


def _within(draw: random.Random, part: Part, needed: int) -> str:
    """A part where it must hold together at least so tightly: in brackets where needed, or now and then."""
    if part.tight >= needed and draw.random() < 0.85:
        return part.text
    opening, closing = draw.choice(("()", "[]"))
    return f"{opening}{part.text}{closing}"


def _gap(draw: random.Random) -> str:
    return draw.choice(("", " ", "  ", "\t"))
