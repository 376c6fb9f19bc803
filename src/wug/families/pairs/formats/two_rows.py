"""Published tables that have a sentence in each row, marked as good or bad: two rows make a pair."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wug.families.pairs.formats.labels import Labels
from wug.families.pairs.formats.marked import stem
from wug.families.pairs.pair import GroupPool, Pair, Parsed
from wug.families.tables import Mend, Record, Table, keys_of, plain, read_table, text_of
from wug.types import Problem


@dataclass(frozen=True, slots=True)
class Layout:
    """A format with a sentence in each row."""

    title: str
    columns: frozenset[str]
    """That tell it."""
    sentence: str
    mark: str
    """The column that says whether it is the good or the bad one."""
    marks: tuple[str, str]
    """What stands there for the good and for the bad one."""
    key: tuple[str, ...]
    """The columns that the two rows of a pair share; without any, a pair is each row and the one below it."""
    groups: Mapping[str, tuple[str, ...]]
    """What the pairs are grouped by, and the columns that make it up."""
    language: str
    header: tuple[str, ...] = ()
    """The columns of files that do not name them."""
    named_by_file: bool = False
    """Whether the file's name is the paradigm."""
    mend: Mend | None = None


def recognises(layout: Layout, head: str) -> bool:
    """Whether the header is the format's; without one, whether the first line has its fields, marks among them."""
    if not layout.header:
        return layout.columns <= keys_of(head)
    first = head.split("\n", 1)[0].rstrip("\r").split("\t")
    return len(first) == len(layout.header) and first[layout.header.index(layout.mark)] in layout.marks


def parse(name: str, path: Path, labels: Labels) -> Parsed:
    """The pairs of a file in the format of that name."""
    layout = LAYOUTS[name]
    table = read_table(path, header=layout.header, mend=layout.mend)
    problems = [*table.problems, *labels.missing(table.header)]
    common = {"language": layout.language} | ({"paradigm": stem(path)} if layout.named_by_file else {})
    pool, pairs = GroupPool(), []
    for item, good, bad in _paired(layout, table, problems):
        ours, theirs = text_of(good, layout.sentence, problems), text_of(bad, layout.sentence, problems)
        if ours is None or theirs is None:
            continue
        found = {group: " ".join(plain(good.fields.get(name)) for name in of) for group, of in layout.groups.items()}
        groups = pool.of(common | found | labels.groups_of(good))
        item = plain(good.fields.get(labels.item)) or item if labels.item is not None else item
        pairs.append(Pair(item, ours.strip(), theirs.strip(), groups, human=_human(labels, good, bad, problems)))
    return Parsed(name, pairs, problems)


def _paired(layout: Layout, table: Table, problems: list[Problem]) -> Iterator[tuple[str, Record, Record]]:
    """The name and the two rows of each pair; what has no partner is a problem."""
    found: dict[tuple[str, ...], dict[str, Record]] = {}
    for number, record in enumerate(table.records):
        mark = plain(record.fields.get(layout.mark))
        if mark not in layout.marks:
            good, bad = layout.marks
            problems.append(Problem("error", record.place, f"{layout.mark} is {mark!r}, not {good!r} or {bad!r}"))
            continue
        key = tuple(plain(record.fields.get(column)) for column in layout.key) or (str(number // 2 + 1),)
        rows = found.setdefault(key, {})
        if mark in rows:
            message = f"a second {mark} row of {'/'.join(key)}; see {rows[mark].place}"
            problems.append(Problem("error", record.place, message))
        rows.setdefault(mark, record)
    for key, rows in found.items():
        if len(rows) == 2:
            yield "/".join(key), rows[layout.marks[0]], rows[layout.marks[1]]
        else:
            ((mark, record),) = rows.items()
            message = f"no row that goes with this {mark} one ({'/'.join(key)})"
            problems.append(Problem("error", record.place, message))


def _human(labels: Labels, good: Record, bad: Record, problems: list[Problem]) -> float | None:
    """By how much people judge the good row's sentence better than the bad one's."""
    ours, theirs = labels.human_of(good, problems), labels.human_of(bad, problems)
    return None if ours is None or theirs is None else ours - theirs


_DOUBLED = re.compile(r',""([^",\n][^"\n]*)"",')


def _single_quotes(text: str) -> tuple[str, list[Problem]]:
    """BLiMP-NL with `""a sentence, and more""` quoted once, as it is meant: a reader would cut it at the comma."""
    wrong = [number for number, line in enumerate(text.split("\n"), 1) if _DOUBLED.search(line)]
    if not wrong:
        return text, []
    lines = ", ".join(map(str, wrong[:10])) + (", …" if len(wrong) > 10 else "")
    many = f"{len(wrong)} lines have" if len(wrong) > 1 else "1 line has"
    message = f'{many} a sentence in doubled quotation marks (""…""), which is read whole: {lines}'
    return _DOUBLED.sub(r',"\1",', text), [Problem("warning", "", message)]


LAYOUTS: Mapping[str, Layout] = {
    "blimp-nl": Layout(
        "BLiMP-NL",
        frozenset({"Grammaticality", "Sentence", "Item", "Number (paradigm)"}),
        "Sentence",
        "Grammaticality",
        ("Grammatical", "Ungrammatical"),
        ("Number (paradigm)", "Item"),
        {"phenomenon": ("Phenomenon",), "paradigm": ("Number (paradigm)", "Paradigm")},  # names are there twice
        "nl",
        mend=_single_quotes,
    ),
    "event-knowledge": Layout(
        "event knowledge (Kauf et al.)",
        frozenset({"Plausibility", "Sentence", "ItemNum"}),
        "Sentence",
        "Plausibility",
        ("Plausible", "Implausible"),
        ("ItemNum", "Voice"),
        {"voice": ("Voice",), "type": ("TrialType",)},
        "en",
        named_by_file=True,
    ),
    "climp": Layout(
        "CLiMP",
        frozenset({"", "0", "1", "2", "3"}),
        "2",
        "3",
        ("1", "0"),
        (),
        {"phenomenon": ("0",), "paradigm": ("1",)},
        "zh",
    ),
    "number-units": Layout(
        "Lakretz et al.",
        frozenset(),
        "sentence",
        "class",
        ("correct", "wrong"),
        ("id",),
        {"condition": ("condition",)},
        "en",
        header=("sentence", "condition", "class", "id"),
        named_by_file=True,
    ),
}
"""By the name of the format."""
