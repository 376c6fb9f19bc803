"""A prediction as an English sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wug.families.syntaxgym.formula import tree
from wug.families.syntaxgym.formula.tree import WHOLE, Node, compares_numbers, is_in_bits, number_text
from wug.formatting import plural


class _Words(NamedTuple):
    """What a comparison is called."""

    amount: str
    relation: str
    degree: str
    link: str


_WORDS = {
    ">": _Words("more than {}", "greater than {}", "more", "than"),
    ">=": _Words("at least {}", "at least {}", "at least as", "as"),
    "<": _Words("less than {}", "less than {}", "less", "than"),
    "<=": _Words("at most {}", "at most {}", "at most as", "as"),
    "=": _Words("about {}", "about equal to {}", "about as", "as"),
    "==": _Words("exactly {}", "exactly equal to {}", "exactly as", "as"),
    "!=": _Words("anything but exactly {}", "different from {}", "not exactly as", "as"),
}
_FLIPPED = str.maketrans("<>", "><")
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

    def after(self, other: _Clause | None) -> str:
        """The clause without its subject, or with a pronoun, if it is that of the preceding clause."""
        if not other or not self.topic or self.topic != other.topic:
            return str(self)
        if (other.subject, other.verb) == (self.subject, self.verb):
            return f"{self.verb} {self.rest}" if self.pronoun else self.rest
        return f"{self.pronoun or self.subject} {self.verb} {self.rest}"


class _Measured(NamedTuple):
    """The summed surprisal of some regions in one condition or, with another, by how much it rises from that."""

    regions: tuple[int | str, ...]
    condition: str
    other: str = ""


def sentence(node: Node, regions: Mapping[int, str]) -> str:
    """A truth value in English, without a capital or a full stop."""
    return _Reader(regions).truth(node)


class _Reader:
    def __init__(self, regions: Mapping[int, str]) -> None:
        self.names = regions

    # Truth values

    def truth(self, node: Node) -> str:
        if clause := self.simple(node):
            return str(clause)
        match node:
            case tree.Logic():
                return self.joined(node)
            case tree.Not(operands=(operand,)):
                return f"it is not the case that {self.inner(operand)}"
            case tree.Relation(operands=(left, right)):
                joint = "exactly when" if node.operator != "!=" else "exactly when it is not the case that"
                return f"{self.inner(left)} {joint} {self.inner(right)}"
            case _:
                raise AssertionError("a number is not a sentence")

    def joined(self, node: tree.Logic) -> str:
        clauses: list[str] = []
        before: _Clause | None = None
        for part in node.operands:
            clause = self.simple(part)
            clauses.append(clause.after(before) if clause else self.inner(part))
            before = clause
        word = "and" if node.operator == "&" else "or"
        listed = f"{', '.join(clauses[:-1])}, {word} {clauses[-1]}"
        return f"either {listed}" if word == "or" else listed

    def simple(self, node: Node) -> _Clause | None:
        """The clause of a comparison or of its negation."""
        if compares_numbers(node):
            return self.clause(node)
        if isinstance(node, tree.Not) and compares_numbers(compared := node.operands[0]):
            if compared.operator == "!=":
                return self.clause(replace(compared, operator="=="))
            clause = self.clause(compared)
            return replace(clause, verb=_NEGATED[clause.verb])
        return None

    def inner(self, node: Node) -> str:
        """A truth value inside another, in brackets if it is compound."""
        compound = isinstance(node, tree.Logic) or (isinstance(node, tree.Relation) and not compares_numbers(node))
        return f"({self.truth(node)})" if compound else self.truth(node)

    # Comparisons

    def clause(self, node: tree.Relation) -> _Clause:
        left, operator, right = _balanced(node)
        if isinstance(right, tree.Number):
            return self.with_number(left, operator, right.value)
        if (first := _place(left)) and (second := _place(right)):
            return self.places(first, operator, second)
        if (rise := _rise(left)) and (fall := _rise(right)):
            return self.rises(rise, operator, fall)
        return _Clause(self.number(left), "is", _WORDS[operator].relation.format(self.number(right)))

    def places(self, first: _Measured, operator: str, second: _Measured) -> _Clause:
        words = _WORDS[operator]
        degree, link = f"{words.degree} surprising", words.link
        subject, verb = self.together(first)
        other, _ = self.together(second)
        if first.regions == second.regions:
            rest = f"{degree} in {first.condition} {link} in {second.condition}"
            return _Clause(subject, verb, rest, self.regions(first.regions))
        if first.condition == second.condition:
            return _Clause(f"in {first.condition}, {subject}", verb, f"{degree} {link} {other}")
        return _Clause(f"{subject} in {first.condition}", verb, f"{degree} {link} {other} in {second.condition}")

    def rises(self, rise: _Measured, operator: str, fall: _Measured) -> _Clause:
        words = _WORDS[operator]
        much = f"{words.degree} much" if words.link == "as" else words.degree
        step, other = f"from {rise.other} to {rise.condition}", f"from {fall.other} to {fall.condition}"
        if rise.regions != fall.regions:
            other = f"that of {self.regions(fall.regions)} does {other}"
        return self.change(rise, "rises", f"{much} {step} {words.link} {other}")

    def with_number(self, left: Node, operator: str, number: float) -> _Clause:
        text = number_text(number)
        if is_in_bits(left):
            text += " bit" if number == 1 else " bits"
        amount = _WORDS[operator].amount.format(text)
        if (rise := _rise(left)) and operator in (">", ">=") and number > 0:
            rest = f"{amount} more surprising in {rise.condition} than in {rise.other}"
            return _Clause(*self.together(rise), rest, self.regions(rise.regions))
        if isinstance(left, tree.Call) and left.operator == "abs" and (gap := _rise(left.operands[0])):
            return self.change(gap, "differs", f"between {gap.condition} and {gap.other} by {amount}")
        terms = _terms(left)
        if len(terms) > 1 and all(map(_rise, terms)):
            return _Clause(_listed([self.number(term) for term in terms]), "add up", f"to {amount}")
        return _Clause(self.number(left), "is", _WORDS[operator].relation.format(text))

    def change(self, rise: _Measured, verb: str, rest: str) -> _Clause:
        topic = self.regions(rise.regions)
        pronoun = "its surprisal" if len(rise.regions) == 1 else "their surprisal"
        return _Clause(f"the surprisal of {topic}", verb, rest, topic, pronoun)

    # Numbers

    def number(self, node: Node) -> str:
        if measured := _place(node):
            many = "summed " if len(measured.regions) > 1 else ""
            return f"the {many}surprisal of {self.regions(measured.regions)} in {measured.condition}"
        if rise := _rise(node):
            return f"the rise in surprisal of {self.regions(rise.regions)} from {rise.other} to {rise.condition}"
        match node:
            case tree.Number():
                return number_text(node.value)
            case tree.Signed(operands=(operand,)):
                return f"minus {self.part(operand)}" if node.operator == "-" else self.number(operand)
            case tree.Call():
                return self.call(node)
            case tree.Arithmetic(operator="+"):
                return f"the sum of {_listed([self.part(term) for term in _terms(node)])}"
            case tree.Arithmetic(operands=(left, right)):
                word = {"-": "minus", "*": "times", "/": "divided by"}[node.operator]
                return f"{self.part(left)} {word} {self.part(right)}"
            case _:
                raise AssertionError("a truth value is not a number")

    def part(self, node: Node) -> str:
        """A number inside another, in brackets if it is compound."""
        return self.number(node) if isinstance(node, tree.Number | tree.Atom) else f"({self.number(node)})"

    def call(self, node: tree.Call) -> str:
        arguments = [self.part(argument) for argument in node.operands]
        if node.operator != "round":
            return _FUNCTIONS[node.operator].format(_listed(arguments))
        digits = [int(digits.value) for digits in node.operands[1:] if isinstance(digits, tree.Number) and digits.value]
        return " to ".join([f"{arguments[0]} rounded", *(plural(number, "decimal place") for number in digits)])

    def together(self, measured: _Measured) -> tuple[str, str]:
        """Regions as a subject, and its verb."""
        several = len(measured.regions) > 1
        return self.regions(measured.regions) + (" together" if several else ""), "are" if several else "is"

    def regions(self, numbers: Sequence[int | str]) -> str:
        listed = [self.region(number) for number in numbers]
        if len(numbers) == 1 or WHOLE in numbers:
            return _listed(listed)
        return f"regions {_listed([region.removeprefix('region ') for region in listed])}"

    def region(self, region: int | str) -> str:
        if region == WHOLE:
            return "the whole sentence"
        name = self.names.get(region, "") if isinstance(region, int) else ""
        return f"region {region} ({name})" if name else f"region {region}"


def _balanced(node: tree.Relation) -> tuple[Node, str, Node]:
    """The comparison with a number on the right; a difference compared with 0 becomes two sides."""
    (left, right), operator = node.operands, node.operator
    if isinstance(left, tree.Number) and not isinstance(right, tree.Number):
        left, operator, right = right, operator.translate(_FLIPPED), left
    # Not for `=`: its tolerance depends on the right side.
    if right == tree.Number(0) and operator != "=" and isinstance(left, tree.Arithmetic) and left.operator == "-":
        left, right = left.operands
    return left, operator, right


def _terms(node: Node) -> list[Node]:
    if isinstance(node, tree.Arithmetic) and node.operator == "+":
        return [term for operand in node.operands for term in _terms(operand)]
    return [node]


def _place(node: Node) -> _Measured | None:
    """A region, or a sum of regions of one condition."""
    terms = _terms(node)
    atoms = [term for term in terms if isinstance(term, tree.Atom)]
    if len(atoms) != len(terms) or len({atom.condition for atom in atoms}) != 1:
        return None
    return _Measured(tuple(atom.region for atom in atoms), atoms[0].condition)


def _rise(node: Node) -> _Measured | None:
    """A difference between two conditions of the same regions."""
    if not (isinstance(node, tree.Arithmetic) and node.operator == "-"):
        return None
    left, right = map(_place, node.operands)
    if not left or not right or left.regions != right.regions:
        return None
    return left._replace(other=right.condition)


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
