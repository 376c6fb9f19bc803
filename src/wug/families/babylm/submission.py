"""Results of BabyLM tasks as the evaluation pipeline writes them: one folder per task, for its collate_preds."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wug import registry
from wug.errors import InputError
from wug.exchange.json_files import mapping, read_strict_object
from wug.families.babylm.suite import (
    ACCURACY,
    EYE_TRACKING,
    MACRO,
    SELF_PACED,
    SPEARMAN,
    age_correlation,
    word_ages,
    words_seen,
)
from wug.families.babylm.tasks import TASKS, size_warnings
from wug.files import write_text
from wug.formatting import plural
from wug.identity import OVERALL, Group, ModelName
from wug.outcomes import Outcome, Result
from wug.samples import Sample, choice_sample, text_sample

FILES = {"reading": "reading/predictions.json", "aoa": "AoA_word/surprisal.json"}
"""Where the pipeline writes tasks whose files have their own forms."""
FAST = "fast_eval_results"
CHECKPOINTS = tuple(f"chck_{n}M" for n in (*range(1, 10), *range(10, 100, 10), *range(100, 1001, 100)))
"""The checkpoints of a submission, in order."""
TRACKS = (19, 28)
"""The numbers of checkpoints of strict-small and of the other tracks."""
SHORT = {"spr": SELF_PACED, "rt": EYE_TRACKING}
SECTIONS = {"field": "FIELD", "paradigm": "UID", "term": "LINGUISTICS_TERM"}


def export_run(results: Sequence[tuple[Result, ModelName]], folder: Path, *, collate: bool = False) -> Iterator[str]:
    """Write the submission of results, each with its model; yields a line about each file and what is left out.

    With `collate`, also the file of all tasks that the leaderboard takes. `reading` and `aoa` may be in the folder
    already, as the pipeline wrote them. An error if a part is missing or has another number of items.
    """
    parts = [
        _Part.of(result, model, folder)
        for result, model in results
        if result.meta.get("task") in TASKS and "folder" in result.meta
    ]
    if not parts:
        raise InputError("the run has no results of BabyLM tasks: run them with --protocol babylm")
    single = [part for part in parts if part.task != "aoa"]
    words = [part for part in parts if part.task == "aoa"]
    ages = {part.file: _by_words([other for other in words if other.file == part.file]) for part in words}
    files: dict[Path, object] = {part.file: part.predictions for part in single}
    files |= {file: _surprisals(surprisals) for file, surprisals in ages.items()}
    collated = _collated(parts, files) if collate else {}
    for path, content in files.items():
        write_text(path, json.dumps(content, ensure_ascii=False))
        yield f"wrote {path}"
    for part in single:
        name = "report.txt" if part.task == "reading" else "best_temperature_report.txt"
        write_text(part.file.with_name(name), _report(part.result))
    for surprisals in ages.values():
        correlation = age_correlation(word_ages(*_age_points(surprisals)))
        counts = f"{plural(correlation.n, 'word')}, {plural(len(surprisals), 'checkpoint')}"
        yield f"aoa: Pearson's r = {correlation.value:.3f} ({counts})"
    if collate:
        path = parts[0].model / f"all_full_preds_and_fast_scores_{parts[0].backend}.json"
        write_text(path, json.dumps(collated, ensure_ascii=False))
        yield f"wrote {path}"
    yield "left out: glue (fine-tuning)"


class _Part(NamedTuple):
    """A result of a task with its place in the submission."""

    result: Result
    model: Path
    revision: str
    backend: str

    @classmethod
    def of(cls, result: Result, model: ModelName, folder: Path) -> _Part:
        if any(key.startswith(("limit", "sample")) for key, _ in result.signature.fields):
            raise InputError(f"{result.suite} was run on a sample: a submission needs all items")
        backend = "mlm" if registry.traits(model.id.backend).sees_right_context else model.id.backend
        return cls(result, folder / Path(model.name).stem, model.revision or "main", backend)

    @property
    def task(self) -> str:
        return str(self.result.meta["task"])

    @property
    def zero_shot(self) -> Path:
        """The folder of the results; ages of acquisition are of all checkpoints."""
        return self.model / ("main" if self.task == "aoa" else self.revision) / "zero_shot" / self.backend

    @property
    def file(self) -> Path:
        """The file of predictions."""
        inside = f"{self.task.removesuffix('_supplement')}/{self.result.meta['folder']}/predictions.json"
        return self.zero_shot / FILES.get(self.task, inside)

    @property
    def predictions(self) -> dict[str, Any]:
        """What the submission says of each item, by UID."""
        by_paradigm: dict[str, Any] = {}
        for outcome in self.result.outcomes:
            uid, detail = outcome.groups["paradigm"], outcome.detail
            listed = by_paradigm.setdefault(uid, {"predictions": []})["predictions"]
            if self.task == "reading":
                previous = detail.get("prev_surprisal", math.nan)
                row = {"id": len(listed), "pred": outcome.value, "prev_pred": previous}
            else:
                row = {"id": f"{uid}_{len(listed)}", "pred": detail["options"][int(detail["chosen"]) - 1]}
            listed.append(row if detail.get("human") is None else {**row, "prob": outcome.value})
        return by_paradigm


def _by_words(parts: Sequence[_Part]) -> list[_Part]:
    """The last part of each checkpoint by its number of words; the model as it is now, only if it is alone."""
    by_checkpoint = {part.revision: part for part in parts}
    trained = [part for checkpoint, part in by_checkpoint.items() if checkpoint != "main"]
    return sorted(trained or parts[-1:], key=lambda part: words_seen(part.revision) or 0)


def _surprisals(parts: Sequence[_Part]) -> dict[str, Any]:
    """The surprisals of words at all checkpoints, as the pipeline writes them."""
    rows: list[dict[str, Any]] = []
    for part in parts:
        step, seen = part.revision, Counter[str]()
        for outcome in part.result.outcomes:
            word = outcome.groups["paradigm"]
            about = {"step": step, "word_count": int(words_seen(step) or 0), "target_word": word}
            context = {"context_id": seen[word], "context": outcome.detail["context"]}
            rows.append({**about, **context, "surprisal": outcome.value})
            seen[word] += 1
    about = {"model_name": parts[0].model.name, "use_bos_only": False}
    return {"metadata": {**about, "total_steps": len(parts), "completed_steps": len(parts)}, "results": rows}


def _age_points(parts: Sequence[_Part]) -> tuple[dict[str, list[tuple[str, float]]], dict[str, float]]:
    """The checkpoints and surprisals of each word, and the ages of children."""
    points: dict[str, list[tuple[str, float]]] = {}
    children: dict[str, float] = {}
    for part in parts:
        for outcome in part.result.outcomes:
            word = outcome.groups["paradigm"]
            points.setdefault(word, []).append((part.revision, float(outcome.value or 0.0)))
            if (age := outcome.detail.get("child_age")) is not None:
                children[word] = age
    return points, children


def _collated(parts: Sequence[_Part], files: Mapping[Path, object]) -> dict[str, Any]:
    """All tasks of a model, and its scores on the fast tasks by checkpoint if there are some."""
    if len({(part.model, part.backend) for part in parts}) > 1:
        raise InputError("--collate is for the runs of one model and its checkpoints")
    full = [part for part in parts if part.revision not in CHECKPOINTS and part.task not in FILES]
    _require_all([part.result for part in full])
    collated = {part.task: files[part.file] for part in full}
    for name, file in FILES.items():
        path = full[0].zero_shot / file
        if path not in files and not path.is_file():
            raise InputError(f"--collate needs {name}: run it with --protocol babylm, or with the pipeline into {path}")
        collated[name] = files.get(path) or read_strict_object(path, nan=True)
        _require_size(name, mapping(collated[name], name, path), path)
    fast: dict[str, dict[str, dict[str, float]]] = {}
    for part in parts:
        task = TASKS[part.task]
        full_folder, *fast_folders = task.folders
        is_full = task.full_only or (fast_folders and part.result.meta["folder"] == full_folder)
        if part.revision in CHECKPOINTS and not is_full:
            fast.setdefault(part.task, {})[part.revision] = _scores(part.result)
    lists: dict[str, list[dict[str, float]]] = {}
    for name, by_checkpoint in fast.items():
        first = CHECKPOINTS[: len(by_checkpoint)]
        if lacking := [checkpoint for checkpoint in first if checkpoint not in by_checkpoint]:
            raise InputError(f"--collate: the runs lack {', '.join(lacking)} of {name}, and have later checkpoints")
        lists[name] = [by_checkpoint[checkpoint] for checkpoint in first]
    return {**collated, **({FAST: lists} if lists else {})}


def _require_size(task: str, content: Mapping[str, Any], path: Path) -> None:
    """InputError if reading times or ages of acquisition have a number of rows that the leaderboard rejects."""
    expected = next(iter(TASKS[task].folders.values()))
    rows = content.get("reading", {}).get("predictions") if task == "reading" else content.get("results")
    sizes = Counter(row.get("step") for row in rows or ())
    if not sizes or set(sizes.values()) != {expected}:
        raise InputError(f"not {expected:,} rows per checkpoint: the leaderboard rejects such a submission", file=path)
    if task == "aoa" and not any(sizes.keys() == {*CHECKPOINTS[:count]} for count in TRACKS):
        raise InputError(
            f"{plural(len(sizes), 'checkpoint')}: the leaderboard needs {' or '.join(map(str, TRACKS))}, from "
            f"{CHECKPOINTS[0]} to {CHECKPOINTS[TRACKS[0] - 1]} or {CHECKPOINTS[-1]}",
            file=path,
        )


def _scores(result: Result) -> dict[str, float]:
    """The score of each UID: accuracy, or the correlation; those of reading times as proportions."""
    values, task = _overall(result), str(result.meta["task"])
    if task == "reading":
        return {short: values[metric] / 100 for short, metric in SHORT.items() if metric in values}
    return _accuracies(result, "paradigm") or {task: values.get(SPEARMAN, math.nan)}


def _overall(result: Result) -> dict[str, float]:
    return {estimate.metric: estimate.value for estimate in result.estimates if estimate.group == OVERALL}


def _accuracies(result: Result, field: str) -> dict[str, float]:
    """Accuracy by the values of a group field."""
    groups = ((Group.parse(estimate.group), estimate) for estimate in result.estimates if estimate.metric == ACCURACY)
    return {group.value: estimate.value for group, estimate in groups if group.field == field and group.value}


def _require_all(results: Sequence[Result]) -> None:
    """InputError if a task is missing, is there twice, or has a number of items that the leaderboard rejects."""
    by_task = {str(result.meta["task"]): result for result in results}
    missing = [name for name in TASKS if name not in by_task and name not in FILES]
    if missing or len(by_task) < len(results):
        what = f"without {', '.join(missing)}" if missing else "with a task twice"
        raise InputError(f"--collate needs one result of every task, and the runs are {what}")
    for name, result in by_task.items():
        uids = (outcome.groups["paradigm"] for outcome in result.outcomes)
        if wrong := size_warnings(name, next(iter(TASKS[name].folders)), uids):
            raise InputError(wrong[0])


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The options of an item as a submission has them, the right one first."""
    detail = outcome.detail
    if "right" not in detail:  # a surprisal or an age
        text = detail.get("context", detail.get("options", [outcome.item])[0])
        return text_sample(outcome, text, None, None)
    options = tuple(map(str, detail["options"]))
    logprobs = tuple(detail.get("logprobs") or ())
    right = detail.get("chosen") == detail["right"]
    return choice_sample(options, int(detail["right"]) - 1, right, logprobs, fields={"options": list(options)})


def _report(result: Result) -> str:
    """The report in the pipeline's form: accuracies in percent, the correlation, or the scores of reading times."""
    values = _overall(result)
    if result.meta["task"] == "reading":
        titles = {EYE_TRACKING: "EYE TRACKING", SELF_PACED: "SELF-PACED READING"}
        return "".join(f"{titles[name]} SCORE: {values[name]:.2f}\n" for name in titles if name in values)
    lines = ["TEMPERATURE: 1.00", ""]
    if ACCURACY not in values:
        rho = f"{values.get(SPEARMAN, math.nan):.2f}"
        lines += ["### UID SPEARMAN'S RHO", f"avg: {rho}", "", "### AVERAGE SPEARMAN'S RHO", rho, ""]
        return "\n".join(lines) + "\n"
    for field, title in SECTIONS.items():
        if accuracies := _accuracies(result, field):
            percentages = [f"{name}: {100 * value:.2f}" for name, value in accuracies.items()]
            lines += [f"### {title} ACCURACY", *percentages, ""]
    macro = next(estimate.value for estimate in result.estimates if estimate.group == MACRO)
    lines += ["### AVERAGE ACCURACY", f"{100 * macro:.2f}", ""]
    return "\n".join(lines) + "\n"
