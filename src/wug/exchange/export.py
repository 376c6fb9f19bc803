"""What the writers of other programs' formats share: the run to write, options, and names of models and files."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np

from wug import registry
from wug.errors import InputError
from wug.files import write_pieces, writing
from wug.formatting import plural
from wug.identity import ModelId, ModelName
from wug.interfaces import implemented
from wug.outcomes import Estimate, IntervalMethod, Outcome, Result
from wug.results.records import Run
from wug.samples import Sample, may_publish, samples

WRITERS = "exchange.writers"
RESERVED = {"data", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
"""Names that a file or folder cannot have everywhere."""
CHECKPOINT = re.compile(r"(chck|ckpt|checkpoint|step|epoch)[-_]?\d+[kKmMbB]?")
"""The name of a folder that is a checkpoint of the model that the folder around it is called."""
LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
SampledOutcome: TypeAlias = tuple[Outcome, Sample]
Relationship = Literal["first_party", "third_party", "collaborative", "other"]


class ExportOptions(NamedTuple):
    """What a user may say about an export."""

    organization: str = "unknown"
    relationship: Relationship = "other"
    dataset: str | None = None
    """Id of the data set on the Hugging Face Hub."""
    task_id: str | None = None
    with_samples: bool = False
    """Whether to refuse an export without samples."""
    collate: bool = False
    """Whether to write one file of predictions for a leaderboard, too."""


class ExportedRun(NamedTuple):
    """A run with the results that are written."""

    run: Run
    results: tuple[Result, ...]

    @property
    def started(self) -> datetime:
        """When the run started."""
        return datetime.fromisoformat(self.run.started).astimezone(UTC)

    @property
    def timestamp(self) -> str:
        """When the run started, in Unix seconds."""
        return str(int(self.started.timestamp()))

    def model_of(self, result: Result) -> ModelName:
        """The name of a result's model; a folder belongs to `local`, and BABY/chck_1M is a checkpoint of BABY."""
        model = ModelId.parse(result.model)
        path, at, revision = model.name.rpartition("@")
        path, revision = (path, revision) if at else (model.name, self.run.revision or "")
        if not model.backend or result.signature.get("imported"):
            revision = revision or model.fingerprint
        above = Path((self.run.specification or "").partition(":")[2].partition("?")[0]).parent.name
        if not revision and above and CHECKPOINT.fullmatch(path):
            path, revision = above, path
        parts = [part for part in re.split(r"[/\\]", path) if part not in ("", ".", "..", "~")]
        on_hub = len(parts) == 2 and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", path) is not None
        return ModelName(model, parts[0] if on_hub else "local", (parts or ["model"])[-1], revision)


@dataclass(frozen=True)
class RunFormat:
    """A format of other programs that runs are written in: a module in `exchange/writers/`."""

    write: Callable[[Sequence[ExportedRun], Path | None, ExportOptions], Iterable[str]]
    """Writes runs; yields lines for the user."""


def formats() -> list[str]:
    """The names of all formats of other programs that runs are written in."""
    names = (name.replace("_", "-") for name in registry.names(WRITERS))
    return sorted([*names, *(family.name for family in registry.families() if family.export_run)])


def write(format: str, runs: Sequence[ExportedRun], output: Path | None, options: ExportOptions) -> Iterator[str]:
    """Write runs in a format of another program, or as the submission of a benchmark; yields lines for the user."""
    if not any(exported.results for exported in runs):
        raise InputError("the run has no results to export")
    submit = registry.family_of(format).export_run
    if submit is None:
        writer = implemented(RunFormat, registry.find(WRITERS, format.replace("-", "_")))
        yield from writer.write(runs, output, options)
    else:
        results = [(result, exported.model_of(result)) for exported in runs for result in exported.results]
        yield from submit(results, require_folder(format, output), collate=options.collate)


def require_folder(format: str, output: Path | None) -> Path:
    """The folder to write to."""
    if output is None:
        raise InputError(f"--to {format} writes a folder: name it with -o")
    return output


def refuse_non_finite(result: Result) -> None:
    """InputError if an estimate is not a finite number, which JSON cannot express."""
    for estimate in result.estimates:
        values = [value for value in (estimate.value, estimate.low, estimate.high) if value is not None]
        if not np.isfinite(values).all():
            raise InputError(
                f"{result.suite}: {estimate.metric} ({estimate.group}) is {estimate.value}, and JSON has no such "
                "number. Leave the suite out with --suite"
            )


def write_samples(
    result: Result,
    path: Path,
    options: ExportOptions,
    rows: Callable[[int, Sequence[SampledOutcome]], Iterable[object]],
) -> tuple[list[str], tuple[str, int] | None]:
    """Write the rows of each item as JSON Lines.

    Returns:
        Lines for the user, and the SHA-256 of the file and the number of its rows; None if items are not written.

    Raises:
        InputError: If a value is not a finite number, or items that the user wants must not be written.
    """
    reason = "" if len(result.outcomes) else "the run has no outcomes"
    reason = reason if may_publish(result) else "its authors ask not to publish the items as plain text"
    if reason and options.with_samples:
        raise InputError(f"{result.suite}: {reason}, so --with-samples cannot be followed")
    if reason:
        return [f"{result.suite}: samples are left out: {reason}"], None
    digest, count = hashlib.sha256(), 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for number, item in enumerate(samples(result)):
            for outcome, _ in item:
                if not np.isfinite(float(outcome.value or 0.0)):
                    what = f"{outcome.metric} is {outcome.value}, and JSON has no such number"
                    raise InputError(f"{result.suite}, item {outcome.item}: {what}")
            for row in rows(number, item):
                # No character may end a line for programs that split text at all line ends of Unicode.
                text = json.dumps(row, ensure_ascii=False, allow_nan=False).translate(LINE_ENDS)
                data = f"{text}\n".encode(errors="backslashreplace")
                digest.update(data)
                count += 1
                yield data

    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_pieces(path, lines())
    missing = sum(outcome.value is None for outcome in result.outcomes)
    warnings = [f"{result.suite}: {plural(missing, 'outcome')} without a value left out"] if missing else []
    return [*warnings, f"wrote {path}"], (digest.hexdigest(), count)


def portable(name: str) -> str:
    """A name that a file or folder can have on every system."""
    plain = re.sub(r'[<>:"/\\|?*\x00-\x1f\x7f]', "_", name).rstrip(". ") or "_"
    return f"{plain}_" if plain.partition(".")[0].lower() in RESERVED else plain


def stable_uuid(*parts: object) -> str:
    """A UUID of version 4 in form, derived from the parts."""
    return str(UUID(bytes=hashlib.sha256(json.dumps(list(map(str, parts))).encode()).digest()[:16], version=4))


def standard_error(estimate: Estimate) -> float | None:
    """The standard error of a proportion as the mean of 0s and 1s (n - 1), or a third of the interval of a mean."""
    if IntervalMethod.parse(estimate.method).for_proportion and estimate.n > 1:
        return float(np.sqrt(estimate.value * (1 - estimate.value) / (estimate.n - 1)))
    if estimate.low is None or estimate.high is None:
        return None
    return (estimate.high - estimate.low) / (2 * 1.96)
