"""lm-evaluation-harness 0.4: `results_DATE.json`, and `samples_TASK_DATE.jsonl` with one line per item."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wug import __version__
from wug.exchange.export import (
    ExportedRun,
    ExportOptions,
    portable,
    refuse_non_finite,
    require_folder,
    standard_error,
    write_samples,
)
from wug.exchange.json_files import Json
from wug.files import write_text
from wug.identity import OVERALL, Group, ModelName
from wug.outcomes import DATASET_KEY, Estimate, Outcome, Result
from wug.samples import Sample

BY_TASK = "results group_subtasks configs versions n-shot higher_is_better n-samples task_hashes".split()
"""Fields of a results file that are objects by task."""
METRICS = {"accuracy": "acc"}
"""Metrics that lm-eval calls otherwise."""


def write(runs: Sequence[ExportedRun], output: Path | None, options: ExportOptions) -> Iterator[str]:
    """Write the results of each run, and their samples, into the folder of its model."""
    folder = require_folder("lm-eval", output)
    for exported in runs:
        if not exported.results:
            continue
        model = exported.model_of(exported.results[0])
        date = f"{exported.started:%Y-%m-%dT%H-%M-%S.%f}"
        subfolder = folder / portable(model.name if model.developer == "local" else f"{model.developer}__{model.name}")
        for result in exported.results:
            refuse_non_finite(result)
            path = subfolder / f"samples_{portable(result.suite)}_{date}.jsonl"
            messages, _ = write_samples(result, path, options, lambda number, item: [_row(number, item)])
            yield from messages
        path = subfolder / f"results_{date}.json"
        document = _results(exported, model)
        write_text(path, json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))
        yield f"wrote {path}"


def metric_name(name: str) -> str:
    """A metric as lm-eval calls it."""
    first, colon, rest = name.partition(":")
    return METRICS.get(first, first) + colon + rest


def _results(exported: ExportedRun, model: ModelName) -> Json:
    document: Json = {key: {} for key in BY_TASK}
    for result in exported.results:
        _add_result(document, result)
    arguments = {"pretrained": model.id.name if model.developer == "local" else model.path}
    return {
        **document,
        "config": {
            "model": model.id.backend,
            "model_args": {**arguments, **({"revision": model.revision} if model.revision else {})},
            "model_revision": model.revision or "main",
            "model_sha": model.id.fingerprint,
            "limit": None,
        },
        "date": exported.started.timestamp(),
        "lm_eval_version": "0.4",
        "wug_version": __version__,
        "model_source": "wug",
        "model_name": arguments["pretrained"],
        "model_name_sanitized": arguments["pretrained"].replace("/", "__"),
    }


def _add_result(document: Json, result: Result) -> None:
    """Add the task of a result, and one task per group below it."""
    groups: dict[str, list[Estimate]] = defaultdict(list)
    for estimate in result.estimates:
        groups[estimate.group].append(estimate)
    overall = groups.pop(OVERALL, [])
    record: Mapping[str, Any] = result.meta.get(DATASET_KEY) or {}
    metadata = {
        "version": 1.0,
        "wug_signature": str(result.signature),
        "wug_kind": result.kind,
        "wug_judged": sorted({metric_name(o.metric) for o in result.outcomes if isinstance(o.value, bool)}),
        "wug_groups": list(dict.fromkeys(Group.parse(group).field for group in groups)),
        **({"data": {key: record.get(key) for key in ("set", "repository", "commit")}} if record else {}),
    }
    _add_task(document, result, result.suite, overall, metadata)
    names = []
    for group, estimates in groups.items():
        parsed = Group.parse(group)
        name = f"{result.suite}_{parsed.value}"
        name = f"{result.suite}_{parsed.field}_{parsed.value}" if name in document["results"] else name
        _add_task(document, result, name, estimates, {"wug_suite": result.suite, "wug_group": group})
        names.append(name)
    document["group_subtasks"][result.suite] = names


def _add_task(document: Json, result: Result, name: str, estimates: Sequence[Estimate], metadata: Json) -> None:
    n = max((estimate.n for estimate in estimates), default=result.n)
    values: Json = {"alias": name, "name": name, "sample_len": n}
    better: dict[str, bool] = {}
    for estimate in estimates:
        metric = metric_name(estimate.metric)
        values[f"{metric},none"] = estimate.value
        error = standard_error(estimate)
        values[f"{metric}_stderr,none"] = "N/A" if error is None else error
        better[metric] = result.metric(estimate.metric).better != "lower"
    document["results"][name] = values
    document["configs"][name] = {
        "task": name,
        "target_delimiter": "",
        "description": "",
        "num_fewshot": 0,
        "metric_list": [{"metric": metric, "higher_is_better": higher} for metric, higher in better.items()],
        "metadata": metadata,
    }
    document["versions"][name] = 1.0
    document["n-shot"][name] = 0
    document["higher_is_better"][name] = better
    document["n-samples"][name] = {"original": n, "effective": n}


def _row(number: int, item: Sequence[tuple[Outcome, Sample]]) -> Json:
    outcome, sample = item[0]
    document = {"item": outcome.item, **sample.fields, **outcome.groups}
    if sample.scores:
        document["scores"] = list(sample.scores)
    if sample.tied and outcome.value is False:
        document["tie"] = True
    contexts = sample.contexts or (sample.context,) * len(sample.choices)
    if sample.choices:
        target = str(sample.right)
        arguments: list[Json] = [
            {"arg_0": context, "arg_1": choice} for context, choice in zip(contexts, sample.choices, strict=True)
        ]
        logprobs = sample.logprobs or (None,) * len(sample.choices)
        outputs: list[Any] = [[repr(value), "False"] for value in logprobs]
    else:
        target = sample.reference[0] if sample.reference else ""
        arguments = [{"arg_0": sample.context, "arg_1": {"until": []}}]
        outputs = [sample.output]
    values = {metric_name(outcome.metric): float(outcome.value or 0.0) for outcome, _ in item}
    return {
        "doc_id": number,
        "doc": document,
        "target": target,
        "arguments": {f"gen_args_{index}": argument for index, argument in enumerate(arguments)},
        "resps": [[output] for output in outputs],
        "filtered_resps": outputs,
        "filter": "none",
        "metrics": list(values),
        "doc_hash": _hash(json.dumps(document, indent=2, ensure_ascii=False)),
        "prompt_hash": _hash(arguments[0]["arg_0"]),
        "target_hash": _hash(target),
        **values,
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
