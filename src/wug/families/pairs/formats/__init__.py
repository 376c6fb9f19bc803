"""The formats of minimal pairs, recognised by the content of a file, and folders of such files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError, UnknownName, suggestion
from wug.families.named_columns import GROUP_COLUMNS
from wug.families.pairs.formats import lines, original, published, standard, tables
from wug.families.pairs.formats.tables import PairLabels, comma_separated
from wug.families.pairs.pair import Pair, ParsedPairs, distinct_groups
from wug.files import head as head_of
from wug.files import require_text, shortened
from wug.problems import ProblemList
from wug.record_tables import columns_of, header_of, stem, suffix_of


class PairsFormat(NamedTuple):
    """A file format for minimal pairs."""

    recognises: Callable[[Path, str], bool]
    parse: Callable[[Path, PairLabels], ParsedPairs]
    in_folders: bool = False
    """Whether the files of a folder make one suite."""


def _recognises_words(path: Path, head: str) -> bool:
    header = set(header_of(head))
    return "form_alt" in header and "constr_id" not in header


def _recognises_sentences(path: Path, head: str) -> bool:
    header = set(header_of(head))
    return ("sent_alt" in header and "form_alt" not in header) or header == {"pattern", "sent"}


def _recognises_crows_pairs(path: Path, head: str) -> bool:
    return {"sent_more", "sent_less", "bias_type"} <= set(columns_of(head))


def _refuse_crows_pairs(path: Path, labels: PairLabels) -> ParsedPairs:
    raise InputError(
        "CrowS-Pairs measures bias: neither sentence of a pair is correct, so there is no accuracy. To count how often "
        "the more stereotyping sentence is preferred: -S good=sent_more -S bad=sent_less -S groups=bias_type",
        file=path,
    )


_PUBLISHED = {**published.LAYOUTS, "blimp": standard.BLIMP}
FORMATS: Mapping[str, PairsFormat] = {
    "original": PairsFormat(original.recognises, original.parse),
    "word": PairsFormat(_recognises_words, partial(tables.parse, "word", standard.WORDS)),
    "sentence": PairsFormat(_recognises_sentences, partial(tables.parse, "sentence", standard.SENTENCES)),
    **{
        name: PairsFormat(layout.recognises, partial(tables.parse, name, layout), True)
        for name, layout in _PUBLISHED.items()
    },
    "true-false": PairsFormat(lines.recognises_marks, lines.parse_marks, True),
    "marvin-linzen": PairsFormat(lines.recognises_cases, lines.parse_cases),
    "linzen": PairsFormat(lines.recognises_aligned, lines.parse_aligned),
    "crows-pairs": PairsFormat(_recognises_crows_pairs, _refuse_crows_pairs),
    "lines": PairsFormat(lambda *_: False, lines.parse_alternating, True),
}
"""By name; the first that recognises a file is used."""

UNLABELLED = ("original", "true-false", "marvin-linzen", "linzen", "lines")
COLUMNS = ("good", "bad", "sentence", "form", "form_alt", "len_prefix")
"""The options that name the columns of a table in an unknown format."""
KNOWN_GROUPS = frozenset({*GROUP_COLUMNS.values(), "pattern_type"})
"""The groups that results are always broken down by."""
SUFFIXES = (".jsonl", ".csv", ".tsv", ".txt")
"""Suffixes of files in folders. If files have the same pairs, the one with the first of these suffixes counts."""
_IMPLIED_BY = {"paradigm": {"paradigm", "pattern"}, "phenomenon": {"phenomenon", "term", "pattern"}}
"""Groups that make another superfluous."""


def format_of(path: Path, head: str) -> str | None:
    """The name of the format of a file, or of most files of a folder; None if it is unknown."""
    if path.is_dir():
        return _most_common(filter(None, (_format_in_folder(file, {}) for file in _files_below(path))))
    return next((name for name, form in FORMATS.items() if form.recognises(path, head)), None)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The files below a folder that make a suite; files that -S files excludes, with that reason."""
    patterns = comma_separated(options, "files")
    files = _files_below(folder)
    if patterns:
        matching = {file: _matches(file.relative_to(folder), patterns) for file in files}
        return {file: "" if matches else f"-S files={options['files']}" for file, matches in matching.items()}
    return {file: "" for file in files if _format_in_folder(file, options) is not None}


def parse(path: Path, options: Mapping[str, str]) -> ParsedPairs:
    """The pairs of a file or folder; `options` may name its format or its columns."""
    _refuse_contradictions(options)
    labels = PairLabels.of(options)
    parsed = _parse_folder(path, options, labels) if path.is_dir() else _parse_file(path, options, labels)
    _require_named(path, parsed, labels)
    if labels.language is None:
        return parsed
    return replace(parsed, pairs=list(_with_groups(parsed.pairs, {"language": labels.language})))


def _parse_file(path: Path, options: Mapping[str, str], labels: PairLabels) -> ParsedPairs:
    if any(name in options for name in COLUMNS):
        return _parse_named_columns(path, options, labels)
    head = head_of(path)
    name = options.get("format") or format_of(path, head) or ("lines" if labels.lines is not None else None)
    if name is None:
        require_text(path)
        if not path.exists():
            raise InputError("no such file or folder", file=path)
        fix = f"Name two of its columns ({shortened(', '.join(columns_of(head)))}): -S good=COLUMN -S bad=COLUMN"
        if "\t" not in head:
            fix += "; if it has one sentence per line, good and bad in turn, -S lines=good-bad or -S lines=bad-good"
        raise InputError(f"this is none of the formats of minimal pairs ({', '.join(FORMATS)}). {fix}", file=path)
    if name not in FORMATS:
        raise UnknownName("format of minimal pairs", name, FORMATS)
    if name in UNLABELLED and (column := labels.pattern or labels.item):
        raise InputError(f"no column {column!r}: the format {name} has its own patterns and names", file=path)
    return FORMATS[name].parse(path, labels)


def _parse_named_columns(path: Path, options: Mapping[str, str], labels: PairLabels) -> ParsedPairs:
    if "good" in options or "bad" in options:
        if not ("good" in options and "bad" in options):
            missing = "bad" if "good" in options else "good"
            raise InputError(f"name both columns of sentences: -S {missing}=COLUMN is missing", file=path)
        return tables.parse("sentence", standard.sentence_layout(options["good"], options["bad"]), path, labels)
    form, form_alt, len_prefix = (options.get(name, name) for name in COLUMNS[3:])
    layout = standard.word_layout(options.get("sentence", "sent"), form, form_alt, len_prefix)
    return tables.parse("word", layout, path, labels)


def _parse_folder(path: Path, options: Mapping[str, str], labels: PairLabels) -> ParsedPairs:
    """The files of a folder as one suite; their formats may differ."""
    name = options.get("format")
    if name is not None and (name not in FORMATS or not FORMATS[name].in_folders):
        joined = [other for other, form in FORMATS.items() if form.in_folders]
        raise UnknownName("format of a folder of minimal pairs", name, joined)
    known = files_in(path, options)
    files = [file for file, reason in known.items() if not reason]
    for pattern in labels.files:
        if not any(_matches(file.relative_to(path), [pattern]) for file in known):
            raise InputError(f"no file matches -S files={pattern}", file=path)
    if not files:
        raise InputError("no file in this folder is in a format of minimal pairs", file=path)
    file_options = {key: value for key, value in options.items() if key != "files"}
    parsed = {file: _parse_file(file, file_options, labels) for file in files}
    copies = {} if "files" in options else _copies(parsed)  # a file that the user names is read
    shared = os.path.commonpath([file.parent for file in files])
    read = {file: file_pairs for file, file_pairs in parsed.items() if file not in copies}
    stems = Counter(file.with_name(stem(file)) for file in read)
    pairs: list[Pair] = []
    problems = ProblemList()
    for file, file_pairs in read.items():
        where = file.relative_to(shared)
        pairs += _in_folder(file_pairs.pairs, where, with_suffix=stems[file.with_name(stem(file))] > 1)
        problems += (replace(each, place=f"{where}, {each.place}".rstrip(", ")) for each in file_pairs.problems)
        problems.dropped += file_pairs.problems.dropped
    for file, first in copies.items():
        count = len(parsed[file].pairs)
        what = "its 1 pair is" if count == 1 else f"its {count:,} pairs are"
        problems.warn(str(file.relative_to(shared)), f"not read: {what} in {first.name}")
    counts = {file.relative_to(path).as_posix(): len(file_pairs.pairs) for file, file_pairs in read.items()}
    format = _most_common(file_pairs.format for file_pairs in read.values()) or ""
    return ParsedPairs(
        format, pairs, problems, sum(file_pairs.early_differences for file_pairs in read.values()), counts
    )


def _format_in_folder(file: Path, options: Mapping[str, str]) -> str | None:
    """The name of the format of a file in a folder; None if it is not part of a suite."""
    if suffix_of(file) not in SUFFIXES:
        return None
    head = head_of(file)
    if columns := {options[name] for name in COLUMNS if name in options}:
        return "sentence" if columns <= set(columns_of(head)) else None
    if "format" in options:
        return options["format"]
    name = format_of(file, head)
    if name is not None and FORMATS[name].in_folders:
        return name
    return "lines" if name is None and "lines" in options else None


def _files_below(folder: Path) -> list[Path]:
    """The files below a folder, except hidden ones, sorted by path."""
    files: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__"))]
        files += (Path(parent) / name for name in names if not name.startswith("."))
    return sorted(files)


def _matches(path: Path, patterns: Sequence[str]) -> bool:
    """Whether a path, or the name at its end, matches one of the glob patterns."""
    return any(fnmatchcase(path.name, pattern) or fnmatchcase(path.as_posix(), pattern) for pattern in patterns)


def _copies(parsed: Mapping[Path, ParsedPairs]) -> dict[Path, Path]:
    """Files whose pairs are all in a file of the same name with another suffix, and that file."""
    by_name: dict[Path, list[Path]] = {}
    for file in parsed:
        by_name.setdefault(file.with_name(stem(file)), []).append(file)
    copies: dict[Path, Path] = {}
    for files in by_name.values():
        first, *others = sorted(files, key=lambda file: SUFFIXES.index(suffix_of(file)))
        known = {(pair.good, pair.bad) for pair in parsed[first].pairs} if others else set()
        copies |= {file: first for file in others if {(pair.good, pair.bad) for pair in parsed[file].pairs} <= known}
    return copies


def _in_folder(pairs: Iterable[Pair], where: Path, *, with_suffix: bool) -> Iterator[Pair]:
    """The pairs of a file in a folder, with the path of the file in their names.

    Pairs without a paradigm are grouped by file, and those without a phenomenon by the folder below the top.
    """
    file, folder = f"{where.name if with_suffix else stem(where)}/", "".join(f"{part}/" for part in where.parts[:-1])
    phenomenon = {"phenomenon": where.parts[0]} if len(where.parts) > 1 else {}
    for pair in _with_groups(pairs, {"paradigm": stem(where), **phenomenon}):
        item = folder + (pair.item if pair.item.startswith(file) else file + pair.item)
        yield pair if item == pair.item else pair._replace(item=item)


def _with_groups(pairs: Iterable[Pair], groups: Mapping[str, str]) -> Iterator[Pair]:
    """The pairs with the groups that they lack."""
    known: dict[int, Mapping[str, str]] = {}
    for pair in pairs:
        if id(pair.groups) not in known:
            pair_fields = pair.groups.keys()
            lacking = {name: value for name, value in groups.items() if not _IMPLIED_BY.get(name, {name}) & pair_fields}
            known[id(pair.groups)] = {**lacking, **pair.groups} if lacking else pair.groups
        shared = known[id(pair.groups)]
        yield pair if shared is pair.groups else pair._replace(groups=shared)


def _most_common(names: Iterable[str]) -> str | None:
    return next((name for name, _ in Counter(names).most_common(1)), None)


def _require_named(path: Path, parsed: ParsedPairs, labels: PairLabels) -> None:
    """Refuse a column that the user names and that is empty for all pairs."""
    if any(problem.level == "error" for problem in parsed.problems):
        return
    columns = columns_of(head_of(path)) if path.is_file() else ()
    if labels.human is not None and all(pair.human is None for pair in parsed.pairs):
        message = f"no pair has a judgement by people in a column {labels.human!r}."
        raise InputError(f"{message}{suggestion(labels.human, columns)}", file=path)
    known = {name for groups in distinct_groups(parsed.pairs) for name in groups}
    for name in labels.groups:
        if name not in known:
            raise InputError(f"no pair has a value in a column {name!r}.{suggestion(name, columns)}", file=path)


def _refuse_contradictions(options: Mapping[str, str]) -> None:
    for first, second in (("good", "bad"), ("form", "form_alt")):
        if first in options and options[first] == options.get(second):
            raise InputError(f"{first} and {second} are both the column {options[first]!r}: name two columns")
    if "human" in options and "people" in options:
        raise InputError("give either people=FILE or human=COLUMN: both are judgements by people")
    named = [name for name in COLUMNS if name in options]
    if named and "format" in options:
        raise InputError(f"give either format or columns ({', '.join(named)}): a format determines its columns")
    if named[:1] in (["good"], ["bad"]) and named[-1] not in ("good", "bad"):
        raise InputError(f"give either good and bad, or a sentence and two forms: leave out {named[-1]}")
