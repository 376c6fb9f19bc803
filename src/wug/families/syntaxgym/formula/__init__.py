"""The language of predictions about surprisals.

    (6;%match_sing%) < (6;%mismatch_sing%) & (6;%match_plural%) < (6;%mismatch_plural%)

Variables are `(region number;%condition%)`, `(*;%condition%)` for a whole sentence, or `(region name;%condition%)`.
From tight to loose: `- + ~` before a value; `* /`; `+ -`; `< <= > >= = == !=`; `not`; `& |` (also `and or`).
Grouping is with ( ) or [ ]. `=` means close, `==` and `!=` are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from wug.errors import FormulaError, suggestion
from wug.families.syntaxgym.formula import english as _english
from wug.families.syntaxgym.formula import parse as _parser
from wug.families.syntaxgym.formula import tree as _tree
from wug.families.syntaxgym.formula.effects import PredictedEffect, predicted_effects


@dataclass(frozen=True, slots=True)
class ComparedValues:
    """A comparison in a prediction, with the values of both sides."""

    formula: str
    left: float
    operator: str
    right: float
    holds: bool


class PredictionResult(NamedTuple):
    """Whether a prediction holds, and by how much."""

    holds: bool
    margin: float
    """Distance of the values from the opposite result: at least 0 if it holds, at most 0 if it fails."""
    comparisons: tuple[ComparedValues, ...]
    effects: tuple[tuple[str, float], ...] = ()
    """The effects of a conjunction, by the field of an outcome's details."""


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
            region = _region(atom, regions, self.source)
            _require_condition(atom, conditions, self.source)
            return replace(atom, region=region)

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
        for node in _tree.walk(self.tree):
            if isinstance(node, _tree.Relation) and not _tree.is_truth(node.left):
                left, right = (_tree.value_of(side, value, self.source) for side in (node.left, node.right))
                holds = _tree.compare(node.operator, left, right)
                compared.append(ComparedValues(_tree.canonical(node), left, node.operator, right, holds))
        effects = self.effects() if isinstance(self.tree, _tree.Logic) else ()
        margins = [(effect.detail, _tree.margin_of(effect.relation, value, self.source)) for effect in effects]
        margin = _tree.margin_of(self.tree, value, self.source)
        return PredictionResult(self.holds(value), margin, tuple(compared), tuple(margins))

    def effects(self) -> list[PredictedEffect]:
        """The differences that it predicts to be positive; none for an equality or an alternative."""
        return predicted_effects(self.tree)

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
    problems = _parser.errors(source)
    for atom in _parser.atoms(source) if conditions else ():
        for look in (partial(_region, atom, regions), partial(_require_condition, atom, conditions)):
            try:
                look(source)
            except FormulaError as error:
                problems.append(error)
    return sorted(problems, key=lambda error: error.start)


def conditions(source: str) -> list[str]:
    """The conditions that a prediction names, each once, even if it cannot be read."""
    return list(dict.fromkeys(atom.condition for atom in _parser.atoms(source)))


def _require_condition(atom: _tree.Atom, conditions: Collection[str], source: str) -> None:
    if atom.condition not in conditions:
        message = f"unknown condition {atom.condition!r}.{suggestion(atom.condition, conditions)}"
        raise FormulaError(message, source, *atom.condition_columns)


def _region(atom: _tree.Atom, regions: Mapping[int, str], source: str) -> int | str:
    if atom.region == _tree.WHOLE or atom.region in regions:
        return atom.region
    numbers = [number for number, name in regions.items() if name == atom.region]
    if len(numbers) == 1:
        return numbers[0]
    if numbers:
        message = f"regions {' and '.join(map(str, numbers))} are both named {atom.region!r}: use the number"
    elif isinstance(atom.region, int):
        message = f"unknown region {atom.region}. Regions are numbered 1 to {len(regions)}"
    else:
        message = f"unknown region {atom.region!r}.{suggestion(atom.region, regions.values())}"
    raise FormulaError(message, source, *atom.region_columns)
