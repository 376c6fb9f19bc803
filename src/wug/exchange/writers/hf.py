"""Hugging Face: `.eval_results/wug.yaml` of a model repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from wug import data
from wug.errors import InputError
from wug.exchange.export import ExportedRun, ExportOptions, refuse_non_finite, require_folder
from wug.files import write_text
from wug.outcomes import DATASET_KEY, Estimate, Result

UNREGISTERED = (
    "{}: wug cannot tell whether {} is registered as a benchmark on the Hugging Face Hub. Results of other data sets "
    "do not appear on leaderboards"
)


def write(runs: Sequence[ExportedRun], output: Path | None, options: ExportOptions) -> Iterator[str]:
    """Write one entry per result into the folder of a model repository."""
    folder = require_folder("hf", output)
    entries = []
    for exported in runs:
        for result in exported.results:
            estimate, dataset = headline(result), hub_dataset(result, options)
            entry = {
                "dataset": {"id": dataset, "task_id": options.task_id or result.suite},
                "value": float(estimate.value),
                "date": f"{exported.started:%Y-%m-%d}",
                **source(exported, result),
                "notes": note(result, estimate),
            }
            entries.append(entry)
            yield UNREGISTERED.format(result.suite, dataset)
    path = folder / ".eval_results" / "wug.yaml"
    write_text(path, yaml_text(entries))
    yield f"wrote {path}"


def headline(result: Result) -> Estimate:
    """The estimate that represents a result."""
    refuse_non_finite(result)
    if result.headline is None:
        raise InputError(f"{result.suite} has no estimate over all items")
    return result.headline


def hub_dataset(result: Result, options: ExportOptions) -> str:
    """The id of the result's data set on the Hugging Face Hub: the user's, or that of the catalogue."""
    name = (result.meta.get(DATASET_KEY) or {}).get("set") or result.suite
    hub = data.find(name).set.hub if data.is_known(name) else None
    if options.dataset or hub:
        return options.dataset or str(hub)
    raise InputError(
        f"{result.suite}: the catalogue has no id of it on the Hugging Face Hub. Give it with --dataset ID --task-id ID"
    )


def note(result: Result, estimate: Estimate) -> str:
    """Number of items, interval and signature."""
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"; 95% interval {estimate.low:.4f}-{estimate.high:.4f} ({estimate.method})"
    return f"{estimate.metric}; n={estimate.n}{interval}; {result.signature}"


def source(exported: ExportedRun, result: Result) -> dict[str, dict[str, str]]:
    """The field with where the data of a published set comes from, and the run; empty for other suites."""
    record = result.meta.get(DATASET_KEY)
    if not record:
        return {}
    url = f"https://{record['repository']}/tree/{record['commit']}"
    return {"source": {"url": url, "name": f"wug run {exported.run.id}"}}


def yaml_text(content: object) -> str:
    """The content as YAML."""
    import yaml

    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000))
