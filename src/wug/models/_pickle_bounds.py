"""How large, how deep and how tangled what a pickle builds may be: found out before it is built, and once more after.

A pickle of a hundred bytes can say "twice the value before" thirty times over, and one of two million can nest so
deep that Python's own hashing of it ends the process. Neither is anything that PyTorch writes.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

LONGEST = 10_000_000
"""Instructions of a pickle; a vocabulary of a million words has half as many."""
LARGEST = 10_000_000
"""Values in what it builds, each counted as often as it is spoken of."""
DEEPEST = 200
"""Values inside each other; a module of modules has some fifty."""

_GROWS = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")
_GETS = ("GET", "BINGET", "LONG_BINGET")
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT")


class Extent(NamedTuple):
    """How many values something is made of, and how many of them stand inside each other."""

    values: int = 1
    depth: int = 0


_MARK = Extent(0, -1)


def check_instructions(file: BinaryIO) -> None:
    """UnpicklingError where the pickle that begins here would build too much; the file is where it was afterwards."""
    start = file.tell()
    stack: list[Extent] = []
    memo: dict[int, Extent] = {}
    for step, (instruction, argument, _) in enumerate(pickletools.genops(file)):
        if step >= LONGEST:
            raise pickle.UnpicklingError(f"more than {LONGEST:,} instructions, which is the bound")
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


def check_values(root: Any) -> None:
    """UnpicklingError where what was built is too large or too deep; a value that contains itself counts once."""
    found: dict[int, Extent | None] = {}
    waiting: list[tuple[Any, Iterator[Any], list[Extent]]] = []

    def enter(value: Any) -> Extent | None:
        """The extent of a value; None where its parts have to be looked at first."""
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
    """UnpicklingError where something is larger or deeper than it may be."""
    if extent.values > LARGEST:
        raise pickle.UnpicklingError(f"it describes more than {LARGEST:,} values, which is the bound")
    if extent.depth > DEEPEST:
        raise pickle.UnpicklingError(f"its values are nested more than {DEEPEST} deep, which is the bound")


def _simulate(instruction: pickletools.OpcodeInfo, stack: list[Extent]) -> None:
    """Do to the stack of extents what an instruction does to the stack of values."""
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


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    elif isinstance(value, (tuple, list, set, frozenset)):
        yield from value
    if hasattr(value, "state"):
        yield value.args
        yield value.state
