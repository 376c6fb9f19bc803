"""lm-evaluation-harness: results and samples of version 0.4, and results from before 0.4, such as those of Pythia."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wug import data, registry
from wug.errors import InputError
from wug.exchange.export import portable
from wug.exchange.imported import Aggregate, ImportedRun, ImportedSuite, estimate
from wug.exchange.json_files import Json, mapping, read_strict_object, require_number
from wug.exchange.readers._lm_eval_samples import Task, metric_name, read_samples
from wug.identity import IMPORTED, OVERALL, Group

BEFORE = "lm_eval, before 0.4"
NEOX_FILE = re.compile(r"(?P<name>.+?)-(?P<shots>\d+)shot-global_step(?P<step>\d+)_+eval_results")
"""Names of the files that GPT-NeoX writes."""
DATED = re.compile(r"_(\d{4}-\d\d-\d\dT[\d.-]+?)\.jsonl?$")
NO_METRICS = frozenset({"alias", "name", "sample_len", "samples", "sample_count", " "})
"""Fields of a task that are not metrics."""
NOT_KNOWN = ("N/A", "", None)


def recognises(path: Path, head: str) -> bool:
    """Whether a file has results or samples."""
    start = head.lstrip()
    if not start.startswith("{"):
        return False
    first = start.split("\n", 1)[0]
    samples = '"doc_id"' in first and '"resps"' in first
    return samples or (re.search(r'"results"\s*:\s*\{', head) is not None and '"eval"' not in head)


def read(files: Sequence[Path]) -> Iterator[ImportedRun]:
    """One run per results file with its samples, and one per folder and date of samples without results."""
    results: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    samples: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for file in files:
        name = file.name.removesuffix(".gz")
        date = match[1] if (match := DATED.search(name)) else ""
        (samples if name.endswith(".jsonl") else results)[file.parent, date].append(file)
    for key, paths in samples.items():
        if len(results[key]) != 1:
            yield ImportedRun("", "", "lm-eval", "lm_eval", paths, _suites({}, paths))
    for key, paths in results.items():
        for file in paths:
            yield _run(file, samples[key] if len(paths) == 1 else [])


def _run(path: Path, samples: Sequence[Path]) -> ImportedRun:
    document = read_strict_object(path)
    tasks = {task.name: task for task in _tasks(document, path)}
    if not tasks:
        raise InputError("no task has results", file=path)
    name, revision = _model(document, path)
    if made_by := document.get("wug_version"):
        program = f"wug {made_by}"
    elif version := document.get("lm_eval_version"):
        program = f"lm_eval {version}"
    else:
        has_filters = any("," in key for values in document["results"].values() for key in values)
        program = "lm_eval" if has_filters else BEFORE
    suites = _suites(tasks, samples)
    limit = mapping(document.get("config") or {}, "config", path).get("limit")
    for suite in suites:
        suite.fields |= {"limit": str(limit)} if limit is not None else {}
    shots = ",".join(sorted({task.shots for task in tasks.values()}))
    return ImportedRun(name, revision, "lm-eval", program, [path, *samples], suites, shots)


def _tasks(document: Json, path: Path) -> Iterator[Task]:
    """The tasks of a results file, without the groups whose tasks are in it."""
    results = mapping(document.get("results"), "results", path)
    configs, samples, groups, versions, all_shots, all_higher, general = (
        mapping(document.get(key) or {}, key, path)
        for key in ("configs", "n-samples", "group_subtasks", "versions", "n-shot", "higher_is_better", "config")
    )
    for name, entry in results.items():
        values = mapping(entry, f"results.{name}", path)
        subtasks, config = groups.get(name) or (), configs.get(name) or {}
        is_group = subtasks and name not in configs and set(subtasks) <= results.keys()
        if is_group or not (metrics := dict(_values(name, values, path))):
            continue
        size = (samples.get(name) or {}).get("effective", values.get("sample_len"))
        delimiter = config.get("target_delimiter", " " if config else "")
        yield Task(
            name,
            metrics,
            n=_item_count(metrics)
            if size is None
            else int(require_number(size, f"the number of items of {name}", path)),
            shots=str(all_shots.get(name, config.get("num_fewshot", general.get("num_fewshot", 0)))),
            version=str(versions.get(name, "")).removesuffix(".0"),
            delimiter={" ": "space", "": "none" if config else ""}.get(delimiter, repr(delimiter)),
            higher=all_higher.get(name) or {},
            metadata=config.get("metadata") or {},
        )


def _values(task: str, values: Json, path: Path) -> Iterator[tuple[str, tuple[float, float | None]]]:
    """The metrics of a task with their standard errors."""
    for key, value in values.items():
        base, comma, filtered = key.partition(",")
        if key in NO_METRICS or base.endswith("_stderr") or value == " ":
            continue
        error = values.get(f"{base}_stderr{comma}{filtered}")
        what = f"{key} of {task}"
        number = require_number(value, what, path)
        standard_error = None if error in NOT_KNOWN else require_number(error, f"the standard error of {what}", path)
        yield metric_name(base, filtered), (number, standard_error)


def _item_count(values: Mapping[str, tuple[float, float | None]]) -> int | None:
    """The number of items from the standard error of a proportion, sqrt(p(1 - p)/(n - 1)); None if unknown."""
    for value, error in values.values():
        if error and 0 < value < 1:
            n = round(value * (1 - value) / error**2 + 1)
            if abs(value * n - round(value * n)) < 1e-6:
                return n
    return None


def _model(document: Json, path: Path) -> tuple[str, str]:
    """The name and the checkpoint of the model; an empty name if the file does not tell."""
    config = mapping(document.get("config") or {}, "config", path)
    arguments = config.get("model_args") or {}
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    arguments = mapping(arguments, "config.model_args", path)
    match = NEOX_FILE.match(path.name)
    step = arguments.get("iteration")
    if match:
        return match["name"], f"step{match['step'] if step is None else step}"
    if step is not None:
        return "", f"step{step}"
    name = str(arguments.get("pretrained") or document.get("model_name") or arguments.get("model") or "")
    revision = str(arguments.get("revision") or config.get("model_revision") or "")
    return _short_model_name(name), "" if revision == "main" else revision


def _short_model_name(name: str) -> str:
    """A name on the Hugging Face Hub as it is, a path by its last part."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return name if len(parts) == 2 and not name.startswith(("/", ".", "~")) else "/".join(parts[-1:])


def _suites(tasks: Mapping[str, Task], samples: Sequence[Path]) -> list[ImportedSuite]:
    """The suites of a run: paradigms of a published set make one, other tasks one each."""
    suites: dict[str, ImportedSuite] = {}
    task_names = {portable(name): name for name in tasks}
    by_task = {task_names.get(name, name): path for path in samples for name in (_task_of_samples(path),)}
    if len(by_task) < len(samples):
        raise InputError("two files have samples of one task", file=samples[-1])
    for name in sorted({*tasks, *by_task}, key=_task_order):
        task = tasks.get(name)
        if task is not None and "wug_suite" in task.metadata:
            _add_group(suites, task)
            continue
        published = paradigm(name)
        suite_name, kind, groups = published or (name, IMPORTED, {})
        suite = suites.setdefault(suite_name, ImportedSuite(suite_name, kind))
        if task is not None:
            _add_task(suite, task, groups, published is not None)
        if name in by_task:
            read_samples(by_task[name], suite, groups, task or Task(name))
        else:
            suite.unsampled += 1
    for suite in suites.values():
        _fill_sizes(suite)
    return sorted(suites.values(), key=lambda suite: suite.kind == IMPORTED)


def _task_of_samples(path: Path) -> str:
    """The task of a file of samples: what is in its name between the first and the last underscore."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    match = re.fullmatch(r"samples_(.*)_[^_]*", name)
    return match[1] if match else name


def _task_order(name: str) -> tuple[str, ...]:
    """Tasks by name, which files of lm-eval have in any order; paradigms of a set by phenomenon."""
    suite, _, groups = paradigm(name) or (name, "", {})
    return suite, groups.get("field", ""), groups.get("phenomenon", ""), name


def _add_task(suite: ImportedSuite, task: Task, groups: Mapping[str, str], published: bool) -> None:
    """Take in the values of a task and what they depend on."""
    version = f" v{task.version}" if task.version else ""
    suite.fields.setdefault("task", f"{suite.name}{version}")
    suite.fields.setdefault("shots", task.shots)
    if words := task.delimiter or ("space" if published else ""):
        suite.fields.setdefault("delimiter", words)
    for metric, (value, error) in task.values.items():
        suite.declare(metric, better=task.higher.get(metric.partition(":")[0], True) is not False)
        suite.aggregates.append(Aggregate(metric, groups, value, task.n, error))


def _add_group(suites: dict[str, ImportedSuite], task: Task) -> None:
    """Take in the estimates of one group of a run that wug exported."""
    name, group = str(task.metadata["wug_suite"]), Group.parse(str(task.metadata.get("wug_group") or OVERALL))
    suite = suites.setdefault(name, ImportedSuite(name))
    suite.estimates += [
        estimate(metric, str(group), value, task.n, error) for metric, (value, error) in task.values.items()
    ]


def _fill_sizes(suite: ImportedSuite) -> None:
    """If tasks with values of 0 or 1 do not tell their size and all others have one size, take that."""
    sizes = {aggregate.n for aggregate in suite.aggregates if aggregate.n}
    unsized = [aggregate for aggregate in suite.aggregates if not aggregate.n]
    if len(sizes) == 1 and unsized and len(suite.aggregates) > 2:
        (n,) = sizes
        suite.aggregates = [aggregate._replace(n=n) if not aggregate.n else aggregate for aggregate in suite.aggregates]
        suite.warnings.append(f"tasks without a size: {len(unsized)}, with that of the others ({n:,} items)")


@functools.cache
def paradigm(task: str) -> tuple[str, str, Mapping[str, str]] | None:
    """Set, family and groups of a task that is a paradigm of a published set, such as `blimp_adjunct_island`."""
    families = registry.names("families")
    for name in sorted(data.names(), key=len, reverse=True):
        prefix = f"{name.replace('-', '_')}_"
        if task.startswith(prefix) and (family := data.find(name).set.family) in families:
            groups = _paradigms(name).get(task.removeprefix(prefix))
            if groups is not None:
                return name, family, groups
    return None


@functools.cache
def _paradigms(name: str) -> Mapping[str, Mapping[str, str]]:
    """The groups of each file of a set, by paradigm."""
    test_set = data.find(name).set
    return {groups["paradigm"]: groups for file in test_set.files if (groups := test_set.groups_of(file))}
