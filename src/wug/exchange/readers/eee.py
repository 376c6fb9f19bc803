"""Every Eval Ever 0.3: aggregate files, each with its samples if they are next to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError
from wug.exchange.imported import (
    ImportedRun,
    ImportedSuite,
    families_of_samples,
    is_item_of,
    with_standard_error,
)
from wug.exchange.json_files import Json, mapping, read_object_lines, read_strict_object, require_number, text
from wug.files import iterate_lines
from wug.identity import OVERALL
from wug.outcomes import Estimate, Outcome
from wug.samples import Sample

SAMPLES = "_samples.jsonl"


class Evaluation(NamedTuple):
    """Where a result of an aggregate file belongs."""

    suite: str
    metric: str
    share: bool


def recognises(path: Path, head: str) -> bool:
    """Whether a file is an aggregate or has samples."""
    return (
        '"schema_version"' in head and '"evaluation_id"' in head and ('"model_info"' in head or '"sample_id"' in head)
    )


def read(files: Sequence[Path]) -> Iterator[ImportedRun]:
    """One run per aggregate file."""
    aggregates = [file for file in files if not _unzipped_name(file).endswith(".jsonl")]
    aggregate_stems = {(file.parent, _unzipped_name(file).removesuffix(".json")) for file in aggregates}
    for file in files:
        if file not in aggregates and (file.parent, _unzipped_name(file).removesuffix(SAMPLES)) not in aggregate_stems:
            raise InputError("the aggregate file of these samples is missing: name it, or its folder", file=file)
    for file in aggregates:
        yield _run(file)


def _unzipped_name(path: Path) -> str:
    return path.name.removesuffix(".gz")


def _run(path: Path) -> ImportedRun:
    document = read_strict_object(path)
    version = str(document.get("schema_version"))
    if not version.startswith("0.3"):
        raise InputError(f"schema version {version}, and wug reads 0.3", file=path)
    model = mapping(document.get("model_info"), "model_info", path)
    library = mapping(document.get("eval_library") or {}, "eval_library", path)
    results = document.get("evaluation_results")
    if not isinstance(results, list) or not results:
        raise InputError("evaluation_results is empty, or not a list", file=path)
    suites: dict[str, ImportedSuite] = {}
    evaluations: dict[str, Evaluation] = {}
    for index, value in enumerate(results):
        entry = mapping(value, f"evaluation_results[{index}]", path)
        evaluation = _add(suites, entry, f"evaluation_results[{index}]", path)
        name = str(entry.get("evaluation_result_id") or entry["evaluation_name"])
        if name in evaluations:
            raise InputError(f"the id {name!r} is there twice", file=path)
        evaluations[name] = evaluation
    files = [path]
    if about := document.get("detailed_evaluation_results"):
        samples = _samples_file(path)
        if samples is None:
            for suite in suites.values():
                suite.warnings.append("the file of its samples is missing")
        else:
            files.append(samples)
            by_wug = library.get("name") == "wug"
            about = mapping(about, "detailed_evaluation_results", path)
            _add_samples(samples, about, document.get("evaluation_id"), suites, evaluations, by_wug=by_wug)
    details = model.get("additional_details") or {}
    name = text(model.get("id"), "model_info.id", path).removeprefix("local/")
    program = f"{library.get('name') or 'unknown'} {library.get('version') or ''}".strip()
    return ImportedRun(name, str(details.get("revision") or ""), "eee", program, files, list(suites.values()))


def _add(suites: dict[str, ImportedSuite], entry: Json, place: str, path: Path) -> Evaluation:
    """Take in one result of an aggregate file."""
    name = text(entry.get("evaluation_name"), f"{place}.evaluation_name", path)
    config = mapping(entry.get("metric_config"), f"{place}.metric_config", path)
    scored = mapping(entry.get("score_details"), f"{place}.score_details", path)
    details = scored.get("details") or {}
    group = str(details.get("group") or OVERALL) if details.get("level") == "group" else OVERALL
    suite_name = name.removesuffix(f"/{group}") if group != OVERALL else name
    suite = suites.setdefault(suite_name, ImportedSuite(suite_name, fields={"task": suite_name}))
    metric = str(config.get("metric_id") or config.get("metric_name") or "score").removeprefix("wug.")
    share = config.get("metric_unit") == "proportion"
    meaning = str(config.get("evaluation_description") or "")
    suite.declare(metric, better=config.get("lower_is_better") is not True, meaning=meaning, share=share)
    value = require_number(scored.get("score"), f"{place}.score_details.score", path)
    suite.estimates.append(_estimate(metric, group, value, scored.get("uncertainty") or {}, path))
    return Evaluation(suite_name, metric, share)


def _estimate(metric: str, group: str, value: float, uncertainty: Json, path: Path) -> Estimate:
    n = int(require_number(uncertainty.get("num_samples") or 0, "num_samples", path))
    interval, error = uncertainty.get("confidence_interval"), uncertainty.get("standard_error")
    if interval:
        low, high = (require_number(interval.get(name), f"the {name} bound", path) for name in ("lower", "upper"))
        return Estimate(metric, group, value, n, low, high, str(interval.get("method") or "unknown"))
    number = require_number(error.get("value"), "standard_error", path) if error else None
    return with_standard_error(metric, group, value, n, number)


def _samples_file(path: Path) -> Path | None:
    stem = _unzipped_name(path).removesuffix(".json")
    return next((file for end in ("", ".gz") if (file := path.with_name(f"{stem}{SAMPLES}{end}")).is_file()), None)


def _add_samples(
    path: Path,
    about: Json,
    evaluation_id: object,
    suites: Mapping[str, ImportedSuite],
    evaluations: Mapping[str, Evaluation],
    *,
    by_wug: bool,
) -> None:
    """Add the outcomes of a file of samples, which is read twice so that no row is kept."""
    _require_unchanged(path, about)
    candidates = dict.fromkeys(suites, families_of_samples())
    for evaluation, _, sample, _, _ in _rows(path, evaluation_id, evaluations):
        families = candidates[evaluation.suite]
        candidates[evaluation.suite] = [f for f in families if sample.right is not None and is_item_of(f, sample)]
    explained: set[tuple[str, str]] = set()
    for evaluation, item, sample, score, metadata in _rows(path, evaluation_id, evaluations):
        suite, family = suites[evaluation.suite], next(iter(candidates[evaluation.suite]), None)
        detail: dict[str, Any] = {}
        if (suite.name, item) not in explained:
            explained.add((suite.name, item))
            if family is None:
                detail = {"source": sample.context, "target": "".join(sample.reference[:1]), "answer": sample.output}
            else:
                suite.kind = family.name
                detail = dict(family.from_sample(sample))
            detail |= {} if by_wug else metadata
        value = bool(score) if evaluation.share and score in (0.0, 1.0) else score
        suite.add(Outcome(item, evaluation.metric, value, metadata if by_wug else {}, detail))


def _rows(
    path: Path, evaluation_id: object, evaluations: Mapping[str, Evaluation]
) -> Iterator[tuple[Evaluation, str, Sample, float, dict[str, str]]]:
    """Result, item, sample, score and metadata of each row; an error if a row is there twice."""
    seen: set[tuple[str, str]] = set()
    for place, row in read_object_lines(path):
        if row.get("evaluation_id") != evaluation_id:
            raise InputError("its evaluation_id is not that of the aggregate file", file=path, place=place)
        name = str(row.get("evaluation_result_id") or row.get("evaluation_name"))
        if name not in evaluations:
            raise InputError(f"no result of the aggregate file has the id {name!r}", file=path, place=place)
        item = text(row.get("sample_id"), "sample_id", path, place)
        if (name, item) in seen:
            raise InputError(f"the sample {item!r} is there twice", file=path, place=place)
        seen.add((name, item))
        score = require_number((row.get("evaluation") or {}).get("score"), "evaluation.score", path, place)
        metadata = {str(key): str(value) for key, value in (row.get("metadata") or {}).items() if key != "logprobs"}
        yield evaluations[name], item, _sample(row, path, place), score, metadata


def _require_unchanged(path: Path, about: Json) -> None:
    """Refuse a file of samples that is not the one that the aggregate describes."""
    digest, rows = hashlib.sha256(), 0
    for line in iterate_lines(path):
        digest.update(f"{line}\n".encode())
        rows += bool(line.strip())
    if isinstance(about.get("total_rows"), int) and about["total_rows"] != rows:
        raise InputError(f"it has {rows:,} rows, and its aggregate file says {about['total_rows']:,}", file=path)
    if about.get("hash_algorithm") == "sha256" and about.get("checksum") not in (None, digest.hexdigest()):
        raise InputError("its SHA-256 is not that of the aggregate file: it was changed", file=path)


def _sample(row: Json, path: Path, place: str) -> Sample:
    prompt = mapping(row.get("input"), "input", path, place)
    reference = tuple(map(str, prompt.get("reference") or ()))
    choices = tuple(map(str, prompt.get("choices") or ()))
    output = (row.get("output") or {}).get("raw") or [""]
    right = choices.index(reference[0]) if reference and reference[0] in choices else None
    try:
        logprobs = tuple(map(float, json.loads((row.get("metadata") or {}).get("logprobs") or "[]")))
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise InputError("metadata.logprobs is not a list of numbers", file=path, place=place) from None
    return Sample(
        context=str(prompt.get("raw") or ""),
        choices=choices,
        right=right,
        reference=reference,
        output=str(output[0]),
        logprobs=logprobs if len(logprobs) == len(choices) else (),
    )
