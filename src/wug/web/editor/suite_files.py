"""Suites as files: those that can be opened in the editor, what is in them, where they are saved."""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.evaluation.inline_suites import as_file
from wug.evaluation.opening import builtin_suites
from wug.families import syntaxgym
from wug.families.syntaxgym import write
from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.read import source as formula_text
from wug.families.syntaxgym.table_files import load_table
from wug.families.syntaxgym.table_head import head_lines
from wug.files import head, read_bytes, read_text, write_text
from wug.types import Result
from wug.web.request_body import replace_surrogates

FOUND = 500
"""Suites of one folder that are listed."""
LOOKED = 5000
"""Entries of one folder that are looked at."""
EXACT = 2**53
"""Beyond it a browser does not keep whole numbers exactly."""
KINDS = (".json", ".csv", ".tsv", ".json.gz", ".csv.gz", ".tsv.gz")

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpenedSuite:
    """A suite file as a grid can show it."""

    document: Document
    notes: tuple[str, ...] = ()
    """What had to be made different."""


class SuiteFileExists(InputError):
    """A file of that name is there already."""


def blank() -> Document:
    """A suite to begin with: two conditions, three regions, nothing in them."""
    return _begun({"condition_1": ["", "", ""], "condition_2": ["", "", ""]}, ["region_1", "region_2", "region_3"], [])


def two_by_two() -> Document:
    """A design of two factors with an example: number agreement across a noun of the other number."""
    regions = ["subject", "modifier", "verb", "rest"]
    rows = {
        "match_sing": ["The boy", "near the dogs", "swims", "today ."],
        "mismatch_sing": ["The boy", "near the dogs", "swim", "today ."],
        "match_plural": ["The boys", "near the dog", "swim", "today ."],
        "mismatch_plural": ["The boys", "near the dog", "swims", "today ."],
    }
    predictions = [
        "(3;%match_sing%) < (3;%mismatch_sing%)",
        "(3;%match_plural%) < (3;%mismatch_plural%)",
    ]
    return _begun(rows, regions, predictions)


def builtins() -> dict[str, Path]:
    """The built-in suites of the family, by name."""
    return {name: path for name, path in builtin_suites().items() if path.parent.name == "syntaxgym"}


def suites_in(folder: Path) -> list[str]:
    """The suite files of a folder and of the folders in it, as names relative to it."""
    found = []
    for path in _files(folder):
        if path.name.endswith(KINDS) and _is_suite(path):
            found.append(path.relative_to(folder).as_posix())
            if len(found) == FOUND:
                break
    return sorted(found)


def open_file(path: Path) -> OpenedSuite:
    """The suite in a file, with whatever faults it has, as long as it makes a grid."""
    if path.name.removesuffix(".gz").endswith((".csv", ".tsv")):
        return _open_table(path)
    try:
        document = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise _first_fault(path) from None
    if not isinstance(document, dict):
        raise _first_fault(path)
    notes: list[str] = []
    try:
        return OpenedSuite(_plain(_grid(document, notes), notes), tuple(dict.fromkeys(notes)))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise _first_fault(path) from None


def open_text(text: str) -> OpenedSuite:
    """The suite in the text of a table, as it comes from a spreadsheet."""
    with as_file(text, "the table") as path:
        return _open_table(path)


def of_result(result: Result) -> Document:
    """The suite that a result judged, as far as the result holds it: a limited run has fewer items."""
    try:
        judged = write.evaluated_json(result)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"the result of {result.suite} does not hold its sentences: its rows are damaged") from None
    for region in _regions(judged):
        del region["metric_value"], region["oovs"]
    metric = judged["meta"]["metric"]
    meta = {key: value for key, value in judged["meta"].items() if key not in ("model", "signature") and value}
    meta["metric"] = metric[0] if isinstance(metric, list) and len(metric) == 1 else metric
    return _grid({**judged, "meta": meta}, [])


def _regions(document: Document) -> Iterator[Document]:
    for item in document["items"]:
        for condition in item["conditions"]:
            yield from condition["regions"]


def file_name(document: Mapping[str, Any], ending: str) -> str:
    """What the file of a suite may be called."""
    meta = document.get("meta")
    name = unicodedata.normalize("NFC", str(meta.get("name") or "") if isinstance(meta, Mapping) else "")
    return (re.sub(r"[^\w.+-]+", "_", name).strip("._")[:80] or "suite") + ending


def fit_name(name: str) -> str:
    """A file's name as any disk takes it; the ending, by which its content is read, stays."""
    ending = next((kind for kind in sorted(KINDS, key=len, reverse=True) if name.endswith(kind)), "")
    return re.sub(r"[^\w.+ -]+", "_", name.removesuffix(ending))[:50] + ending


def as_text(document: Mapping[str, Any], ending: str) -> str:
    """A suite as the text of a .json, .csv or .tsv file."""
    if ending == ".json":
        return write.json_text(document)
    # What is written above the table may have faults: it is there to be worked on.
    bare = {**document, "predictions": [], "meta": {"name": "suite"}}
    meta = document.get("meta")
    try:
        given = document.get("predictions", [])
        predictions = [formula_text(raw) for raw in (given if isinstance(given, list) else [given])]
    except InputError as error:
        raise InputError(f"The table cannot be written yet: a prediction {error}") from None
    above = head_lines(meta if isinstance(meta, dict) else {}, [text for text in predictions if text.strip()])
    with as_file(bare) as path:
        try:
            (suite,) = syntaxgym.read(path, {})
        except InputError as error:
            raise InputError(str(error).replace(f"{path}: ", "The table cannot be written yet: ")) from None
    return write.to_csv(suite, "\t" if ending == ".tsv" else ",", above)


def save(document: Mapping[str, Any], path: Path, *, overwrite: bool, seen: str | None = None) -> str:
    """Write a suite to a file; the digest of what is in it then.

    SuiteFileExists if there is a file with other content, unless `overwrite` or its digest is the one `seen` when it
    was last saved: then nobody else has written to it.
    """
    ending = path.suffix.lower()
    if ending not in (".json", ".csv", ".tsv"):
        raise InputError(f"a suite is saved as .json, .csv or .tsv, not as {path.name!r}")
    text = as_text(document, ending)
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path)
    made = _digest(text.encode())
    if overwrite or (seen is not None and path.is_file() and _digest(read_bytes(path)) == seen):
        write_text(path, text)
        return made
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)  # the name is ours from here on, whoever else tries
    except FileExistsError:
        if read_bytes(path) == text.encode():
            return made
        raise SuiteFileExists("there is a file of this name already", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None
    try:
        write_text(path, text)
    except BaseException:
        path.unlink(missing_ok=True)  # empty, and ours
        raise
    return made


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _open_table(path: Path) -> OpenedSuite:
    """The suite in a table; its predictions may have faults, its rows may not."""
    faults = Faults()
    table = load_table(path, faults)
    faults.raise_any(path)
    notes = [f"{table.understood[0].upper()}{table.understood[1:]}."]
    try:
        return OpenedSuite(_grid(table.document, notes), tuple(dict.fromkeys(notes)))
    except (KeyError, TypeError, ValueError):
        raise _first_fault(path) from None


def _begun(rows: Mapping[str, list[str]], regions: list[str], predictions: list[str]) -> Document:
    conditions = [
        {
            "condition_name": name,
            "regions": [{"region_number": number, "content": text} for number, text in enumerate(texts, start=1)],
        }
        for name, texts in rows.items()
    ]
    return {
        "meta": {"name": "", "metric": "sum"},
        "region_meta": {str(number): name for number, name in enumerate(regions, start=1)},
        "predictions": predictions,
        "items": [{"item_number": 1, "conditions": conditions}],
    }


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of the folders in it; what begins with a dot is passed over."""
    left = LOOKED
    folders = [(folder, 0)]
    while folders:
        here, depth = folders.pop(0)
        try:
            entries = sorted(here.iterdir())
        except OSError:  # no right to look into it
            continue
        for path in entries:
            left -= 1
            if left < 0:
                return
            if path.name.startswith(".") or path.is_symlink():
                continue
            if path.is_file():
                yield path
            elif path.is_dir() and depth < 2:
                folders.append((path, depth + 1))


def _is_suite(path: Path) -> bool:
    start = head(path)
    if not syntaxgym.recognises(path, start):
        return False
    return ".json" not in path.name or any(f'"{key}"' in start for key in ("region_meta", "condition_name"))


def _first_fault(path: Path) -> InputError:
    """Why a file makes no grid, in the words of `wug check`."""
    faults = [str(problem) for problem in syntaxgym.check(path) if problem.level == "error"]
    return InputError("\n".join(faults[:5]) or "this file is not a suite", file=path.name)


def _grid(document: Document, notes: list[str]) -> Document:
    """The suite with every region of every sentence once and in order; KeyError and the like where that fails."""
    numbers = sorted(int(number) for number in document["region_meta"])
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        raise ValueError("regions are not numbered from 1 on")
    if not all(isinstance(name, str) for name in document["region_meta"].values()):
        raise TypeError("a region's name is no text")
    items = [_item(item, numbers, notes) for item in document["items"]]
    predictions = document.get("predictions", [])
    if not isinstance(predictions, list) or not all(isinstance(one, str | dict) for one in predictions):
        raise TypeError("predictions are no list of formulas")
    if not isinstance(document["meta"], dict):
        raise TypeError("meta is no object")
    return {**document, "predictions": predictions, "items": items}


def _item(item: Document, numbers: list[int], notes: list[str]) -> Document:
    if isinstance(item["item_number"], bool) or not isinstance(item["item_number"], int | str):
        raise TypeError("an item's number is none")
    if not item["conditions"]:
        raise ValueError("an item has no condition")
    conditions = []
    for condition in item["conditions"]:
        if not isinstance(condition["condition_name"], str):
            raise TypeError("a condition's name is no text")
        regions = {region["region_number"]: region for region in condition["regions"]}
        if len(regions) < len(condition["regions"]) or not regions.keys() <= set(numbers):
            raise ValueError("a region stands twice, or is not named")
        if not all(isinstance(region["content"], str) for region in regions.values()):
            raise TypeError("content is no text")
        if len(regions) < len(numbers):
            notes.append("Regions that were missing from some sentences were added, empty.")
        ordered = [regions.get(number, {"region_number": number, "content": ""}) for number in numbers]
        conditions.append({**condition, "regions": ordered})
    return {**item, "conditions": conditions}


def _plain(value: Any, notes: list[str]) -> Any:
    """The value as a browser can hold it."""
    if isinstance(value, str):
        whole = replace_surrogates(value)
        if whole != value:
            notes.append("Halves of characters were replaced by \ufffd: no file can hold them.")
        return whole
    if isinstance(value, dict):
        return {_plain(key, notes): _plain(inner, notes) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, notes) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        notes.append("Numbers that are not finite were replaced by null: JSON has no such numbers.")
        return None
    if isinstance(value, int) and abs(value) > EXACT:
        shown = str(value) if abs(value) < 10**30 else f"{str(value)[:20]}…"
        raise InputError(f"the number {shown} is too large to be kept exactly in the browser")
    return value
