"""Writes minimal pairs, and converts files between formats without loss."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from wug.errors import InputError, UnknownName
from wug.families.pairs import formats
from wug.families.pairs.formats.standard import without_phenomenon
from wug.families.pairs.pair import Pair, difference, target_of
from wug.families.pairs.scoring import OPTIONS
from wug.files import write_text
from wug.options import names, refuse_unknown
from wug.problems import refuse_errors

_FORMAT_OF_SUFFIX = {".jsonl": "blimp", ".txt": "true-false", ".gold": "linzen", ".text": "linzen"}
_TABLE_SUFFIXES = (".tsv", ".tab", ".csv")
_DERIVED = ("pattern_type",)
"""Groups that follow from others, and are not written."""
_BLIMP_KEYS = {"paradigm": "UID", "field": "field", "term": "linguistics_term"}


def convert(source: Path, target: Path, options: Mapping[str, str]) -> list[str]:
    """Write the pairs of `source` to `target`, and return what was written.

    The format is `options["to"]`. By default, it depends on the suffix of the new file: `.jsonl` is BLiMP, `.txt`
    True/False rows, `.text` line-aligned, `.tsv`, `.tab` and `.csv` a table, which is word-focused if the source has
    target words. The result is read again and must have the same pairs; otherwise nothing is written.
    """
    refuse_unknown(options, [*names(OPTIONS), "to"], "pairs")
    parsed = formats.parse(source, {key: value for key, value in options.items() if key != "to"})
    refuse_errors(parsed.problems, source)
    name = options.get("to") or _format_of_suffix(target, parsed.pairs)
    texts = _texts(name, target, parsed.pairs, source)
    extra = sorted({group for pair in parsed.pairs for group in pair.groups if group not in formats.KNOWN_GROUPS})
    _refuse_loss(name, texts, parsed.pairs, extra, target)
    for path, text in texts.items():
        write_text(path, text)
    files = ", ".join(str(path) for path in texts)
    notices = [f"{len(parsed.pairs)} pairs, from {parsed.format} to {name}: {files}"]
    if extra:
        notices.append(f"read it with -S groups={','.join(extra)}")
    return notices


def write_sentences(pairs: Sequence[Pair]) -> str:
    """A sentence-focused table: two sentences per row."""
    rows = [[pair.groups.get("pattern", ""), pair.good, pair.bad] for pair in pairs]
    return _table(("pattern", "sent", "sent_alt"), rows, pairs)


def write_words(pairs: Sequence[Pair]) -> str:
    """A word-focused table: a sentence and two forms per row; InputError if a pair differs in several words."""
    rows = []
    for pair in pairs:
        length, good, bad = _one_word(pair)
        rows.append([pair.groups.get("pattern", ""), good, bad, pair.good, str(length)])
    return _table(("pattern", "form", "form_alt", "sent", "len_prefix"), rows, pairs)


def write_blimp(pairs: Sequence[Pair]) -> str:
    """One JSON object per pair."""
    return "".join(json.dumps(_blimp_row(pair), ensure_ascii=False) + "\n" for pair in pairs)


def write_true_false(pairs: Sequence[Pair]) -> str:
    """True/False rows; a repeated good sentence is written once."""
    rows: list[str] = []
    last: str | None = None
    for pair in pairs:
        if pair.good != last:
            rows.append(f"True\t{pair.good}\n")
        rows.append(f"False\t{pair.bad}\n")
        last = pair.good
    return "".join(rows)


def write_marvin_linzen(pairs: Sequence[Pair]) -> str:
    """Rows of test case, condition, a sentence and its wrong versions."""
    rows: list[list[str]] = []
    for pair in pairs:
        if pair.groups.get("contrast", "1") != "1" and rows and rows[-1][2] == pair.good:
            rows[-1].append(pair.bad)
        else:
            rows.append([pair.groups.get("pattern", ""), pair.groups.get("condition", ""), pair.good, pair.bad])
    return "".join("\t".join(row) + "\n" for row in rows)


def write_aligned(pairs: Sequence[Pair]) -> dict[str, str]:
    """The contents of line-aligned files, by suffix."""
    words = [_one_word(pair) for pair in pairs]
    gold = (
        f"{length}\t{good}\t{bad}\t{pair.groups.get('attractors', '0')}\n"
        for pair, (length, good, bad) in zip(pairs, words, strict=True)
    )
    return {
        ".text": "".join(f"{pair.good} <eos>\n" for pair in pairs),
        ".gold": "".join(gold),
        ".eval": "".join(f"{length}\n" for length, _, _ in words),
    }


WRITERS: Mapping[str, tuple[tuple[str, ...], Callable[[Sequence[Pair]], str | dict[str, str]]]] = {
    "sentence": ((*_TABLE_SUFFIXES, ".txt"), write_sentences),
    "word": ((*_TABLE_SUFFIXES, ".txt"), write_words),
    "blimp": ((".jsonl",), write_blimp),
    "true-false": ((".txt", ".tsv"), write_true_false),
    "marvin-linzen": ((".tsv", ".txt"), write_marvin_linzen),
    "linzen": ((".text", ".gold", ".eval"), write_aligned),
}
"""The suffixes of each format, and the function that returns its text, or its texts by suffix."""


def _format_of_suffix(target: Path, pairs: Sequence[Pair]) -> str:
    suffix = target.suffix.lower()
    if suffix in _FORMAT_OF_SUFFIX:
        return _FORMAT_OF_SUFFIX[suffix]
    if suffix not in _TABLE_SUFFIXES:
        known = ", ".join([*_TABLE_SUFFIXES, *_FORMAT_OF_SUFFIX])
        raise InputError(f"pairs are not written as {suffix or 'a file without a suffix'}: use {known}", file=target)
    return "word" if pairs and all(pair.target is not None for pair in pairs) else "sentence"


def _texts(name: str, target: Path, pairs: Sequence[Pair], source: Path) -> dict[Path, str]:
    if name == "original":
        raise InputError(
            "the original format has columns (freq, punct, len_context, …) that other formats lack. "
            "Write word or sentence instead",
            file=target,
        )
    if name not in WRITERS:
        raise UnknownName("format of minimal pairs", name, WRITERS)
    suffixes, write = WRITERS[name]
    if target.suffix.lower() not in suffixes:
        raise InputError(f"the format {name} needs a file that ends in {', '.join(suffixes)}", file=target)
    try:
        text = write(pairs)
    except InputError as error:
        raise InputError(error.message, file=source, place=error.place) from None
    if isinstance(text, dict):
        return {target.with_suffix(suffix): content for suffix, content in text.items()}
    if target.suffix.lower() != ".csv":
        return {target: text}
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    return {target: out.getvalue()}


def _refuse_loss(
    name: str, texts: Mapping[Path, str], pairs: Sequence[Pair], extra: Sequence[str], target: Path
) -> None:
    """Read the new files before they are written, and refuse if a pair differs."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            write_text(Path(folder) / path.name, text)
        first = Path(folder) / next(iter(texts)).name
        again = formats.parse(first, {"format": name, "groups": ",".join(extra)} if extra else {"format": name})
    if len(again.pairs) != len(pairs):
        raise InputError(f"the format {name} would keep only {len(again.pairs)} of these {len(pairs)} pairs")
    for before, after in zip(pairs, again.pairs, strict=True):
        if lost := _lost_part(before, after):
            fix = "Use blimp (.jsonl) or a table (.tsv), which can hold it"
            if name == "true-false" and lost.startswith("pattern"):
                fix = "True/False rows have their pattern in the name of the file: call it PATTERN.txt"
            raise InputError(f"the format {name} would lose {lost} of item {before.item}. {fix}", file=target)


def _lost_part(before: Pair, after: Pair) -> str | None:
    if before.context != after.context:
        return "the context"
    if (before.good, before.bad) != (after.good, after.bad):
        return "the sentences"
    if dict(before.groups) != dict(after.groups):
        changed = {key for key in {*before.groups, *after.groups} if before.groups.get(key) != after.groups.get(key)}
        return " and ".join(f"{key} {before.groups.get(key, 'none')!r}" for key in sorted(changed - {*_DERIVED}))
    if before.item != after.item:
        return "the name"
    return None if target_of(before) == target_of(after) else "the target word"


def _one_word(pair: Pair) -> tuple[int, str, str]:
    """The number of words before the target, and the two forms."""
    target = target_of(pair)
    if target is not None and pair.good[target.good_end :] == pair.bad[target.bad_end :]:
        good, bad = pair.good[target.start : target.good_end], pair.bad[target.start : target.bad_end]
        if len(good.split()) == len(bad.split()) == 1:
            return len(pair.good[: target.start].split()), good, bad
    raise InputError(
        f"the sentences do not differ in one word: {pair.good!r}, {pair.bad!r}. Only the formats sentence and blimp "
        "can hold such a pair",
        place=f"item {pair.item}",
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], pairs: Sequence[Pair]) -> str:
    """A tab-separated table; groups, contexts and names without a column of the format follow its columns."""
    groups = dict.fromkeys(name for pair in pairs for name in pair.groups if name not in ("pattern", *_DERIVED))
    extra = {name: [pair.groups.get(name, "") for pair in pairs] for name in groups}
    extra["context"] = [pair.context for pair in pairs]
    if [pair.item for pair in pairs] != [str(number) for number in range(1, len(pairs) + 1)]:
        extra["item"] = [pair.item for pair in pairs]
    extra = {name: column for name, column in extra.items() if any(column)}
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow([*header, *extra])
    writer.writerows([*row, *(column[number] for column in extra.values())] for number, row in enumerate(rows))
    return out.getvalue()


def _blimp_row(pair: Pair) -> dict[str, object]:
    groups = without_phenomenon(pair.groups).items()
    named = {_BLIMP_KEYS.get(name, name): value for name, value in groups if name not in _DERIVED}
    row: dict[str, object] = {"sentence_good": pair.good, "sentence_bad": pair.bad, **named}
    row |= {"context": pair.context} if pair.context else {}
    name, paradigm = pair.item, pair.groups.get("paradigm")
    if paradigm is not None and name.startswith(f"{paradigm}/"):
        row["pairID"] = name.removeprefix(f"{paradigm}/")
    elif paradigm is None and name.isdecimal():
        row["pairID"] = name
    else:
        row["item"] = name
    if pair.target is not None and pair.target != difference(pair.good, pair.bad):
        row |= {
            "one_prefix_method": True,
            "one_prefix_prefix": pair.good[: pair.target.start].rstrip(),
            "one_prefix_word_good": pair.good[pair.target.start : pair.target.good_end],
            "one_prefix_word_bad": pair.bad[pair.target.start : pair.target.bad_end],
        }
    return row
