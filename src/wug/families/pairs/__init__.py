"""Minimal pairs: does the model prefer the grammatical sentence, or word?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from wug.errors import InputError, SuiteError
from wug.families.pairs import formats, oddities
from wug.families.pairs.conversion import convert
from wug.families.pairs.formats import files_in
from wug.families.pairs.formats.blimp import without_phenomenon
from wug.families.pairs.formats.linzen import companion
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import Pair, Parsed, Target, place, without_eos
from wug.families.pairs.published import judge_columns, score_published
from wug.families.pairs.settings import GIVEN, OPTIONS, Settings, settings
from wug.families.pairs.suite import PairsSuite
from wug.families.pairs.unigrams import fit
from wug.files import checksum_of, read_lines, shortened
from wug.types import Problem, Row, Suite


@dataclass(frozen=True, slots=True)
class Running:
    """Pairs, each with its line in a text."""

    pairs: tuple[Pair, ...]
    lines: tuple[str, ...]


def running(path: Path, pairs: Sequence[Pair]) -> Running | Problem | None:
    """The pairs with their lines in the text beside their file, or why they have none; None where there is no text.

    Its lines are the sentences of the pairs, in the order of the pairs; further ones may stand between them.
    """
    beside = companion(path, "text") if path.is_file() and all(pair.sentence is not None for pair in pairs) else None
    if beside is None:
        return None
    try:
        lines = tuple(read_lines(beside))
    except InputError as error:
        return Problem("warning", "", str(error))
    plain = [" ".join(without_eos(line).split()) for line in lines]
    placed: list[Pair] = []
    number = -1
    for pair in pairs:
        try:
            number = plain.index(str(pair.sentence), number + 1)
        except ValueError:
            after = f"after line {number + 1}" if placed else "in it"
            message = f"{beside.name} does not go with these pairs: there is no {pair.sentence!r} {after}"
            return Problem("warning", f"pair {pair.item}", message)
        placed.append(replace(pair, line=number))
    return Running(tuple(placed), lines)


__all__ = [
    "BREAKDOWN",
    "OPTIONS",
    "Pair",
    "PairsSuite",
    "Published",
    "check",
    "convert",
    "files_in",
    "read",
    "read_back",
    "read_published",
    "recognises",
    "schema",
    "score_published",
]

BREAKDOWN = ("language", "phenomenon", "term", "type", "pattern", "paradigm", "condition")
"""What a first look at a result is broken down by: the first that there is."""

BUILTIN_MODEL = "wug-causal"
IDENTIFYING_OPTIONS = ("good", "form", "lines")
"""Options that only a file of pairs can need: they say which side is grammatical."""
COLUMN_HINT = "-S good=COLUMN -S bad=COLUMN for minimal pairs"
TEXT_HINT = "For files with one sentence per line, good and bad in turn, add -S lines=good-bad, or bad-good"
ONE_SUITE_PER_SET = True
ACROSS_SUITES = "language"


@dataclass(frozen=True, slots=True)
class Published:
    """A file with log-probabilities beside its pairs."""

    suite: PairsSuite
    columns: Mapping[str, Sequence[Row]]
    """The judgements on each column."""


def recognises(path: Path, head: str) -> bool:
    """Whether a file or a folder has minimal pairs in it, in any of the known formats."""
    return formats.format_of(path, head) is not None


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The one suite of a file or a folder."""
    chosen = settings(options)
    parsed = formats.parse(path, options)
    faults = [problem for problem in parsed.problems if problem.level == "error"]
    if faults:
        raise SuiteError(oddities.capped(faults), file=path)
    if not parsed.pairs:
        raise InputError("there are no pairs in it", file=path)
    notices = _notices(parsed, chosen)
    if chosen.unigrams is not None and "slor_words" not in options:
        fitted = fit(chosen.unigrams, (sentence for pair in parsed.pairs for sentence in (pair.good, pair.bad)))
        chosen = replace(chosen, unigrams=fitted.unigrams)
        notices = notices if fitted.notice is None else (*notices, fitted.notice)
    name = path.resolve().name if path.is_dir() else stem(path)
    checksum = _checksum(parsed.pairs)
    suite = PairsSuite(name, tuple(parsed.pairs), chosen, parsed.format, notices, checksum, sources=parsed.counts)
    if chosen.target != "word":
        return [suite]
    pairs = _with_targets(path, parsed.pairs)
    match running(path, pairs):
        case Running(placed, lines):
            return [replace(suite, pairs=placed, lines=lines)]
    return [replace(suite, pairs=tuple(pairs))]


def read_published(path: Path, columns: Sequence[str] | None = None) -> Published:
    """The pairs of a file in the original format with the judgements on each column of log-probabilities.

    Without `columns`, all those that the format itself does not have.
    """
    judged = judge_columns(path, columns)
    suite = PairsSuite(stem(path), judged.pairs, Settings(target=GIVEN), "original", (), _checksum(judged.pairs))
    return Published(suite, judged.columns)


def check(path: Path, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Every fault and oddity of a file or a folder."""
    given = dict(options or {})
    settings(given)  # an option that is none is an error as it is when the file is run
    try:
        parsed = formats.parse(path, given)
        misfit = running(path, parsed.pairs)
        return [*oddities.problems(parsed), *([misfit] if isinstance(misfit, Problem) else [])]
    except SuiteError as error:
        return list(error.problems)
    except InputError as error:
        return [Problem("error", error.place or "", error.message)]


def read_back(suite: PairsSuite) -> list[str]:
    """How a file was read: which sentence of a pair is the good one, and what is read before both."""
    good, bad = (repr(shortened(sentence)) for sentence in (suite.pairs[0].good, suite.pairs[0].bad))
    how = f"read as {suite.format}; first pair: {good} (good), {bad} (bad)"
    return [how, *([suite.understood] if suite.understood else [])]


def schema() -> dict[str, Any]:
    """A JSON Schema of one line of a JSONL file of pairs."""
    text = {"type": "string", "minLength": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A minimal pair: one line of a JSONL file",
        "type": "object",
        "required": ["sentence_good", "sentence_bad"],
        "properties": {
            "sentence_good": {**text, "description": "the grammatical sentence"},
            "sentence_bad": {**text, "description": "the ungrammatical sentence"},
            "UID": {**text, "description": "the paradigm"},
            "linguistics_term": {**text, "description": "the term that the paradigm belongs to"},
            "field": {**text, "description": "the field that the term belongs to"},
            "pairID": {"type": ["string", "integer"], "description": "the pair's number in its paradigm"},
            "one_prefix_method": {"type": "boolean", "description": "whether one prefix and two words make the pair"},
            "one_prefix_prefix": {"type": "string", "description": "what stands before the target word"},
            "one_prefix_word_good": {**text, "description": "the grammatical target word"},
            "one_prefix_word_bad": {**text, "description": "the ungrammatical target word"},
        },
    }


def _with_targets(path: Path, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs with their target words; an error where none has one."""
    placed = [pair if pair.target is not None else replace(pair, target=place(pair)) for pair in pairs]
    if all(pair.target is None for pair in placed):
        raise InputError(
            "target=word needs pairs that differ in one place, and none of these do "
            f"({pairs[0].good!r}, {pairs[0].bad!r}). Use target=sentence",
            file=path,
        )
    return placed


def _notices(parsed: Parsed, chosen: Settings) -> tuple[str, ...]:
    found = [str(problem) for problem in parsed.problems if problem.level == "warning"]
    if len(found) > 5:
        found = [*found[:5], f"{len(found) - 5} more warnings about the file: see `wug check`"]
    if chosen.target == "word" and parsed.blind:
        found.append(
            f"{parsed.blind} pairs differ before the word that shows the error (one_prefix_method is false in the "
            "file): a model that reads from left to right cannot tell them apart by the target word"
        )
    return tuple(found)


def _checksum(pairs: Sequence[Pair]) -> str:
    """The same for any order of the pairs, except among those of one name, which only their order tells apart."""
    return checksum_of(_lines(sorted(pairs, key=attrgetter("item"))))


def _lines(pairs: Iterable[Pair]) -> Iterator[str]:
    """What tells each pair from others; pairs of one kind share their groups, which are looked at once."""
    named: dict[int, str] = {}
    for pair in pairs:
        groups = named.get(id(pair.groups))
        if groups is None:
            groups = named[id(pair.groups)] = "".join(f"\t{name}" for name in _named(tuple(pair.groups.items())))
        match pair.target:
            case None:
                where = ""
            case Target(start, good_end, bad_end):
                where = f"{start}-{good_end}-{bad_end}"
        yield f"{pair.item}\t{pair.good}\t{pair.bad}\t{where}{groups}"


@lru_cache(maxsize=1024)
def _named(groups: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The groups of a pair; neighbours have the same.

    What the language is called changes nothing: the catalogue says it of a set, and a copy of its files does not. Nor
    does a phenomenon that the term tells.
    """
    return tuple(f"{name}={value}" for name, value in without_phenomenon(dict(groups)).items() if name != "language")
