"""Template grammars: patterns and the lexicon that fills them, read from a TOML file and checked.

A pattern is a text such as `the {person.N} [{verb.N}|*{verb.-N}].`, with slots for words of the lexicon in braces, and
the right and the wrong alternatives in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import FormulaError, InputError, UnknownName, suggestion
from wug.files import ASSETS, parse_toml, read_text, user_path

_SLOT = re.compile(r"(?P<word>[^\W\d]\w*?)(?P<number>\d*)(?P<features>(?:\.-?\w+(?::\w+)?)*)")
_FEATURE = re.compile(r"(?P<other>-?)(?P<name>\w+)(?::(?P<column>\w+))?")
_FEATURE_NAME = re.compile(r"\{(\w+)\}")
_FOLDER = ASSETS / "templates"
LexiconEntry = Mapping[str, str]
"""The forms of a word by name; the name is empty for a word with only one form."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One part of the name of a form."""

    name: str
    """A value (`sing`), a feature that varies (`N`), or the slot whose column is used (`noun` in `noun:gender`)."""
    other: bool = False
    """`-N`: any value but that of N."""
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A position for a word of the lexicon."""

    name: str
    """`person2`; slots of the same name have the same word."""
    word_class: str
    """`person`."""
    features: tuple[Feature, ...]


Piece = str | Slot


class Pattern(NamedTuple):
    """A template with the features that vary in it."""

    name: str
    category: str
    sentences: Sequence[Sequence[Piece]]
    """The right sentence, then the wrong ones."""
    vary: Mapping[str, tuple[str, ...]]
    label: str
    """The name of a condition, with the names of features in braces."""
    compare: str
    """`word` if the word in the brackets shows the error, `sentence` if only the whole sentence does."""

    def conditions(self) -> list[dict[str, str]]:
        """The values of the features, in every combination."""
        return [dict(zip(self.vary, values, strict=True)) for values in product(*self.vary.values())]

    def condition(self, values: Mapping[str, str]) -> str:
        """The name of the condition with these values."""
        return _FEATURE_NAME.sub(lambda match: values[match[1]], self.label)


class TemplateGrammar(NamedTuple):
    """Patterns, and a lexicon for them."""

    function_words: frozenset[str]
    """Words that may occur twice in a sentence."""
    lexicon: Mapping[str, tuple[LexiconEntry, ...]]
    patterns: Mapping[str, Pattern]

    @property
    def categories(self) -> list[str]:
        """The categories of the patterns, in order."""
        return list(dict.fromkeys(pattern.category for pattern in self.patterns.values()))


def form_of(slot: Slot, values: Mapping[str, str], chosen: Mapping[str, LexiconEntry]) -> str:
    """The word in a slot, in the form that the values of the features select, such as `past.plur`."""
    name = ".".join(
        chosen[feature.name][feature.column]
        if feature.column
        else values.get(f"-{feature.name}" if feature.other else feature.name, feature.name)
        for feature in slot.features
    )
    return chosen[slot.name][name]


def slots(pieces: Sequence[Piece]) -> list[Slot]:
    """The slots among some pieces."""
    return [piece for piece in pieces if isinstance(piece, Slot)]


def parse_template(text: str) -> list[list[Piece]]:
    """The right sentence of a pattern, then the wrong ones; FormulaError with the position of an error."""
    parts: list[list[list[Piece]]] = []
    at = 0
    for number, chunk in enumerate(re.split(r"(\[[^\[\]]*\])", text)):
        in_brackets = number % 2 == 1
        parts.append(_alternatives(text, at, chunk[1:-1]) if in_brackets else [_pieces(text, at, chunk)])
        at += len(chunk)
    counts = {len(part) for part in parts[1::2]}
    if not counts:
        raise FormulaError("there is no difference between the sentences; write [right|*wrong]", text, 0, len(text))
    if len(counts) > 1:
        raise FormulaError("all brackets need the same number of starred alternatives", text, 0, len(text))
    return [[piece for part in parts for piece in part[number % len(part)]] for number in range(counts.pop())]


def _alternatives(text: str, start: int, inside: str) -> list[list[Piece]]:
    """The contents of a bracket: the right words, then the wrong ones."""
    alternatives: list[list[Piece]] = []
    at = start + 1
    for number, alternative in enumerate(inside.split("|")):
        starred = alternative.startswith("*")
        if starred != (number > 0):
            why = "the first alternative is the right one and has no star" if starred else "a wrong form needs a star"
            raise FormulaError(why, text, at, at + len(alternative))
        alternatives.append(_pieces(text, at + starred, alternative[starred:]))
        at += len(alternative) + 1
    if len(alternatives) < 2:
        raise FormulaError("a bracket needs a wrong alternative: [right|*wrong]", text, start, at)
    return alternatives


def _pieces(text: str, at: int, chunk: str) -> list[Piece]:
    pieces: list[Piece] = []
    for number, part in enumerate(re.split(r"\{([^{}]*)\}", chunk)):
        if number % 2 == 1:  # in braces
            pieces.append(_slot(text, at + 1, part))
            at += len(part) + 2
            continue
        if stray := re.search(r"[\[\]{}|*]", part):
            raise FormulaError(f"unexpected {stray.group()!r}", text, at + stray.start(), at + stray.end())
        pieces += [part] if part else []
        at += len(part)
    return pieces


def _slot(text: str, start: int, inside: str) -> Slot:
    match = _SLOT.fullmatch(inside)
    if match is None:
        raise FormulaError("not a word of the lexicon: write {class} or {class.form}", text, start, start + len(inside))
    features = []
    for part in match["features"].split(".")[1:]:
        feature = _FEATURE.fullmatch(part)
        if feature is None or (feature["other"] and feature["column"]):
            raise FormulaError(f"{part!r} is not a form", text, start, start + len(inside))
        features.append(Feature(feature["name"], bool(feature["other"]), feature["column"]))
    return Slot(match["word"] + match["number"], match["word"], tuple(features))


def built_in() -> list[str]:
    """The names of the built-in grammars."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load(source: Path | str | None = None) -> TemplateGrammar:
    """The grammar in a TOML file, or a built-in one by name; English by default."""
    name = "english" if source is None else str(source)
    if name in built_in():
        return _grammar(_data(_FOLDER / f"{name}.toml"), name)
    path = user_path(name)
    if not path.exists() and path.suffix != ".toml":
        raise UnknownName("grammar", name, built_in())
    return _grammar(_data(path), str(path))


def _data(path: Path) -> dict[str, Any]:
    """The contents of a file, merged with those of the grammar that it extends."""
    data = parse_toml(read_text(path), path)
    _refuse_unknown_key(data, ("extends", "language", "function_words", "lexicon", "pattern"), str(path))
    parent = data.pop("extends", None)
    if parent is None:
        return data
    if parent not in built_in():
        message = f"it extends {parent!r}, which is not built in.{suggestion(str(parent), built_in())}"
        raise InputError(message, file=path)
    base = _data(_FOLDER / f"{parent}.toml")
    if not isinstance(data.get("pattern", []), list) or not isinstance(data.get("lexicon", {}), dict):
        return base | data
    words = _strings(data.get("function_words", []), str(path), "function_words")
    names = {entry.get("name") for entry in data.get("pattern", []) if isinstance(entry, dict)}
    return {
        "function_words": base["function_words"] + words,
        "lexicon": base["lexicon"] | data.get("lexicon", {}),
        "pattern": [old for old in base["pattern"] if old["name"] not in names] + data.get("pattern", []),
    }


def _grammar(data: Mapping[str, Any], file: str) -> TemplateGrammar:
    lexicon = {
        name: _word_class(entry, file, f"lexicon.{name}")
        for name, entry in _mapping(data.get("lexicon"), file, "lexicon").items()
    }
    patterns: dict[str, Pattern] = {}
    entries = data.get("pattern")
    if not isinstance(entries, list) or not entries:
        raise InputError("the file has no [[pattern]]", file=file)
    for number, entry in enumerate(entries, 1):
        pattern = _pattern(_mapping(entry, file, f"pattern {number}"), file, f"pattern {number}")
        if pattern.name in patterns:
            raise InputError(f"a second pattern is called {pattern.name!r}", file=file, place=f"pattern {number}")
        patterns[pattern.name] = pattern
    words = frozenset(word.lower() for word in _strings(data.get("function_words", []), file, "function_words"))
    for pattern in patterns.values():
        try:
            _check_forms(lexicon, pattern)
        except InputError as error:
            raise InputError(error.message, file=file, place=f"pattern {pattern.name}") from None
    return TemplateGrammar(words, lexicon, patterns)


def _word_class(entry: object, file: str, place: str) -> tuple[LexiconEntry, ...]:
    table = _mapping(entry, file, place)
    forms, items = table.get("forms", [""]), table.get("items")
    if not isinstance(items, list) or not items or not isinstance(forms, list):
        raise InputError('a class is forms = ["sing", …] and items = [["cat", …], …]', file=file, place=place)
    entries: list[LexiconEntry] = []
    for item in items:
        words = [item] if isinstance(item, str) else item
        if not isinstance(words, list) or len(words) != len(forms) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{item!r} does not have a word for each of the forms {forms}", file=file, place=place)
        entries.append(dict(zip(map(str, forms), words, strict=True)))
    return tuple(entries)


def _pattern(entry: Mapping[str, Any], file: str, place: str) -> Pattern:
    for key in ("name", "category", "text"):
        if not isinstance(entry.get(key), str):
            raise InputError(f"{key} is missing", file=file, place=place)
    _refuse_unknown_key(entry, ("name", "category", "text", "vary", "condition", "compare"), file, place)
    name, compare = entry["name"], entry.get("compare", "word")
    place = f"pattern {name}"
    if compare not in ("word", "sentence"):
        raise InputError(f"compare is 'word' or 'sentence', not {compare!r}", file=file, place=place)
    vary = {
        feature: tuple(_strings(values, file, f"{place}, vary"))
        for feature, values in _mapping(entry.get("vary", {}), file, place).items()
    }
    if short := next((feature for feature, values in vary.items() if len(set(values)) < 2), None):
        raise InputError(f"{short} needs at least two values to vary between", file=file, place=place)
    label = str(entry.get("condition", "_".join(f"{{{feature}}}" for feature in vary)))
    for feature in _FEATURE_NAME.findall(label):
        if feature not in vary:
            raise InputError(f"condition has {feature!r}, which does not vary", file=file, place=place)
    try:
        sentences = parse_template(entry["text"])
    except FormulaError as error:
        raise FormulaError(error.message, error.formula, error.start, error.end, file=file, place=place) from None
    return Pattern(name, entry["category"], sentences, vary, label, compare)


def _check_forms(lexicon: Mapping[str, tuple[LexiconEntry, ...]], pattern: Pattern) -> None:
    """Refuse a pattern with a slot that no word can fill."""
    every = [slot for pieces in pattern.sentences for slot in slots(pieces)]
    classes = {slot.name: slot.word_class for slot in every}
    for slot in every:
        if slot.word_class not in lexicon:
            raise InputError(f"unknown class {slot.word_class!r}.{suggestion(slot.word_class, lexicon)}")
        known = lexicon[slot.word_class][0]
        choices = (_possible_values(lexicon, pattern, feature, classes) for feature in slot.features)
        for name in sorted({".".join(values) for values in product(*choices)}):
            if name not in known:
                raise InputError(f"{slot.word_class} has no form {name!r}; it has {', '.join(map(repr, known))}")
    for feature in (feature for slot in slots(pattern.sentences[0]) for feature in slot.features):
        if feature.other:
            raise InputError(f"-{feature.name} is outside a starred alternative")


def _possible_values(
    lexicon: Mapping[str, tuple[LexiconEntry, ...]], pattern: Pattern, feature: Feature, classes: Mapping[str, str]
) -> set[str]:
    if feature.column is not None:
        items = lexicon.get(classes.get(feature.name, ""), ())
        if not items or feature.column not in items[0]:
            raise InputError(f"{feature.name}:{feature.column} is not a column of a word in this pattern")
        return {item[feature.column] for item in items}
    if feature.name in pattern.vary:
        return set(pattern.vary[feature.name])
    if feature.other:
        raise InputError(f"-{feature.name}, but {feature.name} does not vary")
    return {feature.name}


def _refuse_unknown_key(data: Mapping[str, Any], known: Sequence[str], file: str, place: str | None = None) -> None:
    if unknown := next((key for key in data if key not in known), None):
        raise InputError(f"unknown key {unknown!r}.{suggestion(unknown, known)}", file=file, place=place)


def _mapping(value: object, file: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError("a table is missing here", file=file, place=place)
    return value


def _strings(value: object, file: str, place: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InputError("a list of words is missing here", file=file, place=place)
    return value
