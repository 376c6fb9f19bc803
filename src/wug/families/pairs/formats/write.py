"""Minimal pairs written down, in each of the formats that can hold them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence

from wug.errors import InputError
from wug.families.pairs.formats.blimp import without_phenomenon
from wug.families.pairs.pair import Pair, Target, difference, place

_DERIVED = ("pattern_type",)
"""Groups that a reader makes of others."""
_BLIMP_KEYS = {"paradigm": "UID", "field": "field", "term": "linguistics_term"}


def sentence_focused(pairs: Sequence[Pair]) -> str:
    """A table with two sentences in each row."""
    rows = [[pair.groups.get("pattern", ""), pair.good, pair.bad] for pair in pairs]
    return _table(("pattern", "sent", "sent_alt"), rows, pairs)


def word_focused(pairs: Sequence[Pair]) -> str:
    """A table with a sentence and two forms in each row; an error for a pair that does not differ in one word."""
    rows = []
    for pair in pairs:
        target = _one_word(pair)
        words_before = len(pair.good[: target.start].split())
        forms = pair.good[target.start : target.good_end], pair.bad[target.start : target.bad_end]
        rows.append([pair.groups.get("pattern", ""), *forms, pair.good, str(words_before)])
    return _table(("pattern", "form", "form_alt", "sent", "len_prefix"), rows, pairs)


def blimp(pairs: Sequence[Pair]) -> str:
    """One JSON object a pair."""
    return "".join(json.dumps(_json(pair, number), ensure_ascii=False) + "\n" for number, pair in enumerate(pairs, 1))


def true_false(pairs: Sequence[Pair]) -> str:
    """True/False rows; a good sentence that is repeated is written once."""
    lines: list[str] = []
    last: str | None = None
    for pair in pairs:
        if pair.good != last:
            lines.append(f"True\t{pair.good}")
        lines.append(f"False\t{pair.bad}")
        last = pair.good
    return "".join(f"{line}\n" for line in lines)


def marvin_linzen(pairs: Sequence[Pair]) -> str:
    """Rows of test case, condition, a sentence and the wrong ones; what was one row is one row again."""
    rows: list[list[str]] = []
    for pair in pairs:
        if pair.groups.get("contrast", "1") != "1" and rows and rows[-1][2] == pair.good:
            rows[-1].append(pair.bad)
        else:
            rows.append([pair.groups.get("pattern", ""), pair.groups.get("condition", ""), pair.good, pair.bad])
    return "".join("\t".join(row) + "\n" for row in rows)


def linzen(pairs: Sequence[Pair]) -> dict[str, str]:
    """The contents of line-aligned files, by their endings."""
    text, gold, places = [], [], []
    for pair in pairs:
        target = _one_word(pair)
        before = len(pair.good[: target.start].split())
        forms = pair.good[target.start : target.good_end], pair.bad[target.start : target.bad_end]
        text.append(f"{pair.good} <eos>\n")
        gold.append("\t".join((str(before), *forms, pair.groups.get("attractors", "0"))) + "\n")
        places.append(f"{before}\n")
    return {"text": "".join(text), "gold": "".join(gold), "eval": "".join(places)}


def with_commas(table: str) -> str:
    """A tab-separated table as a comma-separated one."""
    out = io.StringIO()
    rows = csv.reader(io.StringIO(table, newline=""), delimiter="\t")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


WRITERS: Mapping[str, Callable[[Sequence[Pair]], str]] = {
    "sentence": sentence_focused,
    "word": word_focused,
    "blimp": blimp,
    "true-false": true_false,
    "marvin-linzen": marvin_linzen,
}
"""By the name of the format; `linzen` writes three files and is not among them."""


def _one_word(pair: Pair) -> Target:
    target = place(pair)
    if target is not None and pair.good[target.good_end :] == pair.bad[target.bad_end :]:
        forms = pair.good[target.start : target.good_end], pair.bad[target.start : target.bad_end]
        if all(len(form.split()) == 1 for form in forms):
            return target
    raise InputError(
        f"the sentences do not differ in one word: {pair.good!r}, {pair.bad!r}. Only the formats sentence and blimp "
        "can hold such a pair",
        place=f"item {pair.item}",
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], pairs: Sequence[Pair]) -> str:
    """A tab-separated table; groups and names that the format itself has no column for follow its own."""
    extra = [name for name in _group_names(pairs) if name not in ("pattern", *_DERIVED)]
    named = [pair.item for pair in pairs] != [str(number) for number in range(1, len(pairs) + 1)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    after = any(pair.context for pair in pairs)
    writer.writerow([*header, *extra, *(["context"] if after else []), *(["item"] if named else [])])
    for row, pair in zip(rows, pairs, strict=True):
        groups = [pair.groups.get(name, "") for name in extra]
        writer.writerow([*row, *groups, *([pair.context] if after else []), *([pair.item] if named else [])])
    return out.getvalue()


def _json(pair: Pair, number: int) -> dict[str, object]:
    given = without_phenomenon(pair.groups).items()
    groups = {_BLIMP_KEYS.get(name, name): value for name, value in given if name not in _DERIVED}
    row: dict[str, object] = {"sentence_good": pair.good, "sentence_bad": pair.bad, **groups}
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


def _group_names(pairs: Sequence[Pair]) -> list[str]:
    return list(dict.fromkeys(name for pair in pairs for name in pair.groups))
