"""The tasks of BabyLM: their folders, formats and sizes, and the vocabulary filter that makes BLiMP shorter."""

from __future__ import annotations

import math
import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError
from wug.exchange.json_files import mapping, read_strict_object
from wug.files import ASSETS, read_lines, read_text, shortened, writing
from wug.record_tables import Record, read_table, stem

VERSIONS = ("full_eval", "fast_eval")
MEASURES = ("RTfirstfix", "RTfirstpass", "RTgopast", "RTrightbound", "self_paced_reading_time")
TEXTS = ("item", "word", "prev_item", "prev_word")
NUMBERS = (*MEASURES, "Subtlex_log10", "length", "context_length", "prev_length")
"""Columns of the reading times."""
MISSING = frozenset(
    ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null")
)  # fmt: skip
"""What pandas reads as a missing value."""
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
    number: str | None = None
    """Its number in the file, if the file has one."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Measures of people, by column."""

    @property
    def ratio(self) -> float | None:
        """The proportion of people who prefer the first, in the wug tests."""
        return self.values.get("ratio")


Row = Mapping[str, Any]


class BabylmTask(NamedTuple):
    """A task: its folders (full, fast) with their numbers of items, the fields of its files, and the item of a row."""

    folders: Mapping[str, int]
    fields: tuple[str, ...]
    item: Callable[[Row, str], BabylmItem]
    file: str = "*.jsonl"
    """Its files, which may be gzipped."""
    full_only: bool = False
    """Whether there is no fast version."""
    texts: int = 2
    """Minimum number of texts of an item."""


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


def _wug_item(row: Row, file: str) -> BabylmItem:
    both = tuple(str(row["sentences"]).split("\t"))
    return BabylmItem("", both, both, both, values={"ratio": finite(row["ratio"])})


def finite(text: str) -> float:
    """A number; ValueError for text, NaN and infinity."""
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number


def _reading(row: Row, file: str) -> BabylmItem:
    """A word after its context, and the previous word after its own, as pandas reads the table."""
    contexts = ["None" if row["item"] in MISSING else str(row["item"])]
    words = [str(row["word"])]
    if row["prev_item"] not in MISSING:
        contexts.append(str(row["prev_item"]))
        words.append(str(row["prev_word"]))
    texts = tuple(context + word for context, word in zip(contexts, words, strict=True))
    values = {name: math.nan if row[name] in MISSING else finite(row[name]) for name in NUMBERS}
    return BabylmItem("reading", texts, tuple(words), texts, values=values)


def _context(row: Row, file: str) -> BabylmItem:
    word = str(row["word"]).strip()
    text = f"{str(row['context']).strip()} {word}"
    return BabylmItem(str(row["word"]), (text,), (word,), (str(row["context"]),))


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
    "comps": BabylmTask(
        {"comps": 91028}, ("prefix_acceptable", "prefix_unacceptable", "property_phrase"), _comps, full_only=True
    ),
    "wug_adj": BabylmTask({"wug_adj_nominalization": 200}, ("sentences", "ratio"), _wug_item),
    "wug_past": BabylmTask({"wug_past_tense": 50}, ("sentences", "ratio"), _wug_item),
    "reading": BabylmTask({"reading": 1726}, (*TEXTS, *NUMBERS), _reading, "reading_data.csv", texts=1),
    "aoa": BabylmTask({"aoa": 8005}, ("word", "context"), _context, "cdi_childes.json", full_only=True, texts=1),
}
"""By the key of the submission. Sizes are those that the pipeline's collate_preds.py asks for."""


def task_of(folder: Path) -> str | None:
    """The task of a folder, by its name or the fields of its first row; None if it is none."""
    for name, task in TASKS.items():
        if folder.name in task.folders:
            return name
    for name, task in TASKS.items():
        files = _files(name, folder)
        with suppress(InputError, StopIteration):
            if files and next(_rows(files[0])).fields.keys() >= set(task.fields):
                return name
    return None


def read_task(name: str, folder: Path) -> list[BabylmItem]:
    """The items of a task, file by file; InputError with the line of one that lacks something."""
    files = _files(name, folder)
    if not files:
        raise InputError(f"the folder has no {TASKS[name].file.removeprefix('*')} files", file=folder)
    items = [item for file in files for item in _items(name, file)]
    if not items:
        raise InputError("is empty: no items", file=files[0])
    return items


def rebuild(folder: Path, vocabulary: Path) -> list[BabylmItem]:
    """The pairs of BLiMP whose words are all in the vocabulary of the challenge: `blimp_filtered`."""
    known = set(read_lines(vocabulary))
    return [
        item
        for file in _files("blimp", folder)
        for item in _items("blimp", file)
        if all(word in known for text in item.texts for word in WORD.findall(text.lower()))
    ]


def sizes() -> Mapping[str, Mapping[str, int] | int]:
    """Items by folder and UID; a number if all UIDs have as many. Other folders are known by their total only."""
    return tomllib.loads(read_text(ASSETS / "babylm" / "sizes.toml"))


def size_warnings(name: str, folder: str, uids: Iterable[str]) -> tuple[str, ...]:
    """A warning if a folder with an official name has another number of items, in all or of a UID."""
    counts = Counter(uids)
    expected, total = TASKS[name].folders.get(folder), counts.total()
    if expected is None:
        return ()
    each = sizes().get(folder, {})
    wanted = dict.fromkeys(counts, each) if isinstance(each, int) else each
    wrong = [f"{uid}: {counts[uid]:,} and not {n:,}" for uid, n in wanted.items() if counts[uid] != n]
    if expected == total and not wrong:
        return ()
    listed = f" ({', '.join(wrong[:3])}{', …' * (len(wrong) > 3)})" if wrong else ""
    return (f"{folder} has {total:,} items and not {expected:,}{listed}: the leaderboard rejects such a submission",)


def names(items: Sequence[BabylmItem]) -> list[str]:
    """The name of each item: its UID, and its number in the file or, counted from 0, among those of its UID."""
    seen: Counter[str] = Counter()
    item_names = []
    for item in items:
        item_names.append(f"{item.uid}/{seen[item.uid] if item.number is None else item.number}")
        seen[item.uid] += 1
    return item_names


def _files(name: str, folder: Path) -> list[Path]:
    pattern = TASKS[name].file
    return sorted([*folder.glob(pattern), *folder.glob(f"{pattern}.gz")])


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
        if len(item.texts) < task.texts or not all(map(str.strip, item.completions)):
            raise InputError(f"fewer than {task.texts} texts, or an empty one", file=file, place=place)
        yield item


def _rows(file: Path) -> Iterator[Record]:
    """The rows of a file; InputError for the first line that is none."""
    if file.name.removesuffix(".gz").endswith(".json"):
        for word, contexts in read_strict_object(file).items():
            if not isinstance(contexts, list):
                raise InputError("is not a list of contexts", file=file, place=shortened(repr(word)))
            if len(word) > 1:  # as the pipeline
                for number, each in enumerate(contexts, 1):
                    place = f"{word!r}, context {number}"
                    yield Record(place, {"word": word, **mapping(each, "a context", file, place)})
        return
    table = read_table(file)
    for problem in table.problems:
        raise InputError(problem.message, file=file, place=problem.place)
    yield from table.records


def adopt(source: Path, target: Path) -> list[str]:
    """Copy the task folders of evaluation_data, or of one of its versions; one line per folder, none if there is none.

    Raises:
        InputError: If a folder has another number of items than the challenge.
    """
    if not source.is_dir():
        raise InputError("no such folder", file=source)
    copied: dict[str, tuple[Path, int]] = {}
    for version in VERSIONS:
        inside = source if source.name == version else source / version
        for name, folder in ((name, inside / folder) for name, task in TASKS.items() for folder in task.folders):
            if folder.is_dir():
                items = read_task(name, folder)
                if wrong := size_warnings(name, folder.name, (item.uid for item in items)):
                    raise InputError(wrong[0], file=folder)
                copied[f"{version}/{folder.name}"] = folder, len(items)
    for place, (folder, _) in copied.items():
        with writing(target / place):
            shutil.rmtree(target / place, ignore_errors=True)
            shutil.copytree(folder, target / place)
    return [f"{place}: {count:,} items" for place, (_, count) in copied.items()]
