"""Submissions to BabyLM as runs: predictions are compared with the data of the challenge, which has the right texts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from wug.errors import InputError
from wug.exchange.imported import ImportedRun, ImportedSuite, adopted_data, fetched_data
from wug.exchange.json_files import Json, mapping, read_strict_object, require_number
from wug.families.babylm.submission import CHECKPOINTS, FAST, FILES
from wug.families.babylm.suite import (
    AGE,
    CORRELATION,
    BabylmSuite,
    Choice,
    ReadingTimesSuite,
    age_correlation,
    child_ages,
    read_children,
    word_ages,
)
from wug.families.babylm.tasks import TASKS, VERSIONS, BabylmItem, read_task, rebuild
from wug.identity import OVERALL
from wug.outcomes import Estimate, Metric, Outcome, SuiteOutput

NOT_READ = "glue"
"""The key of a submission that wug does not read."""
CORRELATED = ("wug_adj", "wug_past", "reading")
"""Tasks whose scores can be negative."""
UNSIZED = "none: the number of items is unknown"
NEEDED = (
    "the right texts are in the data of the challenge: wug data get babylm --from evaluation_data; or, for BLiMP "
    "alone, wug data get babylm blimp"
)


_Gold: TypeAlias = tuple[Path, list[BabylmItem]]
"""The folder and the items of a task."""


def recognises(path: Path, head: str) -> bool:
    """Whether a file has predictions."""
    predictions = '"predictions"' in head and '"pred"' in head
    return head.lstrip().startswith("{") and (predictions or '"use_bos_only"' in head or f'"{FAST}"' in head)


def read(files: Sequence[Path]) -> Iterator[ImportedRun]:
    """One run per submission, and one per checkpoint of its scores on the fast tasks."""
    for path in files:
        document = read_strict_object(path, nan=True)
        name, revision = _model(path)
        objects = [part for part in document.values() if isinstance(part, dict)]
        alone = "results" in document or all("predictions" in part for part in objects)
        tasks = {_task(path): document} if alone else document
        suites, omissions = [], [NOT_READ] if NOT_READ in tasks else []
        for key, content in tasks.items():
            if key in TASKS:
                gold, part = _gold(key, path), mapping(content, key, path)
                if gold is None:
                    omissions.append(key)
                elif key == "aoa":
                    suites.append(_ages(gold[0], part, path))
                elif key == "reading":
                    suites.append(_reading(gold, mapping(part.get("reading"), key, path), path))
                else:
                    suites.append(_suite(key, gold, part, path))
        if (not suites and tasks.keys() & TASKS.keys()) or not tasks.keys() & {*TASKS, FAST}:
            raise InputError(
                f"none of its tasks can be scored ({', '.join(omissions) or 'unknown'}): {NEEDED}", file=path
            )
        for suite in suites:
            suite.warnings += [f"tasks left out: {', '.join(omissions)}"] if omissions else []
        if suites:
            yield ImportedRun(name, revision, "babylm", "babylm evaluation-pipeline", [path], suites)
        yield from _fast(mapping(tasks.get(FAST) or {}, FAST, path), name, path)


def _model(path: Path) -> tuple[str, str]:
    """Model and revision from the tree of the pipeline, or the name of the file."""
    parts = path.absolute().parts
    if "zero_shot" in parts and (index := parts.index("zero_shot")) >= 2:
        return parts[index - 2], "" if parts[index - 1] == "main" else parts[index - 1]
    return path.name.removesuffix(".gz").removesuffix(".json"), ""


def _task(path: Path) -> str:
    """The task of a file that has one alone, from the folders that it is in."""
    above = [parent.name for parent in path.absolute().parents][:2]
    if above[0] == Path(FILES["aoa"]).parent.name:
        return "aoa"
    for folder in above:  # the inner one first: blimp/supplement_filtered
        for name, task in TASKS.items():
            if folder in (name, *task.folders):
                return name
    raise InputError(f"its folder names no task: {', '.join(TASKS)}", file=path)


def _gold(task: str, path: Path) -> _Gold | None:
    """The data of the predictions in a file: from the archive, or made of BLiMP; None if it is not on this machine."""
    archive, folders = adopted_data("babylm"), list(TASKS[task].folders)
    above = path.absolute().parent.name
    folder = above if above in folders else folders[0]
    versions = [archive / version / folder for version in VERSIONS] if archive is not None else []
    for data in versions:
        if data.is_dir():
            return data, read_task(task, data)
    vocabulary, pairs = fetched_data("babylm"), fetched_data("blimp")
    if folder == "blimp_filtered" and vocabulary is not None and pairs is not None:
        return Path(folder), rebuild(pairs, vocabulary)
    return None


def _imported(suite: BabylmSuite, rows: Iterable[SuiteOutput]) -> ImportedSuite:
    """The suite of a task with its outcomes, estimates, or the reason why there are none."""
    about = {"task": suite.name, "data": f"{suite.folder}@{suite.checksum}"}
    metrics = {metric.name: metric for metric in suite.metrics}
    imported = ImportedSuite(suite.name, "babylm", about, metrics, meta=dict(suite.meta))
    for row in rows:
        if isinstance(row, Outcome):
            imported.add(row)
        elif isinstance(row, Estimate):
            imported.estimates.append(row)
        else:
            imported.warnings.append(row.text)
    return imported


def _reading(gold: _Gold, predictions: Json, path: Path) -> ImportedSuite:
    """Surprisals of words, with the scores that they give."""
    folder, items = gold
    suite = ReadingTimesSuite.of("reading", folder.name, items)
    rows = _predictions("reading", predictions, path)
    if rows.keys() != {*range(len(items))}:
        message = f"{len(rows)} predictions of reading, and the data has {len(items)} items"
        raise InputError(message, file=path, place="reading")
    surprisals: list[tuple[float, float]] = []
    for number, item in enumerate(items):
        row, place = rows[number], f"reading, {number}"
        value = require_number(row.get("pred"), "pred", path, place)
        previous = require_number(row.get("prev_pred"), "prev_pred", path, place) if len(item.texts) > 1 else math.nan
        surprisals.append((value, previous))
    return _imported(suite, suite.scored(surprisals))


def _ages(folder: Path, content: Json, path: Path) -> ImportedSuite:
    """Ages of acquisition from surprisals at all checkpoints, with their correlation with those of children."""
    suite = ImportedSuite("aoa", "babylm", {"task": "aoa"})
    points: dict[str, list[tuple[str, float]]] = {}
    rows = content.get("results")
    if not isinstance(rows, list):
        raise InputError("results is not a list", file=path, place="aoa")
    for number, row in enumerate(rows):
        result = mapping(row, "a result", path, f"aoa, result {number}")
        value = result.get("surprisal")
        if not (isinstance(value, float) and math.isnan(value)):  # NaN: a word that the pipeline could not score
            value = require_number(value, "surprisal", path, f"aoa, result {number}")
        points.setdefault(str(result.get("target_word")), []).append((str(result.get("step")), value))
    ages = word_ages(points, child_ages(read_children(folder)))
    suite.metrics[AGE] = Metric(AGE, "score", "neither", meaning="log10 of the training words until a word is acquired")
    suite.metrics[CORRELATION] = Metric(CORRELATION, "score", meaning="correlation of the model's ages with children's")
    for word, (age, child) in ages.items():
        suite.add(Outcome(word, AGE, age, {}, {"child_age": child}))
    suite.estimates.append(age_correlation(ages))
    return suite


def _suite(task: str, gold: _Gold, predictions: Json, path: Path) -> ImportedSuite:
    folder, items = gold
    suite = BabylmSuite.of(task, folder.name, items)
    by_paradigm = {uid: _predictions(uid, mapping(content, uid, path), path) for uid, content in predictions.items()}
    sizes = Counter[str]()
    choices: list[Choice] = []
    for item in items:
        place = sizes[item.uid]
        sizes[item.uid] += 1
        row = by_paradigm.get(item.uid, {}).get(place)
        if row is None:
            raise InputError(f"no prediction {item.uid}_{place}: the data has one more item", file=path, place=task)
        text = str(row.get("pred")).strip()
        texts = [option.strip() for option in item.predictions]
        rated = item.ratio is not None
        preference = require_number(row.get("prob"), "prob", path, f"{task}, {item.uid}_{place}") if rated else None
        choices.append((texts.index(text) + 1 if text in texts else 0, (), preference))
    for uid, content in by_paradigm.items():
        if len(content) != sizes[uid]:
            message = f"{len(content)} predictions of {uid}, and the data has {sizes[uid]} items"
            raise InputError(message, file=path, place=task)
    imported = _imported(suite, suite.judged(choices))
    if unknown := sum(not chosen for chosen, _, _ in choices):
        message = f"{unknown} predictions are none of the texts of their item, and count as wrong"
        imported.warnings.append(message)
    return imported


def _predictions(uid: str, content: Json, path: Path) -> Mapping[int, Mapping[str, Any]]:
    """The predictions of a UID by their number."""
    rows = content.get("predictions")
    if not isinstance(rows, list):
        raise InputError("predictions is not a list", file=path, place=uid)
    rows_by_number: dict[int, Mapping[str, Any]] = {}
    for row in rows:
        match = re.search(r"(\d+)$", str(mapping(row, "a prediction", path, uid).get("id")))
        if match is None or int(match[1]) in rows_by_number:
            raise InputError(f"the id {row.get('id')!r} has no number, or is there twice", file=path, place=uid)
        rows_by_number[int(match[1])] = row
    return rows_by_number


def _fast(scores: Json, name: str, path: Path) -> Iterator[ImportedRun]:
    """One run per checkpoint, with the score of each fast task."""
    lists = {task: scores_of_task for task, scores_of_task in scores.items() if isinstance(scores_of_task, list)}
    for checkpoint in range(max(map(len, lists.values()), default=0)):
        if checkpoint >= len(CHECKPOINTS):
            raise InputError(f"more than {len(CHECKPOINTS)} checkpoints", file=path, place=FAST)
        suites = []
        for task, scores_of_task in lists.items():
            if checkpoint < len(scores_of_task):
                suite = ImportedSuite(f"{task}_fast", fields={"task": f"{task}_fast"})
                suite.declare("score", meaning="score of the task, as submitted", share=task not in CORRELATED)
                score = scores_of_task[checkpoint]
                groups = score if isinstance(score, dict) else {"": score}
                values = {uid: require_number(value, f"{task} {uid}", path, FAST) for uid, value in groups.items()}
                named = {OVERALL: fmean(values.values()), **{f"paradigm={uid}": v for uid, v in values.items() if uid}}
                suite.estimates += [
                    Estimate("score", group, value, 0, method=UNSIZED) for group, value in named.items()
                ]
                suites.append(suite)
        yield ImportedRun(name, CHECKPOINTS[checkpoint], "babylm", "babylm evaluation-pipeline", [path], suites)
