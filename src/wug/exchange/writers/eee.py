"""Every Eval Ever 0.3.0: one aggregate file per run and suite, and its samples.

The JSON Schemas are in `assets/schemas/eee`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from wug import __version__, registry
from wug.exchange.export import (
    ExportedRun,
    ExportOptions,
    portable,
    refuse_non_finite,
    require_folder,
    stable_uuid,
    write_samples,
)
from wug.exchange.json_files import Json
from wug.files import write_text
from wug.identity import OVERALL, ModelName
from wug.outcomes import DATASET_KEY, Estimate, Metric, Outcome, Result
from wug.samples import Sample

VERSION = "0.3.0"
COMMON_METRICS = frozenset({"accuracy", "exact_match", "f1", "bleu", "pearson", "spearman", "perplexity"})
"""Metrics that have the same name everywhere; others are called `wug.NAME`."""
CORRELATIONS = ("pearson", "spearman")
UNITS = {"share": "proportion", "score": "points", "distance": "points"}
NO_METRIC_FIELDS = frozenset({"wug", "suite", "model", "imported", "program", "task"})


def write(runs: Sequence[ExportedRun], output: Path | None, options: ExportOptions) -> Iterator[str]:
    """Write `data/COLLECTION/DEVELOPER/MODEL/UUID.json` and its samples into a folder."""
    folder = require_folder("eee", output)
    for exported in runs:
        for result in exported.results:
            yield from _write_result(exported, result, folder, options)


def _write_result(exported: ExportedRun, result: Result, folder: Path, options: ExportOptions) -> Iterator[str]:
    refuse_non_finite(result)
    model = exported.model_of(result)
    uuid = stable_uuid(exported.run.started, result.model, result.suite, result.signature)
    subfolder = "/".join(("data", *map(portable, (result.suite, model.developer, model.name))))
    name = f"{model.developer}_{model.name}"
    document: Json = {
        "schema_version": VERSION,
        "evaluation_id": f"{result.suite}/{name}/{exported.timestamp}",
        "evaluation_timestamp": exported.timestamp,
        "retrieved_timestamp": exported.timestamp,
        "source_metadata": {
            "source_name": "wug",
            "source_type": "evaluation_run",
            "source_organization_name": options.organization,
            "evaluator_relationship": options.relationship,
        },
        "eval_library": {"name": "wug", "version": __version__},
        "model_info": _model_info(result, model),
        "evaluation_results": [_evaluation(result, estimate) for estimate in result.estimates],
    }
    path = f"{subfolder}/{uuid}_samples.jsonl"
    messages, written = write_samples(
        result, folder / path, options, lambda _, item: (_row(document, result, *pair) for pair in item)
    )
    yield from messages
    if written is not None:
        document["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": path,
            "hash_algorithm": "sha256",
            "checksum": written[0],
            "total_rows": written[1],
        }
    write_text(folder / subfolder / f"{uuid}.json", json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1))
    yield f"wrote {folder / subfolder / uuid}.json"


def _model_info(result: Result, model: ModelName) -> Json:
    fields = dict(result.signature.fields)
    backend = registry.backend_of(model.id)
    deployment = "externally_managed" if backend.TRAITS.remote else "self_deployed"
    dtype = fields.get("model", "").rpartition(",")[2] if "," in fields.get("model", "") else None
    details = {
        "deployment_type": deployment if model.id.backend in registry.names("models") else "unknown",
        "model_availability": "open_weights" if backend.TRAITS.on_hub and model.id.name == model.path else "unknown",
        "kind": model.id.backend,
        "fingerprint": model.id.fingerprint,
        "revision": model.revision,
        "dtype": dtype,
        **{option.name: fields[option.name] for option in backend.OPTIONS if option.name in fields},
    }
    return {
        "name": result.model,
        "id": model.path,
        "developer": model.developer,
        "additional_details": {name: value for name, value in details.items() if value},
    }


def _evaluation(result: Result, estimate: Estimate) -> Json:
    overall = estimate.group == OVERALL
    name = result.suite if overall else f"{result.suite}/{estimate.group}"
    details = {
        "signature": str(result.signature),
        "group": estimate.group,
        "level": "overall" if overall else "group",
    }
    uncertainty: Json = {"num_samples": estimate.n} if estimate.n else {}
    if estimate.low is not None and estimate.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": estimate.low,
            "upper": estimate.high,
            "confidence_level": 0.95,
            "method": estimate.method or "unknown",
        }
    return {
        "evaluation_result_id": f"{name}/{estimate.metric}",
        "evaluation_name": name,
        "source_data": _source(result),
        "metric_config": _metric(result, result.metric(estimate.metric), estimate),
        "score_details": {
            "score": float(estimate.value),
            "details": details,
            **({"uncertainty": uncertainty} if uncertainty else {}),
        },
    }


def _source(result: Result) -> Json:
    record: Mapping[str, Any] = result.meta.get(DATASET_KEY) or {}
    checksum = (result.signature.get("suite") or "").rpartition("@")[2]
    details = {"suite_checksum": checksum, "licence": record.get("licence"), "citation": record.get("citation")}
    present = {name: str(value) for name, value in details.items() if value}
    source: Json = {"dataset_name": str(record.get("set") or result.suite), "source_type": "other"}
    if record:
        url = f"https://{record['repository']}/tree/{record['commit']}"
        source |= {"source_type": "url", "url": [url]}
    return {**source, **({"additional_details": present} if present else {})}


def _metric(result: Result, metric: Metric, estimate: Estimate) -> Json:
    low, high = _bounds(metric, estimate.value)
    parameters = {key: value for key, value in result.signature.fields if key and key not in NO_METRIC_FIELDS}
    return {
        "evaluation_description": metric.meaning or metric.name,
        "metric_id": metric.name if metric.name in COMMON_METRICS else f"wug.{metric.name}",
        "metric_name": metric.name,
        "metric_kind": metric.name.partition(":")[0],
        "metric_unit": UNITS.get(metric.unit, metric.unit),
        "lower_is_better": metric.better == "lower",
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
        **({"metric_parameters": parameters} if parameters else {}),
    }


def _bounds(metric: Metric, value: float) -> tuple[float | str, float | str]:
    """The least and the greatest value that a metric can have."""
    if metric.unit == "share" and 0 <= value <= 1:
        return 0.0, 1.0
    if metric.name.startswith(CORRELATIONS) and -1 <= value <= 1:
        return -1.0, 1.0
    return 0.0 if metric.unit in ("tokens", "count", "distance") and value >= 0 else "-Infinity", "Infinity"


def _row(document: Json, result: Result, outcome: Outcome, sample: Sample) -> Json:
    metric, has_contexts = result.metric(outcome.metric), bool(sample.contexts)
    best = 0.0 if metric.better == "lower" else 1.0
    is_correct = outcome.value is True or (metric.unit == "share" and outcome.value == best)
    choices = list(map(str.__add__, sample.contexts, sample.choices)) if has_contexts else list(sample.choices)
    prompt = {"raw": "" if has_contexts else sample.context, "reference": list(sample.reference)}
    digest = hashlib.sha256(json.dumps(prompt, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    metadata = {key: str(value) for key, value in outcome.groups.items()}
    if sample.logprobs:
        metadata["logprobs"] = json.dumps(sample.logprobs)
    return {
        "schema_version": VERSION,
        "evaluation_id": document["evaluation_id"],
        "model_id": document["model_info"]["id"],
        "evaluation_name": result.suite,
        "evaluation_result_id": f"{result.suite}/{outcome.metric}",
        "sample_id": outcome.item,
        "sample_hash": digest,
        "interaction_type": "single_turn",
        "input": {**prompt, **({"choices": choices} if choices else {})},
        "output": {"raw": [sample.output]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": sample.output,
                "extraction_method": sample.method,
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": float(outcome.value or 0.0), "is_correct": is_correct},
        "metadata": metadata,
    }
