"""The formats of minimal pairs, told apart by what is in a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from wug.errors import InputError, UnknownName, suggestion
from wug.families.pairs.formats import alternating, blimp, focused, folders, linzen, marked, one_row, original, two_rows
from wug.families.pairs.formats.focused import SENTENCES, WORDS, SentenceColumns, WordColumns
from wug.families.pairs.formats.labels import Labels
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import Pair, Parsed
from wug.families.tables import GROUPS, columns_of, keys_of
from wug.files import head as head_of
from wug.files import require_text, shortened
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing minimal pairs down."""

    title: str
    recognises: Callable[[Path, str], bool]
    parse: Callable[[Path, Labels], Parsed]
    in_folders: bool = False
    """Whether the files of a folder are one suite."""


def _one_row(name: str, layout: one_row.Layout) -> Format:
    return Format(layout.title, lambda _, head: layout.recognises(keys_of(head)), partial(one_row.parse, name), True)


def _two_rows(name: str, layout: two_rows.Layout) -> Format:
    return Format(layout.title, lambda _, head: two_rows.recognises(layout, head), partial(two_rows.parse, name), True)


FORMATS: Mapping[str, Format] = {
    "original": Format("original (Gulordava et al.)", original.recognises, lambda path, _: original.parse(path)),
    "word": Format("word-focused", focused.recognises_words, lambda path, labels: _words(path, labels)),
    "sentence": Format("sentence-focused", focused.recognises_sentences, lambda path, labels: _sentences(path, labels)),
    **{name: _one_row(name, layout) for name, layout in one_row.LAYOUTS.items()},
    **{name: _two_rows(name, layout) for name, layout in two_rows.LAYOUTS.items()},
    "blimp": Format("BLiMP", blimp.recognises, blimp.parse, True),
    "true-false": Format("True/False rows", marked.recognises_marks, lambda path, _: marked.parse_marks(path), True),
    "marvin-linzen": Format("Marvin–Linzen", marked.recognises_cases, lambda path, _: marked.parse_cases(path)),
    "linzen": Format("line-aligned", linzen.recognises, lambda path, _: linzen.parse(path)),
    "crows-pairs": Format("CrowS-Pairs", lambda _, head: _is_crows(head), lambda path, _: _refuse_bias(path)),
    "lines": Format("a sentence a line, good and bad in turn", lambda path, head: False, alternating.parse, True),
}
"""By name; the first that recognises a file is taken."""

UNLABELLED = ("original", "true-false", "marvin-linzen", "linzen", "lines")
"""Formats whose files say themselves what patterns and pairs are called."""
COLUMNS = ("good", "bad", "sentence", "form", "form_alt", "len_prefix")
"""The options that name the columns of a table of no known format."""


KNOWN_GROUPS = frozenset({*GROUPS.values(), "pattern_type"})
"""What results are broken down by without being asked."""


def format_of(path: Path, head: str) -> str | None:
    """The name of the format that a file is in, or most files of a folder; None where it is in none of them."""
    if path.is_dir():
        return _most(name for file in folders.below(path) if (name := _in_folder(file, {})) is not None)
    return next((name for name, form in FORMATS.items() if form.recognises(path, head)), None)


def files_in(folder: Path, options: Mapping[str, str]) -> dict[Path, str]:
    """The files of a folder and those below it that make a suite; why one that -S files leaves out does not."""
    patterns = _listed(options, "files")
    every = folders.below(folder)
    if patterns:
        chosen = {file: folders.fits(file.relative_to(folder), patterns) for file in every}
        return {file: "" if fits else f"-S files={options['files']}" for file, fits in chosen.items()}
    return {file: "" for file in every if _in_folder(file, options) is not None}


def _in_folder(file: Path, options: Mapping[str, str]) -> str | None:
    """The name of the format that a file in a folder is read in; None where it is no part of a suite."""
    if folders.ending(file) not in folders.ENDINGS:
        return None
    if columns := {options[name] for name in COLUMNS if name in options}:
        return "sentence" if columns <= keys_of(head_of(file)) else None
    if "format" in options:
        return options["format"]
    name = format_of(file, head_of(file))
    if name is not None and FORMATS[name].in_folders:
        return name
    return "lines" if name is None and "lines" in options else None


def _most(names: Iterable[str]) -> str | None:
    return next((name for name, _ in Counter(names).most_common(1)), None)


def parse(path: Path, options: Mapping[str, str]) -> Parsed:
    """The pairs of a file or a folder; `options` may name its format, or its columns."""
    _refuse_contradictions(options)
    labels = _labels(options)
    parsed = _folder(path, options, labels) if path.is_dir() else _parsed(path, options, labels)
    _require_named(path, parsed, labels)
    if labels.language is None:
        return parsed
    return replace(parsed, pairs=list(folders.with_groups(parsed.pairs, {"language": labels.language})))


def _file(path: Path, name: str | None, labels: Labels) -> Parsed:
    if name is None and labels.lines is not None:
        name = "lines"
    if name is None:
        require_text(path)
        columns = ", ".join(columns_of(head_of(path)))
        remedy = f"Name two of its columns ({shortened(columns)}): -S good=COLUMN -S bad=COLUMN"
        if "\t" not in head_of(path):
            remedy += "; if it has one sentence per line, good and bad in turn, -S lines=good-bad or -S lines=bad-good"
        raise InputError(f"{_unknown(path)}. {remedy}", file=path)
    if name not in FORMATS:
        raise UnknownName("format of minimal pairs", name, FORMATS)
    if name in UNLABELLED and (column := labels.pattern or labels.item):
        raise InputError(f"no column {column!r}: the format {name} has patterns and names of its own", file=path)
    return FORMATS[name].parse(path, labels)


def _require_named(path: Path, parsed: Parsed, labels: Labels) -> None:
    """An error for a column that the user names and no pair has anything from."""
    if any(problem.level == "error" for problem in parsed.problems):
        return
    columns = columns_of(head_of(path)) if path.is_file() else ()
    if labels.human is not None and all(pair.human is None for pair in parsed.pairs):
        message = f"no pair has a judgement by people in a column {labels.human!r}."
        raise InputError(f"{message}{suggestion(labels.human, columns)}", file=path)
    distinct = {id(pair.groups): pair.groups for pair in parsed.pairs}.values()
    for name in labels.groups:
        if not any(name in groups for groups in distinct):
            raise InputError(f"no pair has anything in a column {name!r}.{suggestion(name, columns)}", file=path)


def _unknown(path: Path) -> str:
    if not path.exists():
        return "no such file or folder"
    return f"this is none of the formats of minimal pairs ({', '.join(FORMATS)})"


def _labels(options: Mapping[str, str]) -> Labels:
    return Labels(
        options.get("pattern"),
        options.get("item"),
        _listed(options, "groups"),
        options.get("human"),
        options.get("language"),
        options.get("lines"),
        _listed(options, "files"),
    )


def _listed(options: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in options.get(name, "").split(",") if value.strip())


def _refuse_contradictions(options: Mapping[str, str]) -> None:
    """InputError where columns are named that do not go together."""
    for one, other in (("good", "bad"), ("form", "form_alt")):
        if one in options and options[one] == options.get(other):
            raise InputError(f"{one} and {other} are both the column {options[one]!r}: name two columns")
    named = [name for name in COLUMNS if name in options]
    if named and "format" in options:
        raise InputError(f"give either format or columns ({', '.join(named)}): a format says which columns it has")
    if named[:1] in (["good"], ["bad"]) and named[-1] not in ("good", "bad"):
        raise InputError(f"give either good and bad, or a sentence and two forms: leave out {named[-1]}")


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


def _is_crows(head: str) -> bool:
    return keys_of(head) >= {"sent_more", "sent_less", "bias_type"}


def _refuse_bias(path: Path) -> Parsed:
    raise InputError(
        "CrowS-Pairs measures bias: neither sentence of a pair is the right one, and there is no accuracy. To count "
        "how often the more stereotyping one is preferred: -S good=sent_more -S bad=sent_less -S groups=bias_type",
        file=path,
    )


def _words(path: Path, labels: Labels) -> Parsed:
    return focused.parse_words(path, WORDS, labels)


def _sentences(path: Path, labels: Labels) -> Parsed:
    return focused.parse_sentences(path, SENTENCES, labels)


def _folder(path: Path, options: Mapping[str, str], labels: Labels) -> Parsed:
    """The files of a folder as one suite; their formats may differ."""
    name = options.get("format")
    if name is not None and (name not in FORMATS or not FORMATS[name].in_folders):
        joined = [other for other, form in FORMATS.items() if form.in_folders]
        raise UnknownName("format of a folder of minimal pairs", name, joined)
    known = files_in(path, options)
    files = [file for file, why in known.items() if not why]
    for pattern in labels.files:
        if not any(folders.fits(file.relative_to(path), [pattern]) for file in known):
            raise InputError(f"no file fits -S files={pattern}", file=path)
    if not files:
        raise InputError("no file in this folder is in a format of minimal pairs", file=path)
    alone = {key: value for key, value in options.items() if key != "files"}
    parsed = {file: _parsed(file, alone, labels) for file in files}
    copies = {} if "files" in options else folders.copies(parsed)  # what the user names counts
    shared = os.path.commonpath([file.parent for file in files])
    read = {file: found for file, found in parsed.items() if file not in copies}
    stems = Counter(file.with_name(stem(file)) for file in read)
    pairs: list[Pair] = []
    problems: list[Problem] = []
    for file, found in read.items():
        where = file.relative_to(shared)
        pairs += folders.placed(found.pairs, where, whole_name=stems[file.with_name(stem(file))] > 1)
        problems += (replace(fault, place=f"{where}, {fault.place}".rstrip(", ")) for fault in found.problems)
    for file, first in copies.items():
        count = len(parsed[file].pairs)
        what = "its 1 pair is" if count == 1 else f"its {count:,} pairs are"
        problems.append(Problem("warning", str(file.relative_to(shared)), f"not read: {what} in {first.name}"))
    counts = {file.relative_to(path).as_posix(): len(found.pairs) for file, found in read.items()}
    formats = _most(found.format for found in read.values())
    return Parsed(formats or "", pairs, problems, sum(found.blind for found in read.values()), counts)


def _parsed(path: Path, options: Mapping[str, str], labels: Labels) -> Parsed:
    """The pairs of one file."""
    if any(name in options for name in COLUMNS):
        return _named(path, options, labels)
    name = _in_folder(path, options) or options.get("format") or format_of(path, head_of(path))
    return _file(path, name, labels)
