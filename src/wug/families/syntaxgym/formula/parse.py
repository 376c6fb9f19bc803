"""Parsing a prediction: a tokenizer and a Pratt parser; every error has its columns."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from wug.errors import FormulaError, suggestion
from wug.families.syntaxgym.formula import tree
from wug.families.syntaxgym.formula.tree import Node, is_truth

FUNCTIONS: dict[str, int | None] = {
    "abs": 1,
    "min": None,
    "max": None,
    "mean": None,
    "sum": None,
    "sqrt": 1,
    "log": 1,
    "exp": 1,
    "round": 2,
}
"""Maximum number of arguments by name."""

MAX_NESTING = 40
"""Maximum nesting of brackets and signs, far below Python's recursion limit."""
MAX_OPERATORS = 200
"""Maximum number of operators in a prediction, for the same reason."""

_CLOSES = {"(": ")", "[": "]"}
_COMPARISONS = ("<", "<=", ">", ">=", "=", "==", "!=")
_LOGIC, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN = 10, 20, 30, 40, 50, 60
_POWER = {"&": _LOGIC, "|": _LOGIC, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT} | dict.fromkeys(
    _COMPARISONS, _COMPARE
)
_WORDS = {"and": "&", "or": "|", "not": "not"}
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[^\W\d]\w*")
_SIGN_TOKEN = re.compile(r"<=|>=|==|!=|[-+~*/<>=&|,()\[\]]")
_ATOM_REGION = re.compile(r"\(([^()\[\];%]*);\s*")
_ATOM_CONDITION = re.compile(r"%([^%;]*)%\s*")
_ATOM_WITH_COMMA = re.compile(r"\([^()\[\];%,]*(,)\s*%")
_FIXES = {
    "!": "Write ~ or not",
    "{": "Group with ( ) or [ ]",
    "}": "Group with ( ) or [ ]",
    "≤": "Write <=",
    "≥": "Write >=",
    "≠": "Write !=",
    "−": "Write -",
    "×": "Write *",
    "¬": "Write ~ or not",
    "%": "A condition is in % signs after a region and a semicolon: (1;%name%)",
    ";": "A semicolon separates a region and its condition: (1;%name%)",
    "^": "There is no power operator; multiply instead",
}


class _Token(NamedTuple):
    kind: str
    """`number`, `word`, `atom`, `end`, or the sign itself."""
    start: int
    end: int
    value: Node | str | None = None


def parse(source: str) -> Node:
    """Parse a prediction, or raise FormulaError with the columns of the error."""
    tokens, problems = _tokens(source)
    if problems:
        raise problems[0]
    return _Parser(source, tokens).prediction()


def errors(source: str) -> list[FormulaError]:
    """All invalid tokens of a prediction or, if there are none, its first syntax error."""
    _, problems = _tokens(source)
    try:
        parse(source)
    except FormulaError as error:
        return problems or [error]
    return []


def atoms(source: str) -> list[tree.Atom]:
    """The regions and conditions that a prediction mentions, even if it cannot be parsed as a whole."""
    return [token.value for token in _tokens(source)[0] if isinstance(token.value, tree.Atom)]


def _tokens(source: str) -> tuple[list[_Token], list[FormulaError]]:
    """The tokens of a prediction, and an error for each invalid one."""
    tokens, problems = list[_Token](), list[FormulaError]()
    position = 0
    while position < len(source):
        if space := _SPACE.match(source, position):
            position = space.end()
            continue
        try:
            tokens.append(_token(source, position))
            position = tokens[-1].end
        except FormulaError as error:
            problems.append(error)
            # After the bracket of what should be an atom.
            closing = source.find(")", error.end - 1) if source[position] == "(" else -1
            position = max(position + 1, error.end if closing < 0 else closing + 1)
    return [*tokens, _Token("end", len(source), len(source))], problems


def _token(source: str, position: int) -> _Token:
    if source[position] == "(":
        if region := _ATOM_REGION.match(source, position):
            return _atom(source, position, region)
        if comma := _ATOM_WITH_COMMA.match(source, position):
            message = "a region and its condition are separated by a semicolon, as in (1;%name%)"
            raise FormulaError(message, source, *comma.span(1))
    if number := _NUMBER.match(source, position):
        value = float(number.group())
        if math.isinf(value):
            raise FormulaError("this number is too large", source, *number.span())
        return _Token("number", *number.span(), tree.Number(value, start=number.start(), end=number.end()))
    if word := _WORD.match(source, position):
        return _Token(_WORDS.get(word.group().lower(), "word"), *word.span(), word.group())
    if sign := _SIGN_TOKEN.match(source, position):
        return _Token(sign.group(), *sign.span())
    character = source[position]
    plain = unicodedata.normalize("NFKC", character)
    fix = _FIXES.get(character) or (f"Did you mean {plain!r}?" if plain != character else "")
    raise FormulaError(f"unexpected {character!r}. {fix}".rstrip(". "), source, position, position + 1)


def _atom(source: str, position: int, region: re.Match[str]) -> _Token:
    name = region.group(1).strip()
    if not name:
        raise FormulaError("no region before the semicolon: write (1;%name%)", source, position, region.end())
    condition = _ATOM_CONDITION.match(source, region.end())
    if condition is None:
        stop = source.find(")", region.end())
        end = len(source) if stop < 0 else stop
        message = "a condition must be between two % signs, as in (1;%name%)"
        raise FormulaError(message, source, region.end(), max(end, region.end() + 1))
    columns = (region.end(), region.end() + len(condition.group(1)) + 2)
    if not condition.group(1).strip():
        raise FormulaError("the condition has no name: write (1;%name%)", source, *columns)
    if source[condition.end() : condition.end() + 1] != ")":
        raise FormulaError("a ) is missing after this", source, position, columns[1])
    end = condition.end() + 1
    first = region.start(1) + len(region.group(1)) - len(region.group(1).lstrip())
    atom = tree.Atom(
        int(name) if name.isascii() and name.isdigit() and len(name) < 10 else name,
        condition.group(1).strip(),
        start=position,
        end=end,
        region_columns=(first, first + len(name)),
        condition_columns=columns,
    )
    return _Token("atom", position, end, atom)


class _Parser:
    def __init__(self, source: str, tokens: list[_Token]) -> None:
        self.source, self.tokens = source, tokens
        self.next = self.depth = 0
        operators = [token for token in self.tokens if token.kind in _POWER]
        if len(operators) > MAX_OPERATORS:
            message = f"a prediction has at most {MAX_OPERATORS} operators, this one has {len(operators)}"
            raise self.error(message, operators[MAX_OPERATORS])

    def prediction(self) -> Node:
        if len(self.tokens) == 1:
            raise FormulaError("the prediction is empty", self.source, 0, 1)
        node = self.expression(0)
        rest = self.peek()
        if rest.kind in (")", "]"):
            raise self.error(f"this {rest.kind} closes nothing", rest)
        if rest.kind != "end":
            raise self.error("an operator is missing before this", rest)
        if not is_truth(node):
            raise self.error("a prediction is a comparison, but this is a number. Compare it, as in … > 0", node)
        return node

    def peek(self) -> _Token:
        return self.tokens[self.next]

    def take(self) -> _Token:
        self.next += 1
        return self.tokens[self.next - 1]

    def error(self, message: str, at: _Token | Node) -> FormulaError:
        return FormulaError(message, self.source, at.start, at.end)

    def expression(self, power: int) -> Node:
        left = self.prefix()
        while (operator := self.peek()).kind in _POWER and _POWER[operator.kind] > power:
            self.take()
            left = self.join(left, operator)
        return left

    def join(self, left: Node, operator: _Token) -> Node:
        kind = operator.kind
        if operator.end - operator.start == 1 and self.peek().kind == kind and kind in ("&", "|"):
            raise self.error(f"write {kind} once", self.peek())
        right = self.expression(_POWER[kind])
        if kind in ("&", "|"):
            return self.logic(left, operator, right)
        if kind in _COMPARISONS:
            if is_truth(left) != is_truth(right) or (is_truth(left) and kind not in ("=", "==", "!=")):
                wrong = left if is_truth(left) else right
                raise self.error(f"{kind} compares numbers, but this is true or false", wrong)
            if self.peek().kind in _COMPARISONS:
                raise self.error("comparisons cannot be chained: join two of them with &", self.peek())
            return tree.Relation(kind, (left, right), start=left.start, end=right.end)
        self.require_number(left, f"{kind} takes numbers")
        self.require_number(right, f"{kind} takes numbers")
        return tree.Arithmetic(kind, (left, right), start=left.start, end=right.end)

    def logic(self, left: Node, operator: _Token, right: Node) -> Node:
        kind = operator.kind
        self.require_truth(left, f"{kind} joins comparisons")
        self.require_truth(right, f"{kind} joins comparisons")
        following = self.peek()
        if following.kind in ("&", "|") and following.kind != kind:
            raise self.error("& and | are mixed here: add brackets", following)
        parts: tuple[Node, ...] = ()
        for side in (left, right):
            parts += side.operands if isinstance(side, tree.Logic) and side.operator == kind else (side,)
        return tree.Logic(kind, parts, start=left.start, end=right.end)

    def prefix(self) -> Node:
        token = self.take()
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error(f"nested more than {MAX_NESTING} deep", token)
        node = self.operand(token)
        self.depth -= 1
        return node

    def operand(self, token: _Token) -> Node:
        if isinstance(token.value, tree.Number | tree.Atom):
            return token.value
        if token.kind in ("-", "+"):
            inner = self.expression(_SIGN)
            self.require_number(inner, f"{token.kind} takes a number")
            return tree.Signed(token.kind, (inner,), start=token.start, end=inner.end)
        if token.kind in ("~", "not"):
            inner = self.expression(_SIGN if token.kind == "~" else _NOT)
            self.require_truth(inner, f"{token.kind} negates a comparison (in brackets)")
            return tree.Not("~", (inner,), start=token.start, end=inner.end)
        if token.kind in _CLOSES:
            node = self.expression(0)
            self.close(token)
            return node
        if token.kind == "word":
            return self.call(token)
        before = self.tokens[self.next - 2] if self.next > 1 else None
        if token.kind == "end":
            assert before is not None  # an empty prediction never comes here
            raise self.error("something is missing after this", before)
        if token.kind in (")", "]"):
            raise self.error(f"something is missing before this {token.kind}", token)
        raise self.error("a region, a number or a bracket is missing before this", token)

    def close(self, opening: _Token) -> None:
        closing = self.peek()
        if closing.kind == "end":
            raise self.error(f"this {opening.kind} is never closed", opening)
        if closing.kind not in (")", "]"):
            raise self.error("an operator is missing before this", closing)
        if closing.kind != _CLOSES[opening.kind]:
            raise self.error(f"a {opening.kind} is closed by {_CLOSES[opening.kind]}, not by this", closing)
        self.take()

    def call(self, name: _Token) -> Node:
        word = str(name.value)
        opening = self.peek()
        if word not in FUNCTIONS or opening.kind not in _CLOSES:
            what = "function" if opening.kind in _CLOSES else "word"
            message = f"unknown {what} {word!r}.{suggestion(word, FUNCTIONS)}"
            if word in FUNCTIONS:
                message = f"{word} is a function: write {word}(…)"
            raise self.error(message, name)
        self.take()
        arguments = [self.expression(0)]
        while self.peek().kind == ",":
            self.take()
            arguments.append(self.expression(0))
        self.close(opening)
        end, most = self.tokens[self.next - 1].end, FUNCTIONS[word]
        for argument in arguments:
            self.require_number(argument, f"{word} takes numbers")
        if most is not None and len(arguments) > most:
            expected = "1 value" if most == 1 else f"1 or {most} values"
            raise FormulaError(f"{word} takes {expected}, not {len(arguments)}", self.source, name.start, end)
        for digits in arguments[1:] if word == "round" else ():
            if not (isinstance(digits, tree.Number) and digits.value.is_integer() and digits.value <= 15):
                raise self.error("the second value of round is a number of decimal places, 0 to 15", digits)
        return tree.Call(word, tuple(arguments), start=name.start, end=end)

    def require_number(self, node: Node, why: str) -> None:
        if is_truth(node):
            raise self.error(f"{why}, but this is true or false", node)

    def require_truth(self, node: Node, why: str) -> None:
        if not is_truth(node):
            raise self.error(f"{why}, but this is a number", node)
