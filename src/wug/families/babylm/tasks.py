"""The tasks of BabyLM: their folders, formats and sizes, and the vocabulary filter that makes BLiMP shorter."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.families.tables import Record, read_table, stem
from wug.files import read_lines, shortened

WORD = re.compile(r"\w+(?=n't\b)|n't|'(?:s|re|ve|ll|d|m)\b|[\w-]+|[^\w\s]")
"""A token of the vocabulary filter; it decides as NLTK's word tokenizer does for all pairs of BLiMP."""


@dataclass(frozen=True, slots=True)
class BabylmItem:
    """Texts of which the first is right, and the part of each that is scored."""

    uid: str
    texts: tuple[str, ...]
    completions: tuple[str, ...]
    """The scored end of each text."""
    predictions: tuple[str, ...]
    """What a submission says if a text is preferred."""
    groups: Mapping[str, str] = field(default_factory=dict)
    ratio: float | None = None
    """The proportion of people who prefer the first, in the wug tests."""
    number: str | None = None
    """Its number in the file, if the file has one."""


Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BabylmTask:
    """A task: its folders (full, fast) with their numbers of items, the fields of its files, and the item of a row."""

    folders: Mapping[str, int]
    fields: tuple[str, ...]
    item: Callable[[Row, str], BabylmItem]


def _sentences(row: Row, file: str) -> BabylmItem:
    both = (str(row["sentence_good"]), str(row["sentence_bad"]))
    if "field" not in row:
        return BabylmItem(file, both, both, both, {"field": "supplement"})
    groups = {"field": str(row["field"]).replace("syntax_semantics", "syntax/semantics")}
    groups["term"] = str(row.get("linguistics_term", ""))
    number = None if row.get("pairID") is None else str(row["pairID"])
    return BabylmItem(str(row["UID"]), both, both, both, groups, number=number)


def _ewok(row: Row, file: str) -> BabylmItem:
    targets = (f" {row['Target1']}", f" {row['Target2']}")
    return BabylmItem(str(row["Domain"]), tuple(row["Context1"] + each for each in targets), targets, targets)


def _entities(row: Row, file: str) -> BabylmItem:
    options = tuple(map(str, row["options"]))
    texts = tuple(row["input_prefix"] + option for option in options)
    return BabylmItem(f"{file}_{row['numops']}_ops", texts, options, options, {"subset": file})


def _comps(row: Row, file: str) -> BabylmItem:
    phrase = str(row["property_phrase"])
    texts = (f"{row['prefix_acceptable']} {phrase}", f"{row['prefix_unacceptable']} {phrase}")
    uid = file.removeprefix("comps_").replace("-", "_")
    return BabylmItem(uid, texts, (phrase, phrase), texts)


def _wug(row: Row, file: str) -> BabylmItem:
    both = tuple(str(row["sentences"]).split("\t"))
    return BabylmItem("", both, both, both, ratio=float(row["ratio"]))


TASKS: Mapping[str, BabylmTask] = {
    "blimp": BabylmTask(
        {"blimp_filtered": 59875, "blimp_fast": 13400}, ("sentence_good", "sentence_bad", "field", "UID"), _sentences
    ),
    "blimp_supplement": BabylmTask(
        {"supplement_filtered": 5218, "supplement_fast": 250}, ("sentence_good", "sentence_bad"), _sentences
    ),
    "ewok": BabylmTask({"ewok_filtered": 7618, "ewok_fast": 1100}, ("Context1", "Target1", "Target2", "Domain"), _ewok),
    "entity_tracking": BabylmTask(
        {"entity_tracking": 9483, "entity_tracking_fast": 3152}, ("input_prefix", "options", "numops"), _entities
    ),
    "comps": BabylmTask({"comps": 91028}, ("prefix_acceptable", "prefix_unacceptable", "property_phrase"), _comps),
    "wug_adj": BabylmTask({"wug_adj_nominalization": 200}, ("sentences", "ratio"), _wug),
    "wug_past": BabylmTask({"wug_past_tense": 50}, ("sentences", "ratio"), _wug),
}
"""By the key of the submission. Sizes are those that the pipeline's collate_preds.py asks for."""


def task_of(folder: Path) -> str | None:
    """The task of a folder, by its name or the fields of its first row; None if it is none."""
    for name, task in TASKS.items():
        if folder.name in task.folders:
            return name
    files = _files(folder)
    try:
        first = next(_rows(files[0])).fields if files else {}
    except (InputError, StopIteration):
        return None
    return next((name for name, task in TASKS.items() if first.keys() >= set(task.fields)), None)


def read_task(name: str, folder: Path) -> list[BabylmItem]:
    """The items of a task, file by file; InputError with the line of one that lacks something."""
    files = _files(folder)
    if not files:
        raise InputError("the folder has no .jsonl files", file=folder)
    return [item for file in files for item in _items(name, file)]


def rebuild(folder: Path, vocabulary: Path) -> list[BabylmItem]:
    """The pairs of BLiMP whose words are all in the vocabulary of the challenge: `blimp_filtered`."""
    known = set(read_lines(vocabulary))
    return [
        item
        for file in _files(folder)
        for item in _items("blimp", file)
        if all(word in known for text in item.texts for word in WORD.findall(text.lower()))
    ]


def sizes() -> Mapping[str, Mapping[str, int] | int]:
    """Items by folder and UID; a number if all UIDs have as many. Other folders are known by their total only."""
    return tomllib.loads(files("wug").joinpath("assets", "babylm", "sizes.toml").read_text(encoding="utf-8"))


def size_warnings(name: str, folder: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """A warning if a folder with an official name has another number of items, in all or of a UID."""
    expected, total = TASKS[name].folders.get(folder), sum(counts.values())
    if expected is None:
        return ()
    each = sizes().get(folder, {})
    wanted = dict.fromkeys(counts, each) if isinstance(each, int) else each
    wrong = [f"{uid}: {counts.get(uid, 0)} and not {n}" for uid, n in wanted.items() if counts.get(uid, 0) != n]
    if expected == total and not wrong:
        return ()
    listed = f" ({', '.join(wrong[:3])}{', …' * (len(wrong) > 3)})" if wrong else ""
    return (f"{folder} has {total:,} items and not {expected:,}{listed}: the leaderboard rejects such a submission",)


def counts_of(items: Sequence[BabylmItem]) -> Counter[str]:
    """The number of items by UID."""
    return Counter(item.uid for item in items)


def names(items: Sequence[BabylmItem]) -> list[str]:
    """The name of each item: its UID, and its number in the file or, counted from 0, among those of its UID."""
    seen: Counter[str] = Counter()
    found = []
    for item in items:
        found.append(f"{item.uid}/{seen[item.uid] if item.number is None else item.number}")
        seen[item.uid] += 1
    return found


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")])


def _items(name: str, file: Path) -> Iterator[BabylmItem]:
    task = TASKS[name]
    for place, row in _rows(file):
        try:
            item = task.item(row, stem(file))
            item = item if item.uid else replace(item, uid=name)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            wanted = ", ".join(task.fields)
            message = f"{shortened(str(error))}: a row of {name} has the fields {wanted}"
            raise InputError(message, file=file, place=place) from None
        if len(item.texts) < 2 or not all(item.completions):
            raise InputError("fewer than two texts, or an empty one", file=file, place=place)
        yield item


def _rows(file: Path) -> Iterator[Record]:
    """The rows of a file; InputError for the first line that is not a JSON object."""
    table = read_table(file)
    for problem in table.problems:
        raise InputError(problem.message, file=file, place=problem.place)
    yield from table.records
