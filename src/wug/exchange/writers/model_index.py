"""Hugging Face: `model-index`, the older form in the YAML header of a model card."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wug.exchange.export import ExportedRun, ExportOptions
from wug.exchange.writers.hf import headline, hub_dataset, note, source, yaml_text
from wug.files import write_text
from wug.outcomes import Result

FILE = "model-index.yaml"


def write(runs: Sequence[ExportedRun], output: Path | None, options: ExportOptions) -> Iterator[str]:
    """Print the header of a model card, or write it to a file or into a folder."""
    models: dict[str, list[dict[str, Any]]] = {}
    for exported in runs:
        for result in exported.results:
            name = exported.model_of(result).name
            models.setdefault(name, []).append(_result(exported, result, options))
    text = yaml_text({"model-index": [{"name": name, "results": results} for name, results in models.items()]})
    if output is None:
        sys.stdout.write(text)
        return
    path = output if output.suffix and not output.is_dir() else output / FILE
    write_text(path, text)
    yield f"wrote {path}"


def _result(exported: ExportedRun, result: Result, options: ExportOptions) -> dict[str, Any]:
    estimate = headline(result)
    metric = {
        "type": estimate.metric,
        "value": float(estimate.value),
        "name": estimate.metric,
        "args": {"signature": str(result.signature), "notes": note(result, estimate)},
    }
    return {
        "task": {"type": "text-generation"},
        "dataset": {"type": hub_dataset(result, options), "name": result.suite},
        "metrics": [metric],
        **source(exported, result),
    }
