"""Samples of lm-eval, read line by line: the choice of each document, checked against its metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError
from wug.exchange.imported import ImportedSuite, families_of_samples, is_item_of
from wug.exchange.json_files import Json, mapping, read_object_lines, require_number
from wug.files import shortened
from wug.formatting import plural
from wug.identity import IMPORTED
from wug.interfaces import Family
from wug.outcomes import Outcome
from wug.samples import Sample

LENGTHS: Mapping[str, Callable[[str], float]] = {
    "acc": lambda option: 1.0,
    "acc_norm": lambda option: float(len(option)),
    "acc_bytes": lambda option: float(len(option.encode())),
}
"""What a metric divides the log-probability of an option by."""
JUDGEMENTS = (*LENGTHS, "acc_mutual_info", "exact_match")
"""Metrics that are means of 0s and 1s."""


def metric_name(base: str, filtered: str = "none") -> str:
    """A metric as wug calls it: with its filter, unless there is none."""
    first, colon, rest = base.partition(":")
    name = {"acc": "accuracy"}.get(first, first) + colon + rest
    return name if filtered in ("", "none") else f"{name}:{filtered}"


class SampleFile:
    """A file of samples; the task is in its name between the first and the last underscore."""

    def __init__(self, path: Path) -> None:
        self.path = path
        name = path.name.removesuffix(".gz").removesuffix(".jsonl")
        parts = name.split("_")
        self.task = "_".join(parts[1:-1]) if parts[0] == "samples" and len(parts) > 2 else name


class _Document(NamedTuple):
    """One line: a document under one filter."""

    number: int
    sample: Sample
    values: Mapping[str, float]
    """By the names of lm-eval."""
    filtered: str
    doc: Json
    place: str


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a results file."""

    name: str
    values: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    """Value and standard error of each metric, in wug's names."""
    n: int | None = None
    shots: str = ""
    version: str = ""
    delimiter: str = ""
    """In words: `space`, `none`, or as it is; empty if unknown."""
    higher: Mapping[str, bool] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


def read_samples(file: SampleFile, suite: ImportedSuite, groups: Mapping[str, str], task: Task) -> None:
    """Add the outcomes of a file to a suite, and compare their means with the values of the results file.

    Args:
        file: The file.
        suite: The suite; its kind is set if the task is not one of a published set.
        groups: The groups of all outcomes.
        task: What the results file says.
    """
    candidates = [candidate for candidate in families_of_samples() if suite.kind in (IMPORTED, candidate.name)]
    if suite.kind == IMPORTED:
        for place, row in read_object_lines(file.path):
            sample = _document(row, file.path, place, task.delimiter).sample
            candidates = [candidate for candidate in candidates if _is_item(candidate, sample)]
    family = candidates[0] if candidates else None
    suite.kind = suite.kind if family is None else family.name
    reading = _Reading(file, suite, family, groups, task)
    for place, row in read_object_lines(file.path):
        reading.add(_document(row, file.path, place, task.delimiter))
    reading.finish()


def _is_item(family: Family | None, sample: Sample) -> bool:
    """Whether a sample can be an item of a family; None is for generated text."""
    return bool(sample.choices) and is_item_of(family, sample) if family is not None else not sample.choices


class _Reading:
    """The outcomes of a file on their way into a suite."""

    def __init__(
        self,
        file: SampleFile,
        suite: ImportedSuite,
        family: Family | None,
        groups: Mapping[str, str],
        task: Task,
    ) -> None:
        self.file = file
        self.suite = suite
        self.family = family
        self.groups = groups
        self.task = task
        self.judgements = {*JUDGEMENTS, *(task.metadata.get("wug_judged") or ())}
        self.seen: dict[str, set[int]] = {}
        """The numbers of the documents by filter."""
        self.sums: dict[str, tuple[float, int]] = {}
        """Sum and number of the values of each metric that is a mean of 0s and 1s."""
        self.ties = 0

    def finish(self) -> None:
        """Compare the means with those of the results file, and warn about ties and missing samples."""
        values, documents = self.task.values, max(map(len, self.seen.values()), default=0)
        if not documents:
            raise InputError("the file has no samples", file=self.file.path)
        if self.task.n not in (None, documents):
            self.suite.unsampled += 1
            self.suite.warnings.append(f"samples of {documents:,} of {self.task.n:,} items of {self.file.task}")
        for metric, (total, count) in self.sums.items():
            mean = total / count
            if metric in values and abs(values[metric][0] - mean) > 1e-6:
                raise InputError(
                    f"{metric} of {self.file.task} is {mean:.6g} over these samples and {values[metric][0]:.6g} in the "
                    "results file: the files do not belong together, or samples are missing",
                    file=self.file.path,
                )
        if self.ties:
            self.suite.warnings.append(
                f"{plural(self.ties, 'item')} of {self.file.task} tied: lm-eval takes the first of equal options"
            )

    def add(self, document: _Document) -> None:
        """Add the outcomes of a document."""
        path, place = self.file.path, document.place
        if not _is_item(self.family, document.sample):
            kind = "generated text" if self.family is None else self.suite.kind
            raise InputError(f"the document is not an item of {kind}, as others of its task", file=path, place=place)
        seen = self.seen.setdefault(document.filtered, set())
        if document.number in seen:
            raise InputError(f"document {document.number} is there twice", file=path, place=place)
        seen.add(document.number)
        sample = document.sample
        self.ties += sample.tied and not document.doc.get("tie")
        detail: dict[str, Any] = (
            {"source": sample.context, "target": sample.reference[0], "answer": sample.output}
            if self.family is None
            else self.family.from_sample(sample)
        )
        grouped = self.task.metadata.get("wug_groups") or ()
        groups = {**self.groups, **{name: str(document.doc[name]) for name in grouped if name in document.doc}}
        item = _item(document, self.groups)
        for base, value in document.values.items():
            _verify(base, value, document, path)
            metric = metric_name(base, document.filtered)
            judged = value in (0.0, 1.0) and (base in self.judgements or base.partition(":")[0] in JUDGEMENTS)
            if judged:
                total, count = self.sums.get(metric, (0.0, 0))
                self.sums[metric] = (total + value, count + 1)
            self.suite.declare(metric, share=judged)
            self.suite.add(Outcome(item, metric, bool(value) if judged else value, groups, detail))
            detail = {}


def _item(document: _Document, groups: Mapping[str, str]) -> str:
    """The name of an item: that of wug's exports, of BLiMP's files, or the number of the document."""
    doc = document.doc
    if isinstance(doc.get("item"), str):
        return str(doc["item"])
    if "paradigm" in groups:
        number = doc.get("pairID", doc.get("pair_id", document.number))
        return f"{groups['paradigm']}/{number}"
    return str(document.number)


def _document(row: Json, path: Path, place: str, delimiter: str) -> _Document:
    doc_id = row.get("doc_id")
    if not isinstance(doc_id, int) or isinstance(doc_id, bool):
        raise InputError(f"doc_id is {shortened(repr(doc_id))}, not a whole number", file=path, place=place)
    doc = row.get("doc") if isinstance(row.get("doc"), dict) else {}
    metrics = row.get("metrics")
    if not isinstance(metrics, list):
        metrics = [name for name in JUDGEMENTS if name in row]
    values = {
        str(name): require_number(row.get(name), str(name), path, place)
        for name in metrics
        if not isinstance(row.get(name), list | dict)
    }
    if not values:
        raise InputError("the document has no metric", file=path, place=place)
    sample = _sample(row, doc, path, place, delimiter)
    return _Document(doc_id, sample, values, str(row.get("filter") or "none"), doc or {}, place)


def _sample(row: Json, doc: Any, path: Path, place: str, delimiter: str) -> Sample:
    arguments = list(mapping(row.get("arguments"), "arguments", path, place).values())
    outputs = row.get("filtered_resps")
    if not isinstance(outputs, list) or not arguments or not all(isinstance(argument, dict) for argument in arguments):
        raise InputError("no arguments, or filtered_resps is not a list", file=path, place=place)
    target = str(row.get("target"))
    first = arguments[0]
    if not isinstance(first.get("arg_1"), str) or len(arguments) == 1:
        output = outputs[0] if outputs else ""
        return Sample(context=str(first.get("arg_0") or ""), reference=(target,), output=_first_text(output))
    if "acc_mutual_info" in (row.get("metrics") or ()) and len(arguments) % 2 == 0:
        arguments, outputs = arguments[: len(arguments) // 2], outputs[: len(outputs) // 2]
    if len(arguments) != len(outputs):
        raise InputError(f"{len(arguments)} options and {len(outputs)} responses", file=path, place=place)
    contexts = tuple(str(argument.get("arg_0") or "") for argument in arguments)
    choices = tuple(_without_delimiter(str(argument.get("arg_1")), delimiter) for argument in arguments)
    right = _right_choice(target, choices, path, place)
    same = len(set(contexts)) == 1
    logprobs = tuple(_logprob(output, path, place) for output in outputs)
    known_logprobs = () if None in logprobs else logprobs
    scores = doc.get("scores") if isinstance(doc, dict) else None
    return Sample(
        context=contexts[0] if same else "",
        contexts=() if same else contexts,
        choices=choices,
        right=right,
        reference=(choices[right],),
        logprobs=known_logprobs,  # type: ignore[arg-type]
        scores=tuple(scores) if isinstance(scores, list) and len(scores) == len(choices) else (),
    )


def _without_delimiter(option: str, delimiter: str) -> str:
    return option.removeprefix(" ") if delimiter in ("space", "") else option


def _right_choice(target: str, choices: Sequence[str], path: Path, place: str) -> int:
    if target.isascii() and target.isdigit() and int(target) < len(choices):
        return int(target)
    if target in choices:
        return choices.index(target)
    message = f"the target {shortened(target)!r} is neither the number of an option nor one of them"
    raise InputError(message, file=path, place=place)


def _logprob(output: object, path: Path, place: str) -> float | None:
    """The log-probability of a response; None if the program that wrote it did not know it."""
    value = output[0] if isinstance(output, list) and output else output
    if value == "None":
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise InputError(f"a response is {shortened(repr(output))}, not a log-probability", file=path, place=place)
    return number


def _first_text(output: object) -> str:
    while isinstance(output, list) and output:
        output = output[0]
    return str(output)


def _verify(metric: str, value: float, document: _Document, path: Path) -> None:
    """Refuse a judgement that the log-probabilities do not give."""
    sample = document.sample
    if metric not in LENGTHS or not sample.logprobs or sample.right is None:
        return
    scores = sample.scores or [
        logprob / max(1.0, LENGTHS[metric](option))
        for logprob, option in zip(sample.logprobs, sample.choices, strict=True)
    ]
    best = scores.index(max(scores))
    expected = best == sample.right and not document.doc.get("tie")
    near = sorted(scores)[-1] - sorted(scores)[-2] < 1e-9
    if value not in (0.0, 1.0) or (bool(value) != expected and not near):
        message = f"{metric} is {value:g}, but the option with the highest score is number {best}, of {document.number}"
        raise InputError(message, file=path, place=document.place)
