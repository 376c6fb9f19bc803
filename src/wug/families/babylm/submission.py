"""Results of BabyLM tasks as the evaluation pipeline writes them: one folder per task, for its collate_preds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wug import registry
from wug.errors import InputError
from wug.exchange.json_files import read_object
from wug.families.babylm.tasks import TASKS, size_warnings
from wug.files import write_text
from wug.identity import Group, ModelId
from wug.samples import Sample, choice_sample
from wug.types import Outcome, Result

FROM_THE_PIPELINE = {
    "reading": ("reading/predictions.json", "reading/run.py", "predictions", 1726),
    "aoa": ("AoA_word/surprisal.json", "AoA_word/run.py", "results", 8005),
}
"""Tasks that wug does not compute: the pipeline's file and script, the key of its rows, their number by checkpoint."""
FAST = "fast_eval_results"
CHECKPOINTS = tuple(f"chck_{n}M" for n in (*range(1, 10), *range(10, 100, 10), *range(100, 1001, 100)))
"""The checkpoints of a submission, in order; strict-small has the first 19."""
SECTIONS = {"field": "FIELD", "paradigm": "UID", "term": "LINGUISTICS_TERM"}


def export_run(results: Sequence[tuple[Result, str | None]], folder: Path, *, collate: bool = False) -> Iterator[str]:
    """Write the submission of results, each with its checkpoint; yields a line about each file and what is left out.

    With `collate`, also the file of all tasks that the leaderboard takes, with what the pipeline wrote into the same
    folder for the tasks that wug does not compute; an error if a part is missing or has another number of items.
    """
    own = [(result, revision) for result, revision in results if "task" in result.meta and "folder" in result.meta]
    if not own:
        raise InputError("the run has no results of BabyLM tasks: run them with --protocol babylm")
    parts = [
        (result, _Place.of(result, revision, folder), _predictions(list(result.outcomes))) for result, revision in own
    ]
    collated = _collated(parts) if collate else {}
    for result, place, predictions in parts:
        task = str(result.meta["task"]).removesuffix("_supplement")
        path = place.zero_shot / task / result.meta["folder"]
        write_text(path / "predictions.json", json.dumps(predictions, ensure_ascii=False))
        write_text(path / "best_temperature_report.txt", _report(result, list(result.outcomes)))
        yield f"wrote {path}"
    if collate:
        path = parts[0][1].model / f"all_full_preds_and_fast_scores_{parts[0][1].backend}.json"
        write_text(path, json.dumps(collated, ensure_ascii=False))
        yield f"wrote {path}"
    others = "" if collate else ", reading and aoa, which wug does not compute"
    yield f"left out: glue (fine-tuning){others}"


class _Place(NamedTuple):
    """Where the pipeline writes the results of a model and checkpoint."""

    model: Path
    revision: str
    backend: str

    @classmethod
    def of(cls, result: Result, revision: str | None, folder: Path) -> _Place:
        if any(key.startswith(("limit", "sample")) for key, _ in result.signature.fields):
            raise InputError(f"{result.suite} was run on a sample: a submission needs all items")
        model = ModelId.parse(result.model)
        name, _, named = model.name.partition("@")
        backend = "mlm" if registry.traits(model.kind).sees_right_context else model.kind
        return cls(folder / Path(name).stem, named or revision or "main", backend)

    @property
    def zero_shot(self) -> Path:
        return self.model / self.revision / "zero_shot" / self.backend


def _collated(parts: Sequence[tuple[Result, _Place, dict[str, Any]]]) -> dict[str, Any]:
    """All tasks of a model, and its scores on the fast tasks by checkpoint if there are some."""
    if len({(place.model, place.backend) for _, place, _ in parts}) > 1:
        raise InputError("--collate is for the runs of one model and its checkpoints")
    full = [part for part in parts if part[1].revision not in CHECKPOINTS]
    _require_all([result for result, _, _ in full])
    collated = {str(result.meta["task"]): predictions for result, _, predictions in full}
    for name, (file, script, key, expected) in FROM_THE_PIPELINE.items():
        path = full[0][1].zero_shot / file
        if not path.is_file():
            raise InputError(
                f"--collate needs {name}, which wug does not compute: {script} of the pipeline writes {path}"
            )
        given = read_object(path, nan=True)
        rows = (given.get(name, {}) if key == "predictions" else given).get(key)
        sizes = Counter(row.get("step") for row in rows or ())
        if not sizes or set(sizes.values()) != {expected}:
            raise InputError(
                f"{key} has not {expected:,} rows per checkpoint, so that the leaderboard rejects it", file=path
            )
        collated[name] = given
    fast: dict[str, dict[str, Any]] = {}
    for result, place, _ in parts:
        if place.revision in CHECKPOINTS:
            fast.setdefault(str(result.meta["task"]), {})[place.revision] = _scores(result)
    for task, found in fast.items():
        if lacking := [name for name in CHECKPOINTS[: len(found)] if name not in found]:
            raise InputError(f"--collate: the runs lack {', '.join(lacking)} of {task}, and have later checkpoints")
    lists = {task: [found[name] for name in CHECKPOINTS if name in found] for task, found in fast.items()}
    return {**collated, **({FAST: lists} if lists else {})}


def _scores(result: Result) -> dict[str, float]:
    """The score of each UID: accuracy, or the correlation."""
    rho = {str(result.meta["task"]): one.value for one in result.estimates if one.metric == "spearman"}
    groups = ((Group.parse(one.group), one) for one in result.estimates if one.metric == "accuracy")
    return rho or {group.value: one.value for group, one in groups if group.field == "paradigm"}


def _require_all(results: Sequence[Result]) -> None:
    """InputError if a task is missing, is there twice, or has a number of items that the leaderboard rejects."""
    found = {str(result.meta["task"]): result for result in results}
    missing = [name for name in TASKS if name not in found]
    if missing or len(found) < len(results):
        what = f"without {', '.join(missing)}" if missing else "with a task twice"
        raise InputError(f"--collate needs one result of every task, and the runs are {what}")
    for name, result in found.items():
        counts = Counter(outcome.groups["paradigm"] for outcome in result.outcomes)
        official = next(iter(TASKS[name].folders))
        if wrong := size_warnings(name, official, counts):
            raise InputError(wrong[0])


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """The options of an item as a submission has them, the right one first."""
    detail = outcome.detail
    options = tuple(map(str, detail["options"]))
    logprobs = tuple(detail.get("logprobs") or ())
    right = detail.get("chosen") == detail["right"]
    return choice_sample(options, int(detail["right"]) - 1, right, logprobs, fields={"options": list(options)})


def _predictions(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The chosen text of each item, by UID."""
    found: dict[str, Any] = {}
    for outcome in outcomes:
        detail = outcome.detail
        listed = found.setdefault(outcome.groups["paradigm"], {"predictions": []})["predictions"]
        row = {
            "id": f"{outcome.groups['paradigm']}_{len(listed)}",
            "pred": detail["options"][int(detail["chosen"]) - 1],
        }
        if detail.get("human") is not None:
            row["prob"] = outcome.value
        listed.append(row)
    return found


def _report(result: Result, outcomes: Sequence[Outcome]) -> str:
    """The report in the pipeline's form: accuracies in percent, or the correlation."""
    overall = {(one.metric, one.group): one.value for one in result.estimates}
    lines = ["TEMPERATURE: 1.00", ""]
    if "spearman" in (metric for metric, _ in overall):
        rho = overall["spearman", "all"]
        lines += ["### UID SPEARMAN'S RHO", f"avg: {rho:.2f}", "", "### AVERAGE SPEARMAN'S RHO", f"{rho:.2f}", ""]
        return "\n".join(lines) + "\n"
    for group, title in SECTIONS.items():
        values: dict[str, list[bool]] = {}
        for outcome in outcomes:
            if outcome.groups.get(group):
                values.setdefault(outcome.groups[group], []).append(bool(outcome.value))
        if values:
            lines += [
                f"### {title} ACCURACY",
                *(f"{key}: {100 * sum(own) / len(own):.2f}" for key, own in values.items()),
            ]
            lines.append("")
    lines += ["### AVERAGE ACCURACY", f"{100 * overall['accuracy', 'macro=paradigms']:.2f}", ""]
    return "\n".join(lines) + "\n"
