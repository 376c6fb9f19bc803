"""Limits on what a pickle builds, checked before it is loaded and once more after.

A pickle of a hundred bytes can double a value thirty times, and one of two million can nest so deep that hashing it
crashes Python. PyTorch writes neither.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

MAX_INSTRUCTIONS = 10_000_000
"""A vocabulary of a million words has half as many."""
MAX_VALUES = 10_000_000
"""Values, each counted as often as it is referenced."""
MAX_DEPTH = 200
"""Nested values; a module of modules has some fifty."""

_GROWS = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")
_GETS = ("GET", "BINGET", "LONG_BINGET")
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT")


class Extent(NamedTuple):
    """The number of values in an object, and its nesting depth."""

    values: int = 1
    depth: int = 0


_MARK = Extent(0, -1)


def check_instructions(file: BinaryIO) -> None:
    """UnpicklingError if the pickle at this position would build too much; the position is restored."""
    start = file.tell()
    stack: list[Extent] = []
    memo: dict[int, Extent] = {}
    for step, (instruction, argument, _) in enumerate(pickletools.genops(file)):
        if step >= MAX_INSTRUCTIONS:
            raise pickle.UnpicklingError(f"more than {MAX_INSTRUCTIONS:,} instructions, which is the bound")
        name = instruction.name
        if name in _PUTS or name == "MEMOIZE":
            number = len(memo) if name == "MEMOIZE" else int(argument or 0)
            if number > step:  # the reader would make room for all before it
                raise pickle.UnpicklingError(f"instruction {step} keeps its value as number {number:,}")
            memo[number] = _last(stack)
        elif name in _GETS:
            stack.append(memo.get(int(argument or 0), Extent()))
        elif name == "MARK":
            stack.append(_MARK)
        elif name == "DUP":
            stack.append(_last(stack))
        else:
            _simulate(instruction, stack)
            require(_last(stack) if stack else Extent())
    file.seek(start)


def check_values(root: object) -> None:
    """UnpicklingError if an object is too large or too deep; a value that contains itself counts once."""
    found: dict[int, Extent | None] = {}
    waiting: list[tuple[Any, Iterator[Any], list[Extent]]] = []

    def enter(value: object) -> Extent | None:
        """The extent of a value; None if its parts come first."""
        if not isinstance(value, (tuple, list, dict, set, frozenset)) and not hasattr(value, "state"):
            return Extent()
        if id(value) in found:
            return found[id(value)] or Extent()
        found[id(value)] = None
        waiting.append((value, _parts(value), []))
        return None

    enter(root)
    while waiting:
        value, parts, extents = waiting[-1]
        for part in parts:
            extent = enter(part)
            if extent is None:
                break
            extents.append(extent)
        else:
            waiting.pop()
            whole = _around(extents)
            require(whole)
            found[id(value)] = whole
            if waiting:
                waiting[-1][2].append(whole)


def require(extent: Extent) -> None:
    """UnpicklingError if an extent exceeds the limits."""
    if extent.values > MAX_VALUES:
        raise pickle.UnpicklingError(f"it describes more than {MAX_VALUES:,} values, which is the bound")
    if extent.depth > MAX_DEPTH:
        raise pickle.UnpicklingError(f"its values are nested more than {MAX_DEPTH} deep, which is the bound")


def _simulate(instruction: pickletools.OpcodeInfo, stack: list[Extent]) -> None:
    """Apply an instruction to the stack of extents."""
    before = instruction.stack_before
    parts: list[Extent] = []
    if pickletools.markobject in before or (instruction.name == "POP" and stack and stack[-1] is _MARK):
        while stack and (top := stack.pop()) is not _MARK:
            parts.append(top)
        below = max(0, before.index(pickletools.markobject)) if pickletools.markobject in before else 0
    else:
        below = len(before)
    for _ in range(below):
        parts.append(stack.pop() if stack else Extent())
    if instruction.stack_after:
        if instruction.name in _GROWS and parts:
            container, added = parts[-1], _around(parts[:-1])
            stack.append(Extent(container.values + added.values, max(container.depth, added.depth)))
        else:
            stack.append(_around(parts))


def _around(parts: list[Extent]) -> Extent:
    """The extent of a value with these parts."""
    return Extent(1 + sum(p.values for p in parts), 1 + max((p.depth for p in parts), default=-1))


def _last(stack: list[Extent]) -> Extent:
    if not stack:
        raise pickle.UnpicklingError("an instruction works on a value that is not there")
    return stack[-1]


def _parts(value: object) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield from value
    if hasattr(value, "state"):
        yield getattr(value, "args", None)
        yield value.state
