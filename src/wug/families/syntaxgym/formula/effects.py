"""The effects that a prediction is about: the difference of both sides of each inequality that must hold."""

from __future__ import annotations

from string import ascii_lowercase
from typing import NamedTuple, TypeGuard

from wug.families.syntaxgym.formula.tree import (
    Arithmetic,
    Atom,
    Call,
    Logic,
    Node,
    Number,
    Relation,
    compares_numbers,
    walk,
)


class PredictedEffect(NamedTuple):
    """A difference that is positive where the prediction holds: that of an inequality's larger and smaller side."""

    part: str
    """A letter for each of several conjuncts; empty if the prediction is about one effect."""
    relation: Relation
    detail: str
    """The field of an outcome's details that has its value."""

    @property
    def is_interaction(self) -> bool:
        """Whether it is a difference of differences of four conditions, as in a 2×2 design."""
        sides = [side for side in self.relation.operands if side != Number(0)]
        if len(sides) == 1 and _is_difference(sides[0]):
            sides = [*sides[0].operands]
        cells = [_conditions(operand) for side in sides if _is_difference(side) for operand in side.operands]
        return [len(cell) for cell in cells] == [1, 1, 1, 1] and len(set().union(*cells)) == 4


def predicted_effects(tree: Node) -> list[PredictedEffect]:
    """The effects of a prediction that is an inequality, or a conjunction with inequalities."""
    if _is_inequality(tree):
        return [PredictedEffect("", tree, "margin")]
    parts = tree.operands if isinstance(tree, Logic) and tree.operator == "&" else ()
    inequalities = [part for part in parts if _is_inequality(part)]
    letters = [*ascii_lowercase, *map(str, range(len(inequalities)))]
    pairs = zip(letters, inequalities, strict=False)
    return [PredictedEffect(name if len(inequalities) > 1 else "", part, f"margin_{name}") for name, part in pairs]


def is_in_bits(node: Node) -> bool:
    """Whether a number, or what a comparison compares, is an amount of surprisal."""
    for part in walk(node):
        if isinstance(part, Call) and part.operator in ("log", "exp", "sqrt"):
            return False
        if isinstance(part, Arithmetic) and part.operator in "*/":
            left, right = map(_conditions, part.operands)
            if right and (left or part.operator == "/"):
                return False
    return bool(_conditions(node))


def _is_inequality(node: Node) -> TypeGuard[Relation]:
    return compares_numbers(node) and node.operator in ("<", "<=", ">", ">=")


def _is_difference(node: Node) -> TypeGuard[Arithmetic]:
    return isinstance(node, Arithmetic) and node.operator == "-"


def _conditions(node: Node) -> set[str]:
    return {atom.condition for atom in walk(node) if isinstance(atom, Atom)}
