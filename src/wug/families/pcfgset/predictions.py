"""Readers of outputs that were computed elsewhere, in the formats in which they were published."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.families import predictions as readers
from wug.files import read_lines
from wug.record_tables import as_number

_DASHES = re.compile(r"-{5,}")
_ARROW = re.compile(r" ->(?: |$)")
_EPOCH = re.compile(r"\s*Epoch:?\s+(\d{1,9})\s*", re.IGNORECASE)
_ACCURACY = re.compile(r"\s*(Adapted|Original)\s*-\s*Sequence Accuracy\s*:?\s*(\S+)\s*", re.IGNORECASE)


class TracedSample(NamedTuple):
    """A sample of a localism trace: the steps, then the whole source."""

    number: int
    steps: tuple[tuple[str, str], ...]
    source: str
    answer: str
    verdict: bool | None


class Epoch(NamedTuple):
    """The accuracies of one epoch in an overgeneralisation log."""

    number: int
    memorisation: float
    """Share of exceptions read as exceptions (`Adapted`)."""
    overgeneralisation: float
    """Share of exceptions read by the rules (`Original`)."""


def answers(path: Path, sources: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Every output in a prediction file by source, those for the same source in order.

    Reads tables with a header, localism traces and, if `sources` are given, plain lines.
    """
    by_source: defaultdict[str, list[str]] = defaultdict(list)
    lines = read_lines(path)
    if is_trace(lines):
        for sample in read_trace(path):
            for source, answer in (*sample.steps, (sample.source, sample.answer)):
                by_source[source].append(answer)
    elif readers.names_columns(lines):
        for row in read_table(path):
            by_source[row.source or ""].append(row.prediction)
    elif sources is not None:
        for source, answer in zip(sources, readers.answers_to(sources, path), strict=True):
            by_source[readers.squeeze(source)].append(answer)
    else:
        message = "neither a table with a source and a prediction column nor a localism trace"
        raise InputError(message, file=path, place="line 1")
    return dict(by_source)


def is_trace(lines: Sequence[str]) -> bool:
    """Whether the first nonempty line consists of dashes, as in a localism trace."""
    first = next((line for line in lines if line.strip()), "")
    return _DASHES.fullmatch(first.strip()) is not None


def read_table(path: Path) -> list[readers.PredictedRow]:
    """The rows of a table of predictions, all of them with sources."""
    rows = readers.read_named(path)
    if any(row.source is None for row in rows):
        raise InputError("there is no column with the sources", file=path, place="line 1")
    return [row._replace(prediction=readers.squeeze(row.prediction)) for row in rows]


def read_trace(path: Path) -> list[TracedSample]:
    """The samples of a localism trace."""
    samples: list[TracedSample] = []
    block: list[tuple[int, str]] = []
    lines = [*enumerate(readers.content_lines(path), 1)]
    if not is_trace([line for _, line in lines]):
        raise InputError("a localism trace begins with a line of dashes", file=path, place="line 1")
    for number, line in [*lines, (len(lines) + 1, "-----")]:
        if not _DASHES.fullmatch(line.strip()):
            if line.strip():
                block.append((number, line))
        elif block:
            samples.append(_traced(block, path))
            block = []
    if not samples:
        raise InputError("the trace has no samples", file=path)
    return samples


def read_log(path: Path) -> list[Epoch]:
    """The epochs of an overgeneralisation log."""
    epochs: dict[int, dict[str, float]] = {}
    current: dict[str, float] | None = None
    for number, line in enumerate(read_lines(path), 1):
        if match := _EPOCH.fullmatch(line):
            if int(match[1]) in epochs:
                message = f"epoch {match[1]} is repeated. A file has the log of one run"
                raise InputError(message, file=path, place=f"line {number}")
            current = epochs.setdefault(int(match[1]), {})
        elif match := _ACCURACY.fullmatch(line):
            if current is None:
                raise InputError("an accuracy before any `Epoch` line", file=path, place=f"line {number}")
            current[match[1].lower()] = value = as_number(match[2])
            if not 0 <= value <= 1:
                message = f"{match[2]!r} is not an accuracy between 0 and 1"
                raise InputError(message, file=path, place=f"line {number}")
    if not epochs:
        message = "no `Epoch n` lines with `Adapted - Sequence Accuracy: x` and `Original - …` below them"
        raise InputError(message, file=path)
    for epoch, values in epochs.items():
        if len(values) < 2:
            lacking = "Adapted" if "adapted" not in values else "Original"
            raise InputError(f"no {lacking} accuracy", file=path, place=f"epoch {epoch}")
    return [Epoch(n, values["adapted"], values["original"]) for n, values in sorted(epochs.items())]


def _traced(block: list[tuple[int, str]], path: Path) -> TracedSample:
    start = block[0][0]
    verdict: bool | None = None
    verdicts: Mapping[str, bool] = {"True": True, "False": False}
    if block[-1][1].strip() in verdicts:
        verdict = verdicts[block[-1][1].strip()]
        block = block[:-1]
    steps: list[tuple[str, str]] = []
    for number, line in block:
        parts = _ARROW.split(line, maxsplit=1)
        if len(parts) != 2:
            raise InputError(f"expected `source -> answer`, found {line[:60]!r}", file=path, place=f"line {number}")
        steps.append((readers.squeeze(parts[0]), "" if parts[1].strip() == "[]" else readers.squeeze(parts[1])))
    if len(steps) < 2:
        raise InputError("a sample needs at least one step and the whole source", file=path, place=f"line {start}")
    source, answer = steps.pop()
    return TracedSample(start, tuple(steps), source, answer, verdict)
