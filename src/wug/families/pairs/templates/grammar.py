"""A grammar: patterns and the lexicon that fills them, read from a TOML file and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from wug.errors import FormulaError, InputError, UnknownName, suggestion
from wug.families.pairs.templates.language import Feature, Piece, Slot, Template, parse, slots
from wug.files import parse_toml, read_text, user_path

Item = Mapping[str, str]
"""The forms of a word, by name; of a word with only one, that is called ``."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A template with the features that vary in it."""

    name: str
    category: str
    text: str
    template: Template
    vary: Mapping[str, tuple[str, ...]]
    label: str
    """What a condition is called, with the features' names in braces."""
    compare: str
    """`word` where the word in the brackets shows the error, `sentence` where only the whole does."""

    def conditions(self) -> list[dict[str, str]]:
        """The features' values, in every combination."""
        return [dict(zip(self.vary, values, strict=True)) for values in product(*self.vary.values())]

    def condition(self, values: Mapping[str, str]) -> str:
        """What the condition with these values is called."""
        return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self.label)


@dataclass(frozen=True, slots=True)
class Grammar:
    """Patterns, and the words for them."""

    language: str
    function_words: frozenset[str]
    """Words that a sentence may have twice."""
    lexicon: Mapping[str, tuple[Item, ...]]
    patterns: Mapping[str, Pattern]

    @property
    def categories(self) -> list[str]:
        """The categories of its patterns, in order."""
        return list(dict.fromkeys(pattern.category for pattern in self.patterns.values()))

    def form(self, slot: Slot, values: Mapping[str, str], chosen: Mapping[str, Item]) -> str:
        """The word that a slot holds, in the form that the features' values ask for."""
        return chosen[slot.name][form_name(slot.features, values, chosen)]


def form_name(features: Sequence[Feature], values: Mapping[str, str], chosen: Mapping[str, Item]) -> str:
    """The name of a form, such as `sing` or `past.plur`."""
    return ".".join(
        chosen[feature.name][feature.column]
        if feature.column
        else values.get(f"-{feature.name}" if feature.other else feature.name, feature.name)
        for feature in features
    )


def built_in() -> list[str]:
    """The names of the grammars that come with the program."""
    return sorted(entry.name.removesuffix(".toml") for entry in _assets().iterdir() if entry.name.endswith(".toml"))


def load(source: Path | str | None = None) -> Grammar:
    """The grammar of a TOML file or a built-in one by name; English without any."""
    name = "english" if source is None else str(source)
    if name in built_in():
        return _grammar(_data(_built_in_path(name)), name)
    path = user_path(name)
    if not path.exists() and path.suffix != ".toml":
        raise UnknownName("grammar", name, built_in())
    return _grammar(_data(path), str(path))


def _data(path: Path) -> dict[str, Any]:
    """The contents of a file, with those of the one that it extends underneath."""
    data = parse_toml(read_text(path), path)
    known = ("extends", "language", "function_words", "lexicon", "pattern")
    if unknown := next((key for key in data if key not in known), None):
        raise InputError(f"unknown key {unknown!r}.{suggestion(unknown, known)}", file=path)
    parent = data.pop("extends", None)
    if parent is None:
        return data
    if parent not in built_in():
        raise InputError(
            f"it extends {parent!r}, which is not built in.{suggestion(str(parent), built_in())}", file=path
        )
    below = _data(_built_in_path(parent))
    if not isinstance(data.get("pattern", []), list) or not isinstance(data.get("lexicon", {}), dict):
        return below | data
    words = _strings(data.get("function_words", []), str(path), "function_words")
    names = {entry.get("name") for entry in data.get("pattern", []) if isinstance(entry, dict)}
    return {
        "language": data.get("language", below["language"]),
        "function_words": below["function_words"] + words,
        "lexicon": below["lexicon"] | data.get("lexicon", {}),
        "pattern": [old for old in below["pattern"] if old["name"] not in names] + data.get("pattern", []),
    }


def _grammar(data: Mapping[str, Any], file: str) -> Grammar:
    lexicon = {
        name: _word_class(entry, file, f"lexicon.{name}")
        for name, entry in _mapping(data.get("lexicon"), file, "lexicon").items()
    }
    patterns: dict[str, Pattern] = {}
    entries = data.get("pattern")
    if not isinstance(entries, list) or not entries:
        raise InputError("there is no [[pattern]] in it", file=file)
    for number, entry in enumerate(entries, 1):
        pattern = _pattern(_mapping(entry, file, f"pattern {number}"), file, f"pattern {number}")
        if pattern.name in patterns:
            raise InputError(f"a second pattern is called {pattern.name!r}", file=file, place=f"pattern {number}")
        patterns[pattern.name] = pattern
    words = frozenset(word.lower() for word in _strings(data.get("function_words", []), file, "function_words"))
    grammar = Grammar(str(data.get("language", "")), words, lexicon, patterns)
    for pattern in patterns.values():
        _check_forms(grammar, pattern, file)
    return grammar


def _word_class(entry: Any, file: str, place: str) -> tuple[Item, ...]:
    table = _mapping(entry, file, place)
    forms, items = table.get("forms", [""]), table.get("items")
    if not isinstance(items, list) or not items or not isinstance(forms, list):
        raise InputError('a class is forms = ["sing", …] and items = [["cat", …], …]', file=file, place=place)
    found: list[Item] = []
    for item in items:
        words = [item] if isinstance(item, str) else item
        if not isinstance(words, list) or len(words) != len(forms) or not all(isinstance(word, str) for word in words):
            raise InputError(f"{item!r} does not have a word for each of the forms {forms}", file=file, place=place)
        found.append(dict(zip(map(str, forms), words, strict=True)))
    return tuple(found)


def _pattern(entry: Mapping[str, Any], file: str, place: str) -> Pattern:
    for key in ("name", "category", "text"):
        if not isinstance(entry.get(key), str):
            raise InputError(f"{key} is missing", file=file, place=place)
    known = ("name", "category", "text", "vary", "condition", "compare")
    if unknown := next((key for key in entry if key not in known), None):
        raise InputError(f"unknown key {unknown!r}.{suggestion(unknown, known)}", file=file, place=place)
    name, compare = entry["name"], entry.get("compare", "word")
    if compare not in ("word", "sentence"):
        raise InputError(f"compare is 'word' or 'sentence', not {compare!r}", file=file, place=f"pattern {name}")
    vary = {
        feature: tuple(_strings(values, file, f"pattern {name}, vary"))
        for feature, values in _mapping(entry.get("vary", {}), file, f"pattern {name}").items()
    }
    if short := next((feature for feature, values in vary.items() if len(set(values)) < 2), None):
        raise InputError(f"{short} needs at least two values to vary between", file=file, place=f"pattern {name}")
    label = str(entry.get("condition", "_".join(f"{{{feature}}}" for feature in vary)))
    for feature in re.findall(r"\{(\w+)\}", label):
        if feature not in vary:
            raise InputError(f"condition has {feature!r}, which does not vary", file=file, place=f"pattern {name}")
    try:
        template = parse(entry["text"])
    except FormulaError as error:
        raise FormulaError(
            error.message, error.formula, error.start, error.end, file=file, place=f"pattern {name}"
        ) from None
    return Pattern(name, entry["category"], entry["text"], template, vary, label, compare)


def _check_forms(grammar: Grammar, pattern: Pattern, file: str) -> None:
    """Refuse a pattern with a slot that no word can fill."""
    place = f"pattern {pattern.name}"
    template = pattern.template
    readings = [template.right(), *(template.wrong(foil) for foil in range(template.foils))]
    classes = {slot.name: slot.word_class for pieces in readings for slot in slots(pieces)}
    for slot in (slot for pieces in readings for slot in slots(pieces)):
        if slot.word_class not in grammar.lexicon:
            what = f"unknown class {slot.word_class!r}.{suggestion(slot.word_class, grammar.lexicon)}"
            raise InputError(what, file=file, place=place)
        for name in sorted(_possible_forms(grammar, pattern, slot, classes, (file, place))):
            if name not in grammar.lexicon[slot.word_class][0]:
                forms = ", ".join(repr(form) for form in grammar.lexicon[slot.word_class][0])
                what = f"{slot.word_class} has no form {name!r}; it has {forms}"
                raise InputError(what, file=file, place=place)
    _refuse_other_in_right(template.right(), pattern, file)


def _possible_forms(
    grammar: Grammar, pattern: Pattern, slot: Slot, classes: Mapping[str, str], where: tuple[str, str]
) -> set[str]:
    choices: list[set[str]] = []
    for feature in slot.features:
        if feature.column is not None:
            items = grammar.lexicon.get(classes.get(feature.name, ""), ())
            if not items or feature.column not in items[0]:
                what = f"{feature.name}:{feature.column} is no column of a word in this pattern"
                raise InputError(what, file=where[0], place=where[1])
            choices.append({item[feature.column] for item in items})
        elif feature.name in pattern.vary:
            choices.append(set(pattern.vary[feature.name]))
        elif feature.other:
            raise InputError(f"-{feature.name}, but {feature.name} does not vary", file=where[0], place=where[1])
        else:
            choices.append({feature.name})
    return {".".join(parts) for parts in product(*choices)}


def _refuse_other_in_right(pieces: Sequence[Piece], pattern: Pattern, file: str) -> None:
    for slot in slots(pieces):
        for feature in slot.features:
            if feature.other:
                what = f"-{feature.name} stands outside a starred alternative"
                raise InputError(what, file=file, place=f"pattern {pattern.name}")


def _mapping(value: Any, file: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError("a table is missing here", file=file, place=place)
    return value


def _strings(value: Any, file: str, place: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise InputError("a list of words is missing here", file=file, place=place)
    return value


def _assets() -> Path:
    return Path(str(files("wug") / "assets" / "templates"))


def _built_in_path(name: str) -> Path:
    return _assets() / f"{name}.toml"
