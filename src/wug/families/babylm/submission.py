"""Results of BabyLM tasks as the evaluation pipeline writes them: one folder per task, for its collate_preds."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from wug import registry
from wug.errors import InputError
from wug.exchange.json_files import read_object
from wug.families.babylm.ages import word_ages, words_seen
from wug.families.babylm.reading import EYE_TRACKING, SELF_PACED, SURPRISAL
from wug.families.babylm.tasks import TASKS, size_warnings
from wug.files import write_text
from wug.formatting import plural
from wug.identity import OVERALL, Group, ModelId
from wug.samples import Sample, choice_sample, text_sample
from wug.types import Outcome, Result

FILES = {"reading": "reading/predictions.json", "aoa": "AoA_word/surprisal.json"}
"""Where the pipeline writes tasks whose files have their own forms."""
FAST = "fast_eval_results"
CHECKPOINTS = tuple(f"chck_{n}M" for n in (*range(1, 10), *range(10, 100, 10), *range(100, 1001, 100)))
"""The checkpoints of a submission, in order."""
TRACKS = (19, 28)
"""The numbers of checkpoints of strict-small and of the other tracks."""
SHORT = {"spr": SELF_PACED, "rt": EYE_TRACKING}
SECTIONS = {"field": "FIELD", "paradigm": "UID", "term": "LINGUISTICS_TERM"}


def export_run(results: Sequence[tuple[Result, str | None]], folder: Path, *, collate: bool = False) -> Iterator[str]:
    """Write the submission of results, each with its checkpoint; yields a line about each file and what is left out.

    With `collate`, also the file of all tasks that the leaderboard takes. `reading` and `aoa` may be in the folder
    already, as the pipeline wrote them. An error if a part is missing or has another number of items.
    """
    own = [one for one in results if one[0].meta.get("task") in TASKS and "folder" in one[0].meta]
    if not own:
        raise InputError("the run has no results of BabyLM tasks: run them with --protocol babylm")
    parts = [_Part(result, _Place.of(result, revision, folder)) for result, revision in own]
    words = [part for part in parts if part.task == "aoa"]
    ages = {place: list(some) for place, some in groupby(sorted(words, key=_main_place), _main_place)}
    files: dict[Path, object] = {
        part.place.file(part.task, part.result): part.predictions for part in parts if part.task != "aoa"
    }
    files |= {place.zero_shot / FILES["aoa"]: _surprisals(some) for place, some in ages.items()}
    collated = _collated(parts, files) if collate else {}
    for path, content in files.items():
        write_text(path, json.dumps(content, ensure_ascii=False))
        yield f"wrote {path}"
    for part in parts:
        if part.task != "aoa":
            name = "report.txt" if part.task == "reading" else "best_temperature_report.txt"
            write_text(part.place.file(part.task, part.result).with_name(name), _report(part.result))
    for some in ages.values():
        yield _age_line(some)
    if collate:
        place = parts[0].place
        path = place.model / f"all_full_preds_and_fast_scores_{place.backend}.json"
        write_text(path, json.dumps(collated, ensure_ascii=False))
        yield f"wrote {path}"
    yield "left out: glue (fine-tuning)"


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

    def file(self, task: str, result: Result) -> Path:
        """The file of predictions for a task."""
        inside = FILES.get(task, f"{task.removesuffix('_supplement')}/{result.meta['folder']}/predictions.json")
        return self.zero_shot / inside


class _Part(NamedTuple):
    """A result of a task with its place in the submission."""

    result: Result
    place: _Place

    @property
    def task(self) -> str:
        return str(self.result.meta["task"])

    @property
    def predictions(self) -> dict[str, Any]:
        """What the submission says of each item."""
        if self.task == "reading":
            rows = ((one.value, one.detail.get("prev_surprisal")) for one in self.result.outcomes)
            some = [
                {"id": number, "pred": value, "prev_pred": math.nan if previous is None else previous}
                for number, (value, previous) in enumerate(rows)
            ]
            return {"reading": {"predictions": some}}
        return _predictions(list(self.result.outcomes))


def _main_place(part: _Part) -> _Place:
    """Where ages of acquisition are written, for all checkpoints of a model."""
    return part.place._replace(revision="main")


def _surprisals(parts: Sequence[_Part]) -> dict[str, Any]:
    """The surprisals of words at all checkpoints, as the pipeline writes them."""
    rows: list[dict[str, Any]] = []
    for part in _ordered(parts):
        step, seen = part.place.revision, Counter[str]()
        for one in part.result.outcomes:
            word = one.groups["paradigm"]
            rows.append(
                {
                    "step": step,
                    "word_count": int(words_seen(step) or 0),
                    "target_word": word,
                    "context_id": seen[word],
                    "context": one.detail["context"],
                    "surprisal": one.value,
                }
            )
            seen[word] += 1
    steps = len({row["step"] for row in rows})
    name = ModelId.parse(parts[0].result.model).name.partition("@")[0]
    about = {"model_name": name, "use_bos_only": False, "total_steps": steps, "completed_steps": steps}
    return {"metadata": about, "results": rows}


def _ordered(parts: Sequence[_Part]) -> list[_Part]:
    """Parts by the number of words that their checkpoints have seen; the model as it is now has no such number."""
    trained = [part for part in parts if part.place.revision != "main"] or list(parts)
    return sorted(trained, key=lambda part: words_seen(part.place.revision) or 0)


def _age_line(parts: Sequence[_Part]) -> str:
    """Pearson's correlation of the ages of the model and of children."""
    points: dict[str, list[tuple[str, float]]] = {}
    children: dict[str, float] = {}
    for part in _ordered(parts):
        for one in part.result.outcomes:
            word = one.groups["paradigm"]
            points.setdefault(word, []).append((part.place.revision, float(one.value or 0.0)))
            if (age := one.detail.get("child_age")) is not None:
                children[word] = age
    found = word_ages(points, children).estimate
    return f"aoa: Pearson's r = {found.value:.3f} ({plural(found.n, 'word')}, {plural(len(parts), 'checkpoint')})"


def _collated(parts: Sequence[_Part], files: Mapping[Path, object]) -> dict[str, Any]:
    """All tasks of a model, and its scores on the fast tasks by checkpoint if there are some."""
    if len({(part.place.model, part.place.backend) for part in parts}) > 1:
        raise InputError("--collate is for the runs of one model and its checkpoints")
    full = [part for part in parts if part.place.revision not in CHECKPOINTS and part.task not in FILES]
    _require_all([part.result for part in full])
    zero_shot = full[0].place.zero_shot
    collated = {part.task: files[part.place.file(part.task, part.result)] for part in full}
    for name, file in FILES.items():
        path = zero_shot / file
        if path not in files and not path.is_file():
            raise InputError(f"--collate needs {name}: run it with --protocol babylm, or with the pipeline into {path}")
        given: Any = files.get(path) or read_object(path, nan=True)
        _require_size(name, given, path)
        collated[name] = given
    fast: dict[str, dict[str, Any]] = {}
    for part in parts:
        if part.place.revision in CHECKPOINTS and part.task != "aoa":
            fast.setdefault(part.task, {})[part.place.revision] = _scores(part.result)
    for task, found in fast.items():
        if lacking := [name for name in CHECKPOINTS[: len(found)] if name not in found]:
            raise InputError(f"--collate: the runs lack {', '.join(lacking)} of {task}, and have later checkpoints")
    lists = {task: [found[name] for name in CHECKPOINTS if name in found] for task, found in fast.items()}
    return {**collated, **({FAST: lists} if lists else {})}


def _require_size(task: str, given: Mapping[str, Any], path: Path) -> None:
    """InputError if reading times or ages of acquisition have a number of rows that the leaderboard rejects."""
    expected = next(iter(TASKS[task].folders.values()))
    rows = given.get("reading", {}).get("predictions") if task == "reading" else given.get("results")
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
    values = {one.metric: one.value for one in result.estimates if one.group == OVERALL}
    if result.meta["task"] == "reading":
        return {short: values[metric] / 100 for short, metric in SHORT.items() if metric in values}
    rho = {str(result.meta["task"]): one.value for one in result.estimates if one.metric == "spearman"}
    groups = ((Group.parse(one.group), one) for one in result.estimates if one.metric == "accuracy")
    return rho or {group.value: one.value for group, one in groups if group.field == "paradigm"}


def _require_all(results: Sequence[Result]) -> None:
    """InputError if a task is missing, is there twice, or has a number of items that the leaderboard rejects."""
    found = {str(result.meta["task"]): result for result in results}
    missing = [name for name in TASKS if name not in found and name not in FILES]
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
    if outcome.metric == SURPRISAL:
        text = str(detail["context"]) if "context" in detail else str(detail["options"][0])
        return text_sample(outcome, text, None, None)
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


def _report(result: Result) -> str:
    """The report in the pipeline's form: accuracies in percent, the correlation, or the scores of reading times."""
    overall = {(one.metric, one.group): one.value for one in result.estimates}
    if result.meta["task"] == "reading":
        titles = {EYE_TRACKING: "EYE TRACKING", SELF_PACED: "SELF-PACED READING"}
        found = ((title, overall.get((metric, OVERALL))) for metric, title in titles.items())
        return "".join(f"{title} SCORE: {value:.2f}\n" for title, value in found if value is not None)
    lines = ["TEMPERATURE: 1.00", ""]
    if "spearman" in (metric for metric, _ in overall):
        rho = overall["spearman", "all"]
        lines += ["### UID SPEARMAN'S RHO", f"avg: {rho:.2f}", "", "### AVERAGE SPEARMAN'S RHO", f"{rho:.2f}", ""]
        return "\n".join(lines) + "\n"
    for group, title in SECTIONS.items():
        values: dict[str, list[bool]] = {}
        for outcome in result.outcomes:
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
