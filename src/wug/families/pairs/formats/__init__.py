"""The formats of minimal pairs, told apart by what is in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wug.errors import InputError, UnknownName
from wug.families.pairs.formats import blimp, focused, linzen, marked, original
from wug.families.pairs.formats.focused import SENTENCES, WORDS, Labels, SentenceColumns, WordColumns
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.formats.tables import GROUPS
from wug.families.pairs.pair import Pair, Parsed
from wug.files import head as head_of
from wug.files import require_text
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing minimal pairs down."""

    title: str
    recognises: Callable[[Path, str], bool]
    parse: Callable[[Path, Labels], Parsed]


FORMATS: Mapping[str, Format] = {
    "original": Format("original (Gulordava et al.)", original.recognises, lambda path, _: original.parse(path)),
    "word": Format("word-focused", focused.recognises_words, lambda path, labels: _words(path, labels)),
    "sentence": Format("sentence-focused", focused.recognises_sentences, lambda path, labels: _sentences(path, labels)),
    "blimp": Format("BLiMP JSONL", blimp.recognises, lambda path, labels: blimp.parse(path, labels.groups)),
    "true-false": Format("True/False rows", marked.recognises_marks, lambda path, _: marked.parse_marks(path)),
    "marvin-linzen": Format("Marvin–Linzen", marked.recognises_cases, lambda path, _: marked.parse_cases(path)),
    "linzen": Format("line-aligned", linzen.recognises, lambda path, _: linzen.parse(path)),
}

_IN_FOLDERS = {"blimp": (".jsonl", ".jsonl.gz"), "true-false": (".txt", ".txt.gz")}
"""What makes a folder one suite, and the files in it that count."""

COLUMNS = ("good", "bad", "sentence", "form", "form_alt", "len_prefix")
"""The options that name the columns of a table of no known format."""


KNOWN_GROUPS = frozenset({*GROUPS.values(), "pattern_type"})
"""What results are broken down by without being asked."""


def format_of(path: Path, head: str) -> str | None:
    """The name of the format a file or a folder is in; None where it is in none of them."""
    if path.is_dir():
        return next((name for name, endings in _IN_FOLDERS.items() if _made_of(path, name, endings)), None)
    return next((name for name, form in FORMATS.items() if form.recognises(path, head)), None)


def parse(path: Path, options: Mapping[str, str]) -> Parsed:
    """The pairs of a file or a folder; `options` may name its format, or its columns."""
    labels = _labels(options)
    if any(name in options for name in COLUMNS):
        return _named(path, options, labels)
    name = options.get("format") or format_of(path, head_of(path))
    if name is None:
        require_text(path)
        raise InputError(f"{_unknown(path)}. Name its columns, such as -S good=COLUMN -S bad=COLUMN", file=path)
    if name not in FORMATS:
        raise UnknownName("format of minimal pairs", name, FORMATS)
    if path.is_dir():
        return _folder(path, name, labels)
    return FORMATS[name].parse(path, labels)


def _unknown(path: Path) -> str:
    if not path.exists():
        return "no such file or folder"
    return f"this is none of the formats of minimal pairs ({', '.join(form.title for form in FORMATS.values())})"


def _labels(options: Mapping[str, str]) -> Labels:
    groups = tuple(name.strip() for name in options.get("groups", "").split(",") if name.strip())
    return Labels(options.get("pattern"), options.get("item"), groups)


def _named(path: Path, options: Mapping[str, str], labels: Labels) -> Parsed:
    """The pairs of a table whose columns the user names."""
    if "good" in options or "bad" in options:
        if not ("good" in options and "bad" in options):
            missing = "bad" if "good" in options else "good"
            raise InputError(f"name both columns of sentences: -S {missing}=COLUMN is missing", file=path)
        return focused.parse_sentences(path, SentenceColumns(options["good"], options["bad"]), labels)
    names = [options.get(name, name) for name in COLUMNS[2:]]
    if "sentence" not in options:
        names[0] = WORDS.sentence
    return focused.parse_words(path, WordColumns(*names), labels)


def _words(path: Path, labels: Labels) -> Parsed:
    return focused.parse_words(path, WORDS, labels)


def _sentences(path: Path, labels: Labels) -> Parsed:
    return focused.parse_sentences(path, SENTENCES, labels)


def _folder(path: Path, name: str, labels: Labels) -> Parsed:
    """The files of a folder as one; a pair is then called after its file as well."""
    if name not in _IN_FOLDERS:
        raise InputError(f"a folder cannot be in the format {name!r}; only in {' or '.join(_IN_FOLDERS)}", file=path)
    pairs: list[Pair] = []
    problems: list[Problem] = []
    blind = 0
    for file in _files(path, _IN_FOLDERS[name]):
        if not FORMATS[name].recognises(file, head_of(file)):
            problems.append(Problem("warning", file.name, f"passed over: it is not {FORMATS[name].title}"))
            continue
        found = FORMATS[name].parse(file, labels)
        pairs += (_called_after(pair, stem(file)) for pair in found.pairs)
        problems += (replace(fault, place=f"{file.name}, {fault.place}".rstrip(", ")) for fault in found.problems)
        blind += found.blind
    return Parsed(name, pairs, problems, blind)


def _called_after(pair: Pair, name: str) -> Pair:
    return pair if pair.item.startswith(f"{name}/") else replace(pair, item=f"{name}/{pair.item}")


def _files(path: Path, endings: tuple[str, ...]) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.is_file() and file.name.endswith(endings))


def _made_of(path: Path, name: str, endings: tuple[str, ...]) -> bool:
    """Whether at least half of a folder's files with these endings are in the format."""
    try:
        files = _files(path, endings)
    except OSError:
        return False
    known = sum(FORMATS[name].recognises(file, head_of(file)) for file in files)
    return known > 0 and 2 * known >= len(files)
