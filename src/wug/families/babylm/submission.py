"""Results of BabyLM tasks as the evaluation pipeline writes them: one folder per task, for its collate_preds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wug import registry
from wug.errors import InputError
from wug.families.babylm.tasks import TASKS, size_warnings
from wug.files import write_text
from wug.identity import ModelId
from wug.samples import Sample, choice_sample
from wug.types import Outcome, Result

SECTIONS = {"field": "FIELD", "paradigm": "UID", "term": "LINGUISTICS_TERM"}


def export_run(results: Sequence[Result], folder: Path, *, collate: bool = False) -> Iterator[str]:
    """Write the submission of some results; yields a line about each file, and about what is left out.

    With `collate`, also the file of all tasks that the leaderboard takes; an error if a task is missing or has another
    number of items than the challenge.
    """
    own = [result for result in results if "task" in result.meta and "folder" in result.meta]
    if not own:
        raise InputError("the run has no results of BabyLM tasks: run them with --protocol babylm")
    if collate:
        _require_all(own)
    collated: dict[str, dict[str, Any]] = {}
    for result in own:
        if any(key.startswith(("limit", "sample")) for key, _ in result.signature.fields):
            raise InputError(f"{result.suite} was run on a sample: a submission needs all items")
        model = ModelId.parse(result.model)
        name, _, revision = model.name.partition("@")
        backend = "mlm" if registry.traits(model.kind).sees_right_context else model.kind
        task = str(result.meta["task"]).removesuffix("_supplement")
        place = folder / Path(name).stem / (revision or "main") / "zero_shot" / backend / task / result.meta["folder"]
        outcomes = list(result.outcomes)
        predictions = _predictions(outcomes)
        collated.setdefault(backend, {})[str(result.meta["task"])] = predictions
        write_text(place / "predictions.json", json.dumps(predictions, ensure_ascii=False))
        write_text(place / "best_temperature_report.txt", _report(result, outcomes))
        yield f"wrote {place}"
    for backend, tasks in collated.items() if collate else ():
        path = folder / f"all_full_preds_{backend}.json"
        write_text(path, json.dumps(tasks, ensure_ascii=False))
        yield f"wrote {path}"
    yield "left out: glue (fine-tuning), reading and aoa, which wug does not compute"


def _require_all(results: Sequence[Result]) -> None:
    """InputError if a task is missing, is there twice, or has a number of items that the leaderboard rejects."""
    found = {str(result.meta["task"]): result for result in results}
    missing = [name for name in TASKS if name not in found]
    if missing or len(found) < len(results):
        what = f"without {', '.join(missing)}" if missing else "with a task twice"
        raise InputError(f"--collate needs one result of every task, and the runs are {what}")
    for name, result in found.items():
        counts = Counter(outcome.groups["paradigm"] for outcome in result.outcomes)
        if wrong := size_warnings(name, str(result.meta["folder"]), counts):
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
