"""The effects that a prediction is about: the difference of both sides of each inequality that must hold."""

from __future__ import annotations

from string import ascii_lowercase
from typing import NamedTuple, TypeGuard

from wug.families.syntaxgym.formula.tree import Arithmetic, Atom, Call, Logic, Node, Number, Relation, is_truth, walk

INEQUALITIES = ("<", "<=", ">", ">=")
OTHER_UNITS = ("log", "exp", "sqrt")
"""Functions of bits that are not bits."""


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
        left, right = self.relation.left, self.relation.right
        if left == Number(0) or right == Number(0):
            difference = right if left == Number(0) else left
            if not _is_difference(difference):
                return False
            left, right = difference.left, difference.right
        if not (_is_difference(left) and _is_difference(right)):
            return False
        cells = [_conditions(side) for both in (left, right) for side in (both.left, both.right)]
        return all(len(cell) == 1 for cell in cells) and len(set().union(*cells)) == len(cells)

    @property
    def is_in_bits(self) -> bool:
        """Whether it is an amount of surprisal."""
        for node in walk(self.relation):
            if isinstance(node, Call) and node.function in OTHER_UNITS:
                return False
            if isinstance(node, Arithmetic) and node.operator in "*/":
                right = bool(_conditions(node.right))
                if right and (node.operator == "/" or _conditions(node.left)):
                    return False
        return True


def predicted_effects(tree: Node) -> list[PredictedEffect]:
    """The effects of a prediction that is an inequality, or a conjunction with inequalities."""
    if _is_inequality(tree):
        return [PredictedEffect("", tree, "margin")]
    parts = tree.parts if isinstance(tree, Logic) and tree.operator == "&" else ()
    inequalities = [part for part in parts if _is_inequality(part)]
    letters = [*ascii_lowercase, *map(str, range(len(inequalities)))]
    pairs = zip(letters, inequalities, strict=False)
    return [PredictedEffect(name if len(inequalities) > 1 else "", part, f"margin_{name}") for name, part in pairs]


def _is_inequality(node: Node) -> TypeGuard[Relation]:
    return isinstance(node, Relation) and node.operator in INEQUALITIES and not is_truth(node.left)


def _is_difference(node: Node) -> TypeGuard[Arithmetic]:
    return isinstance(node, Arithmetic) and node.operator == "-"


def _conditions(node: Node) -> set[str]:
    return {atom.condition for atom in walk(node) if isinstance(atom, Atom)}
