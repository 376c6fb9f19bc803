"""Logs of inspect_ai, version 2: `.json`, and `.eval`, a ZIP archive with one file per sample."""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from wug.errors import InputError, first_line
from wug.exchange.imported import ImportedRun, ImportedSuite, with_standard_error
from wug.exchange.json_files import Json, mapping, read_strict_object, require_number, text
from wug.files import max_unpacked_bytes, shortened
from wug.identity import OVERALL
from wug.outcomes import Outcome

GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partially correct, no answer."""
MEANS = ("accuracy", "mean")
"""Metrics that are means of the values of samples."""
ZSTANDARD = 93
"""The compression method of ZIP archives that inspect_ai uses since 0.3.206."""
UNPACK = """
SELECT json
FROM read_json_objects(?, format = 'unstructured', compression = 'zstd', maximum_object_size = ?::UINTEGER)
"""
MAX_GROUPS = 50
"""Values of a metadata field that may be groups."""


def recognises(path: Path, head: str) -> bool:
    """Whether a file is a log."""
    if head.startswith("PK\x03\x04"):
        return path.name.endswith(".eval")
    return '"status"' in head and re.search(r'"eval"\s*:\s*\{', head) is not None and '"version"' in head


def read(files: Sequence[Path]) -> Iterator[ImportedRun]:
    """One run per log."""
    for path in files:
        log = _archive(path) if path.suffix == ".eval" else read_strict_object(path)
        yield _run(log, path)


def _run(log: Json, path: Path) -> ImportedRun:
    if log.get("version") != 2:
        raise InputError(f"version {log.get('version')!r} of the log format, and wug reads version 2", file=path)
    header = mapping(log.get("eval"), "eval", path)
    task = text(header.get("task"), "eval.task", path)
    suite = ImportedSuite(task, fields={"task": f"{task} v{header.get('task_version', 0)}"})
    config = header.get("config") or {}
    for name in ("epochs", "limit"):
        if config.get(name) not in (None, 1):
            suite.fields[name] = str(config[name])
    if log.get("status") != "success":
        suite.status = "partial"
        error = log.get("error") or {}
        suite.warnings.append(f"{log.get('status')}: {error.get('message') or 'the evaluation did not finish'}")
    samples = log.get("samples") or []
    if not isinstance(samples, list):
        raise InputError("samples is not a list", file=path)
    names = _metrics(log.get("results") or {}, suite, path)
    _add_samples(samples, suite, names, path)
    if not samples and not suite.estimates:
        raise InputError("the log has neither results nor samples", file=path)
    program = f"inspect_ai {(header.get('packages') or {}).get('inspect_ai', '')}".strip()
    return ImportedRun(str(header.get("model") or ""), "", "inspect", program, [path], [suite])


def _metrics(results: Json, suite: ImportedSuite, path: Path) -> dict[str, str]:
    """Take in the metrics of all scorers; returns the metric of each scorer that is the mean of its samples."""
    n = int(require_number(results.get("completed_samples") or 0, "completed_samples", path))
    metric_names: dict[str, str] = {}
    for score in results.get("scores") or ():
        scorer = text(score.get("name"), "a score's name", path)
        metrics = mapping(score.get("metrics"), f"metrics of {scorer}", path)
        error = metrics.get("stderr", {}).get("value")
        error = None if error is None else require_number(error, f"stderr of {scorer}", path)
        for name, entry in metrics.items():
            if name in ("stderr", "std", "var"):
                continue
            metric = f"{scorer}/{name}"
            value = require_number(mapping(entry, metric, path).get("value"), metric, path)
            suite.declare(metric, share=name == "accuracy")
            suite.estimates.append(with_standard_error(metric, OVERALL, value, n, error))
            if name in MEANS:
                metric_names.setdefault(str(score.get("scorer") or scorer), metric)
                metric_names.setdefault(scorer, metric)
    return metric_names


def _add_samples(samples: Sequence[Any], suite: ImportedSuite, names: Mapping[str, str], path: Path) -> None:
    """Add one outcome per sample and scorer: the mean over epochs."""
    items: dict[str, Json] = {}
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    epochs: set[tuple[str, object]] = set()
    for number, entry in enumerate(samples, 1):
        place = f"sample {number}"
        sample = mapping(entry, "the sample", path, place)
        item = str(sample.get("id"))
        if (item, sample.get("epoch")) in epochs:
            raise InputError(f"the id {item!r} is there twice in one epoch", file=path, place=place)
        epochs.add((item, sample.get("epoch")))
        items.setdefault(item, sample)
        for scorer, score in (sample.get("scores") or {}).items():
            for metric, value in _values(scorer, score, names, path, place):
                values[item][metric].append(value)
    all_values = [of_metric for of_item in values.values() for of_metric in of_item.values()]
    judged = all(len(of_metric) == 1 and of_metric[0] in (0.0, 1.0) for of_metric in all_values)
    grouped = _group_fields([sample.get("metadata") or {} for sample in items.values()])
    for item, sample in items.items():
        metadata = sample.get("metadata") or {}
        groups = {name: str(metadata[name]) for name in grouped if metadata.get(name) is not None}
        detail: Mapping[str, Any] = _detail(sample)
        for metric, of_metric in values[item].items():
            mean = fmean(of_metric)
            suite.declare(metric)
            suite.add(Outcome(item, metric, bool(mean) if judged else mean, groups, detail))
            detail = {}


def _values(
    scorer: str, score: object, names: Mapping[str, str], path: Path, place: str
) -> Iterator[tuple[str, float]]:
    """The metrics of a score; one with several values has one metric for each."""
    value = mapping(score, f"the score of {scorer}", path, place).get("value")
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for part, grade in parts:
        metric = f"{scorer}/{part}" if part else names.get(scorer, scorer)
        number = GRADES.get(grade, grade) if isinstance(grade, str) else grade
        if isinstance(number, bool):
            number = float(number)
        yield metric, require_number(number, f"the value of {metric}", path, place)


def _detail(sample: Json) -> dict[str, Any]:
    attachments = sample.get("attachments") or {}
    target = sample.get("target")
    output = sample.get("output") or {}
    choices = output.get("choices") or [{}]
    answer = output.get("completion") or _content((choices[0].get("message") or {}).get("content"), attachments)
    return {
        "source": _content(sample.get("input"), attachments),
        "target": ", ".join(map(str, target)) if isinstance(target, list) else str(target),
        "answer": _resolved(answer, attachments),
    }


def _content(content: object, attachments: Mapping[str, Any]) -> str:
    """Text, or the texts of messages and of their parts."""
    if isinstance(content, list):
        return "\n".join(_content(part, attachments) for part in content)
    if isinstance(content, dict):
        return _content(content.get("content", content.get("text", "")), attachments)
    return _resolved("" if content is None else str(content), attachments)


def _resolved(text: str, attachments: Mapping[str, Any]) -> str:
    scheme = "attachment://"
    return str(attachments.get(text.removeprefix(scheme), text)) if text.startswith(scheme) else text


def _group_fields(metadata: Sequence[Mapping[str, Any]]) -> list[str]:
    """Fields of the metadata with a few short values."""
    values: dict[str, set[str]] = defaultdict(set)
    unfit: set[str] = set()
    for fields in metadata:
        for name, value in fields.items():
            if isinstance(value, str | int | float | bool) and len(str(value)) <= 60:
                values[name].add(str(value))
            elif value is not None:
                unfit.add(name)
    few = min(MAX_GROUPS, max(1, len(metadata) // 2))
    return [name for name, texts in values.items() if name not in unfit and len(texts) <= few]


def _archive(path: Path) -> Json:
    try:
        with zipfile.ZipFile(path) as archive:
            header = _member(archive, "header.json", path)
            names = [name for name in archive.namelist() if re.fullmatch(r"samples/[^/]+\.json", name)]
            return {**header, "samples": [_member(archive, name, path) for name in sorted(names)]}
    except (zipfile.BadZipFile, OSError, RuntimeError) as error:
        raise InputError(f"not a log of inspect, or damaged: {error}", file=path) from None


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> Json:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise InputError(f"the archive has no {name}", file=path) from None
    if info.file_size > max_unpacked_bytes():
        raise InputError(f"{name} is too large: {info.file_size:,} bytes", file=path)
    data = _decompressed(archive, info, path)
    try:
        return mapping(json.loads(data), name, path)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {shortened(str(error))}", file=path, place=name) from None


def _decompressed(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> str | bytes:
    """The content of a member; DuckDB decompresses Zstandard, which Python has since 3.14 only."""
    if info.compress_type != ZSTANDARD:
        return archive.read(info)
    import duckdb

    with path.open("rb") as file:
        file.seek(info.header_offset)
        lengths = file.read(30)[26:30]
        file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
        data = file.read(info.compress_size)
    with tempfile.TemporaryDirectory(prefix="wug-import-") as folder, duckdb.connect() as connection:
        member = Path(folder) / "member.zst"
        member.write_bytes(data)
        try:
            rows = connection.execute(UNPACK, [str(member), info.file_size + 1]).fetchall()
        except duckdb.Error as error:
            raise InputError(f"damaged: {first_line(error)}", file=path, place=info.filename) from None
    return "".join(text for (text,) in rows)
