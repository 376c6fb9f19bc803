"""A prediction as an English sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wug.families.syntaxgym.formula import tree
from wug.families.syntaxgym.formula.tree import WHOLE, Node, is_truth
from wug.formatting import plural

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "==": "==", "!=": "!="}
_AMOUNT = {
    ">": "more than {}",
    ">=": "at least {}",
    "<": "less than {}",
    "<=": "at most {}",
    "=": "about {}",
    "==": "exactly {}",
    "!=": "anything but exactly {}",
}
_RELATION = {
    **_AMOUNT,
    ">": "greater than {}",
    "=": "about equal to {}",
    "==": "exactly equal to {}",
    "!=": "different from {}",
}
_DEGREE = {
    ">": ("more", "than"),
    ">=": ("at least as", "as"),
    "<": ("less", "than"),
    "<=": ("at most as", "as"),
    "=": ("about as", "as"),
    "==": ("exactly as", "as"),
    "!=": ("not exactly as", "as"),
}
_NEGATED = {
    "is": "is not",
    "are": "are not",
    "rises": "does not rise",
    "differs": "does not differ",
    "add up": "do not add up",
}
_FUNCTIONS = {
    "min": "the smallest of {}",
    "max": "the largest of {}",
    "mean": "the mean of {}",
    "sum": "the sum of {}",
    "abs": "the absolute value of {}",
    "sqrt": "the square root of {}",
    "log": "the natural logarithm of {}",
    "exp": "e to the power of {}",
}


@dataclass(frozen=True, slots=True)
class _Clause:
    """Subject, verb and the rest, so that a second clause can omit what it shares with the first."""

    subject: str
    verb: str
    rest: str
    topic: str = ""
    """Its regions, if the clause may be shortened after another about the same."""
    pronoun: str = ""
    """The subject of the shortened clause."""

    def __str__(self) -> str:
        return f"{self.subject} {self.verb} {self.rest}"

    def negated(self) -> _Clause:
        return replace(self, verb=_NEGATED[self.verb])

    def after(self, other: _Clause | None) -> str:
        """The clause without its subject, or with a pronoun, if it is that of the preceding clause."""
        if not other or not self.topic or self.topic != other.topic:
            return str(self)
        if (other.subject, other.verb) == (self.subject, self.verb):
            return f"{self.verb} {self.rest}" if self.pronoun else self.rest
        return f"{self.pronoun or self.subject} {self.verb} {self.rest}"


class _Place(NamedTuple):
    """The summed surprisal of some regions in one condition."""

    regions: tuple[int | str, ...]
    condition: str


class _Rise(NamedTuple):
    """How much more surprising the same regions are in one condition than in another."""

    regions: tuple[int | str, ...]
    condition: str
    other: str


def sentence(node: Node, regions: Mapping[int, str]) -> str:
    """A truth value in English, without a capital or a full stop."""
    return _Reader(regions).truth(node)


class _Reader:
    def __init__(self, regions: Mapping[int, str]) -> None:
        self.names = regions

    # Truth values

    def truth(self, node: Node) -> str:
        match node:
            case tree.Logic():
                return self.joined(node)
            case tree.Not():
                return self.negated(node.operand)
            case tree.Relation() if is_truth(node.left):
                joint = "exactly when" if node.operator != "!=" else "exactly when it is not the case that"
                return f"{self.inner(node.left)} {joint} {self.inner(node.right)}"
            case tree.Relation():
                return str(self.clause(node))
            case _:
                raise AssertionError("a number is not a sentence")

    def joined(self, node: tree.Logic) -> str:
        clauses: list[str] = []
        before: _Clause | None = None
        for part in node.parts:
            clause = self.simple(part)
            clauses.append(clause.after(before) if clause else self.inner(part))
            before = clause
        word = "and" if node.operator == "&" else "or"
        listed = f"{', '.join(clauses[:-1])}, {word} {clauses[-1]}"
        return f"either {listed}" if word == "or" else listed

    def simple(self, node: Node) -> _Clause | None:
        """The clause of a comparison or of its negation."""
        if isinstance(node, tree.Relation) and not is_truth(node.left):
            return self.clause(node)
        if isinstance(node, tree.Not) and isinstance(node.operand, tree.Relation) and not is_truth(node.operand.left):
            if node.operand.operator == "!=":
                return self.clause(replace(node.operand, operator="=="))
            return self.clause(node.operand).negated()
        return None

    def negated(self, node: Node) -> str:
        if clause := self.simple(tree.Not(node)):
            return str(clause)
        return f"it is not the case that {self.inner(node)}"

    def inner(self, node: Node) -> str:
        """A truth value inside another, in brackets if it is compound."""
        compound = isinstance(node, tree.Logic) or (isinstance(node, tree.Relation) and is_truth(node.left))
        return f"({self.truth(node)})" if compound else self.truth(node)

    # Comparisons

    def clause(self, node: tree.Relation) -> _Clause:
        left, operator, right = _balanced(node)
        if isinstance(right, tree.Number):
            return self.with_number(left, operator, right)
        left_place, right_place = _place(left), _place(right)
        if left_place and right_place:
            return self.places(left_place, operator, right_place)
        rise, fall = _rise(left), _rise(right)
        if rise and fall:
            return self.rises(rise, operator, fall)
        return _Clause(self.number(left), "is", _RELATION[operator].format(self.number(right)))

    def places(self, first: _Place, operator: str, second: _Place) -> _Clause:
        degree, link = _DEGREE[operator]
        degree = f"{degree} surprising"
        verb = "are" if len(first.regions) > 1 else "is"
        if first.regions == second.regions:
            rest = f"{degree} in {first.condition} {link} in {second.condition}"
            return _Clause(self.regions(first.regions, together=True), verb, rest, self.regions(first.regions))
        other = self.regions(second.regions, together=True)
        if first.condition == second.condition:
            subject = f"in {first.condition}, {self.regions(first.regions, together=True)}"
            return _Clause(subject, verb, f"{degree} {link} {other}")
        subject = f"{self.regions(first.regions, together=True)} in {first.condition}"
        return _Clause(subject, verb, f"{degree} {link} {other} in {second.condition}")

    def rises(self, rise: _Rise, operator: str, fall: _Rise) -> _Clause:
        degree, link = _DEGREE[operator]
        much = f"{degree} much" if link == "as" else degree
        step, other = f"from {rise.other} to {rise.condition}", f"from {fall.other} to {fall.condition}"
        topic = self.regions(rise.regions)
        if rise.regions != fall.regions:
            other = f"that of {self.regions(fall.regions)} does {other}"
        pronoun = "its surprisal" if len(rise.regions) == 1 else "their surprisal"
        return _Clause(f"the surprisal of {topic}", "rises", f"{much} {step} {link} {other}", topic, pronoun)

    def with_number(self, left: Node, operator: str, right: tree.Number) -> _Clause:
        number = _bits(right.value) if _is_surprisal(left) else _figure(right.value)
        amount = _AMOUNT[operator].format(number)
        rise = _rise(left)
        if rise and operator in (">", ">=") and right.value > 0:
            subject = self.regions(rise.regions, together=True)
            verb = "are" if len(rise.regions) > 1 else "is"
            rest = f"{amount} more surprising in {rise.condition} than in {rise.other}"
            return _Clause(subject, verb, rest, self.regions(rise.regions))
        if isinstance(left, tree.Call) and left.function == "abs" and (gap := _rise(left.arguments[0])):
            topic = self.regions(gap.regions)
            rest = f"between {gap.condition} and {gap.other} by {amount}"
            pronoun = "its surprisal" if len(gap.regions) == 1 else "their surprisal"
            return _Clause(f"the surprisal of {topic}", "differs", rest, topic, pronoun)
        terms = _terms(left)
        if len(terms) > 1 and all(map(_rise, terms)):
            return _Clause(_listed([self.number(term) for term in terms]), "add up", f"to {amount}")
        return _Clause(self.number(left), "is", _RELATION[operator].format(number))

    # Numbers

    def number(self, node: Node) -> str:
        if measured := _place(node):
            many = "summed " if len(measured.regions) > 1 else ""
            return f"the {many}surprisal of {self.regions(measured.regions)} in {measured.condition}"
        if rise := _rise(node):
            return f"the rise in surprisal of {self.regions(rise.regions)} from {rise.other} to {rise.condition}"
        match node:
            case tree.Number():
                return _figure(node.value)
            case tree.Signed():
                return f"minus {self.part(node.operand)}" if node.sign == "-" else self.number(node.operand)
            case tree.Call():
                return self.call(node)
            case tree.Arithmetic():
                if node.operator == "+":
                    return f"the sum of {_listed([self.part(term) for term in _terms(node)])}"
                word = {"-": "minus", "*": "times", "/": "divided by"}[node.operator]
                return f"{self.part(node.left)} {word} {self.part(node.right)}"
            case _:
                raise AssertionError("a truth value is not a number")

    def part(self, node: Node) -> str:
        """A number inside another, in brackets if it is compound."""
        return self.number(node) if isinstance(node, tree.Number | tree.Atom) else f"({self.number(node)})"

    def call(self, node: tree.Call) -> str:
        if node.function == "round":
            value = self.part(node.arguments[0])
            digits = node.arguments[1] if len(node.arguments) > 1 else None
            if isinstance(digits, tree.Number) and digits.value:
                return f"{value} rounded to {plural(int(digits.value), 'decimal place')}"
            return f"{value} rounded"
        return _FUNCTIONS[node.function].format(_listed([self.part(argument) for argument in node.arguments]))

    def regions(self, numbers: Sequence[int | str], *, together: bool = False) -> str:
        if len(numbers) == 1:
            return self.region(numbers[0])
        if WHOLE in numbers:
            listed = _listed([self.region(number) for number in numbers])
        else:
            listed = f"regions {_listed([self.region(number).removeprefix('region ') for number in numbers])}"
        return f"{listed} together" if together else listed

    def region(self, region: int | str) -> str:
        if region == WHOLE:
            return "the whole sentence"
        if isinstance(region, str):
            return f"region {region}"
        name = self.names.get(region, "")
        return f"region {region} ({name})" if name else f"region {region}"


def _balanced(node: tree.Relation) -> tuple[Node, str, Node]:
    """The comparison with a number on the right; a difference compared with 0 becomes two sides."""
    left, operator, right = node.left, node.operator, node.right
    if isinstance(left, tree.Number) and not isinstance(right, tree.Number):
        left, operator, right = right, _FLIPPED[operator], left
    zero = isinstance(right, tree.Number) and right.value == 0
    # Not for `=`: its tolerance depends on the right side.
    if zero and operator != "=" and isinstance(left, tree.Arithmetic) and left.operator == "-":
        return left.left, operator, left.right
    return left, operator, right


def _terms(node: Node) -> list[Node]:
    if isinstance(node, tree.Arithmetic) and node.operator == "+":
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _place(node: Node) -> _Place | None:
    """A region, or a sum of regions of one condition."""
    terms = _terms(node)
    atoms = [term for term in terms if isinstance(term, tree.Atom)]
    if len(atoms) != len(terms) or len({atom.condition for atom in atoms}) != 1:
        return None
    return _Place(tuple(atom.region for atom in atoms), atoms[0].condition)


def _rise(node: Node) -> _Rise | None:
    """A difference between two conditions of the same regions."""
    if not (isinstance(node, tree.Arithmetic) and node.operator == "-"):
        return None
    left_place, right_place = _place(node.left), _place(node.right)
    if not left_place or not right_place or left_place.regions != right_place.regions:
        return None
    return _Rise(left_place.regions, left_place.condition, right_place.condition)


def _is_surprisal(node: Node) -> bool:
    """Whether a number is measured in bits: a sum or a share of surprisals is, a ratio of them is not."""
    match node:
        case tree.Atom():
            return True
        case tree.Signed():
            return _is_surprisal(node.operand)
        case tree.Call():
            return node.function not in ("sqrt", "log", "exp") and any(map(_is_surprisal, node.arguments))
        case tree.Arithmetic():
            left, right = _is_surprisal(node.left), _is_surprisal(node.right)
            if node.operator == "*":
                return left != right
            return left and not right if node.operator == "/" else left or right
        case _:
            return False


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _figure(value: float) -> str:
    return repr(value).removesuffix(".0")


def _bits(value: float) -> str:
    return f"{_figure(value)} bit{'s' if value != 1 else ''}"
