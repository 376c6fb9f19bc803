"""The language of predictions about surprisals.

    (6;%match_sing%) < (6;%mismatch_sing%) & (6;%match_plural%) < (6;%mismatch_plural%)

Variables are `(region number;%condition%)`, `(*;%condition%)` for a whole sentence, or `(region name;%condition%)`.
From tight to loose: `- + ~` before a value; `* /`; `+ -`; `< <= > >= = == !=`; `not`; `& |` (also `and or`).
Grouping is with ( ) or [ ]. `=` means close, `==` and `!=` are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import Any, NamedTuple, TypeGuard

from wug.errors import FormulaError, suggestion
from wug.families.syntaxgym.formula import english as _english
from wug.families.syntaxgym.formula import parse as _parser
from wug.families.syntaxgym.formula import tree as _tree


class PredictionResult(NamedTuple):
    """Whether a prediction holds, and by how much."""

    holds: bool
    margin: float
    """Distance of the values from the opposite result: at least 0 if it holds, at most 0 if it fails."""
    comparisons: tuple[dict[str, Any], ...]
    """Each comparison of numbers: its `formula`, `left`, `operator`, `right`, and whether it `holds`."""
    effects: tuple[tuple[str, float], ...] = ()
    """The effects of a conjunction, by the field of an outcome's details."""


class PredictedEffect(NamedTuple):
    """A difference that is positive where the prediction holds: that of an inequality's larger and smaller side."""

    part: str
    """A letter for each of several conjuncts; empty if the prediction is about one effect."""
    relation: _tree.Relation
    detail: str
    """The field of an outcome's details that has its value."""

    @property
    def is_interaction(self) -> bool:
        """Whether it is a difference of differences of four conditions, as in a 2×2 design."""
        sides = [side for side in self.relation.operands if side != _tree.Number(0)]
        if len(sides) == 1 and _is_difference(sides[0]):
            sides = [*sides[0].operands]
        cells = [_tree.conditions_in(operand) for side in sides if _is_difference(side) for operand in side.operands]
        return [len(cell) for cell in cells] == [1, 1, 1, 1] and len(set().union(*cells)) == 4


@dataclass(frozen=True, slots=True)
class Formula:
    """A prediction: its text and its tree."""

    source: str
    tree: _tree.Node

    def atoms(self) -> list[tuple[int | str, str]]:
        """The regions and conditions it mentions, each once, in order."""
        nodes = (node for node in _tree.walk(self.tree) if isinstance(node, _tree.Atom))
        return list(dict.fromkeys((atom.region, atom.condition) for atom in nodes))

    def resolve(self, regions: Mapping[int, str], conditions: Collection[str]) -> Formula:
        """Replace region names by numbers; FormulaError for an unknown region or condition."""

        def resolved(atom: _tree.Atom) -> _tree.Atom:
            for error in _unknown_names(atom, regions, conditions, self.source):
                raise error
            return replace(atom, region=_numbers(atom.region, regions)[0])

        return replace(self, tree=_tree.with_atoms(self.tree, resolved))

    def lacks(self, empty: Callable[[int | str, str], bool]) -> tuple[int | str, str] | None:
        """The first empty region, with its condition, that leaves the prediction undefined; None if there is none.

        In a sum with a nonempty region of the same condition, an empty region just adds nothing.
        """
        atom = next(_tree.lacking(self.tree, empty), None)
        return None if atom is None else (atom.region, atom.condition)

    def holds(self, value: _tree.Surprisal) -> bool:
        """Whether the prediction holds for these values; FormulaError if it is undefined."""
        return bool(_tree.value_of(self.tree, value, self.source))

    def judge(self, value: _tree.Surprisal) -> PredictionResult:
        """Whether it holds, its margin, and both sides of each comparison of numbers in it."""
        compared = []
        for node in filter(_tree.compares_numbers, _tree.walk(self.tree)):
            left, right = (_tree.value_of(side, value, self.source) for side in node.operands)
            sides = {"left": left, "operator": node.operator, "right": right}
            holds = _tree.COMPARISONS[node.operator](left, right)
            compared.append({"formula": _tree.canonical(node), **sides, "holds": holds})
        effects = self.effects() if isinstance(self.tree, _tree.Logic) else ()
        margins = [(effect.detail, _tree.margin_of(effect.relation, value, self.source)) for effect in effects]
        margin = _tree.margin_of(self.tree, value, self.source)
        return PredictionResult(self.holds(value), margin, tuple(compared), tuple(margins))

    def effects(self) -> list[PredictedEffect]:
        """The differences that it predicts to be positive; none for an equality or an alternative."""
        return _predicted_effects(self.tree)

    def canonical(self) -> str:
        """The prediction in canonical form, without unnecessary brackets."""
        return _tree.canonical(self.tree)

    def english(self, regions: Mapping[int, str], node: _tree.Node | None = None) -> str:
        """The prediction, or a part of it, as an English sentence without a capital or a full stop."""
        return _english.sentence(node or self.tree, regions)


def parse(source: str) -> Formula:
    """Parse a prediction; FormulaError with a caret under the error."""
    return Formula(source, _parser.parse(source))


def errors(source: str, regions: Mapping[int, str], conditions: Collection[str]) -> list[FormulaError]:
    """All errors in a prediction, from left to right; names are checked if there are conditions."""
    atoms = _parser.atoms(source) if conditions else []
    unknown = [error for atom in atoms for error in _unknown_names(atom, regions, conditions, source)]
    return sorted([*_parser.errors(source), *unknown], key=lambda error: error.start)


def conditions(source: str) -> list[str]:
    """The conditions that a prediction names, each once, even if it cannot be read."""
    return list(dict.fromkeys(atom.condition for atom in _parser.atoms(source)))


def _unknown_names(
    atom: _tree.Atom, regions: Mapping[int, str], conditions: Collection[str], source: str
) -> Iterator[FormulaError]:
    numbers = _numbers(atom.region, regions)
    if len(numbers) > 1:
        message = f"regions {' and '.join(map(str, numbers))} are both named {atom.region!r}: use the number"
        yield FormulaError(message, source, *atom.region_columns)
    elif not numbers:
        meant = f"{atom.region!r}.{suggestion(str(atom.region), regions.values())}"
        if isinstance(atom.region, int):
            meant = f"{atom.region}. Regions are numbered 1 to {len(regions)}"
        yield FormulaError(f"unknown region {meant}", source, *atom.region_columns)
    if atom.condition not in conditions:
        message = f"unknown condition {atom.condition!r}.{suggestion(atom.condition, conditions)}"
        yield FormulaError(message, source, *atom.condition_columns)


def _numbers(region: int | str, regions: Mapping[int, str]) -> list[int | str]:
    """The numbers of the regions that are meant: one, unless the name is unknown or ambiguous."""
    if region == _tree.WHOLE or region in regions:
        return [region]
    return [number for number, name in regions.items() if name == region]


def _predicted_effects(tree: _tree.Node) -> list[PredictedEffect]:
    if _is_inequality(tree):
        return [PredictedEffect("", tree, "margin")]
    parts = tree.operands if isinstance(tree, _tree.Logic) and tree.operator == "&" else ()
    inequalities = [part for part in parts if _is_inequality(part)]
    letters = [*ascii_lowercase, *map(str, range(len(inequalities)))]
    pairs = zip(letters, inequalities, strict=False)
    return [PredictedEffect(name if len(inequalities) > 1 else "", part, f"margin_{name}") for name, part in pairs]


def _is_inequality(node: _tree.Node) -> TypeGuard[_tree.Relation]:
    return _tree.compares_numbers(node) and node.operator in ("<", "<=", ">", ">=")


def _is_difference(node: _tree.Node) -> TypeGuard[_tree.Arithmetic]:
    return isinstance(node, _tree.Arithmetic) and node.operator == "-"
