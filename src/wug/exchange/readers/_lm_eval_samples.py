"""Samples of lm-eval, read line by line: the choice of each document, checked against its metrics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
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


def read_samples(path: Path, suite: ImportedSuite, groups: Mapping[str, str], task: Task) -> None:
    """Add the outcomes of a file to a suite, and compare their means with the values of the results file.

    Args:
        path: The file.
        suite: The suite; its kind is set if the task is not one of a published set.
        groups: The groups of all outcomes.
        task: What the results file says.
    """
    candidates = [candidate for candidate in families_of_samples() if suite.kind in (IMPORTED, candidate.name)]
    if suite.kind == IMPORTED:
        for document in _documents(path, task):
            candidates = [candidate for candidate in candidates if _is_item(candidate, document.sample)]
    family = candidates[0] if candidates else None
    suite.kind = suite.kind if family is None else family.name
    seen: dict[str, set[int]] = defaultdict(set)
    """The numbers of the documents by filter."""
    judgements: dict[str, list[float]] = defaultdict(list)
    ties = 0
    for document in _documents(path, task):
        sample, place, seen_numbers = document.sample, document.place, seen[document.filtered]
        if not _is_item(family, sample):
            kind = "generated text" if family is None else suite.kind
            raise InputError(f"the document is not an item of {kind}, as others of its task", file=path, place=place)
        if document.number in seen_numbers:
            raise InputError(f"document {document.number} is there twice", file=path, place=place)
        seen_numbers.add(document.number)
        ties += sample.tied and not document.doc.get("tie")
        for outcome, judged in _outcomes(document, family, groups, task):
            suite.declare(outcome.metric, share=judged)
            suite.add(outcome)
            if judged:
                judgements[outcome.metric].append(float(outcome.value or 0.0))
    if not seen:
        raise InputError("the file has no samples", file=path)
    for metric, values in judgements.items():
        mean, (expected, _) = fmean(values), task.values.get(metric, (None, None))
        if expected is not None and abs(expected - mean) > 1e-6:
            raise InputError(
                f"{metric} of {task.name} is {mean:.6g} over these samples and {expected:.6g} in the results file: the "
                "files do not belong together, or samples are missing",
                file=path,
            )
    documents = max(map(len, seen.values()))
    if task.n not in (None, documents):
        suite.unsampled += 1
        suite.warnings.append(f"samples of {documents:,} of {task.n:,} items of {task.name}")
    if ties:
        suite.warnings.append(f"{plural(ties, 'item')} of {task.name} tied: lm-eval takes the first of equal options")


def _is_item(family: Family | None, sample: Sample) -> bool:
    """Whether a sample can be an item of a family; None is for generated text."""
    return bool(sample.choices) and is_item_of(family, sample) if family is not None else not sample.choices


def _outcomes(
    document: _Document, family: Family | None, groups: Mapping[str, str], task: Task
) -> Iterator[tuple[Outcome, bool]]:
    """An outcome for each metric, and whether it is a judgement; the first one has the details."""
    sample, doc = document.sample, document.doc
    detail: Mapping[str, Any] = (
        {"source": sample.context, "target": sample.reference[0], "answer": sample.output}
        if family is None
        else family.from_sample(sample)
    )
    own_groups = {name: str(doc[name]) for name in task.metadata.get("wug_groups") or () if name in doc}
    if isinstance(doc.get("item"), str):  # an export of wug
        item = doc["item"]
    elif "paradigm" in groups:
        item = f"{groups['paradigm']}/{doc.get('pairID', doc.get('pair_id', document.number))}"
    else:
        item = str(document.number)
    shares = {*JUDGEMENTS, *(task.metadata.get("wug_judged") or ())}
    for base, value in document.values.items():
        judged = value in (0.0, 1.0) and (base in shares or base.partition(":")[0] in JUDGEMENTS)
        metric = metric_name(base, document.filtered)
        yield Outcome(item, metric, bool(value) if judged else value, {**groups, **own_groups}, detail), judged
        detail = {}


def _documents(path: Path, task: Task) -> Iterator[_Document]:
    """The documents of a file, whose metrics agree with the log-probabilities."""
    for place, row in read_object_lines(path):
        number = row.get("doc_id")
        if not isinstance(number, int) or isinstance(number, bool):
            raise InputError(f"doc_id is {shortened(repr(number))}, not a whole number", file=path, place=place)
        doc = row["doc"] if isinstance(row.get("doc"), dict) else {}
        names = row.get("metrics")
        names = names if isinstance(names, list) else [name for name in JUDGEMENTS if name in row]
        values = {
            str(name): require_number(row.get(name), str(name), path, place)
            for name in names
            if not isinstance(row.get(name), list | dict)
        }
        if not values:
            raise InputError("the document has no metric", file=path, place=place)
        sample = _sample(row, doc, path, place, task.delimiter)
        document = _Document(number, sample, values, str(row.get("filter") or "none"), doc, place)
        for metric, value in values.items():
            if (best := _contradicting_choice(metric, value, document)) is not None:
                what = f"{metric} is {value:g}, but the option with the highest score is number {best}, of {number}"
                raise InputError(what, file=path, place=place)
        yield document


def _sample(row: Json, doc: Json, path: Path, place: str, delimiter: str) -> Sample:
    arguments = list(mapping(row.get("arguments"), "arguments", path, place).values())
    outputs = row.get("filtered_resps")
    if not isinstance(outputs, list) or not arguments or not all(isinstance(argument, dict) for argument in arguments):
        raise InputError("no arguments, or filtered_resps is not a list", file=path, place=place)
    target, contexts = str(row.get("target")), [str(argument.get("arg_0") or "") for argument in arguments]
    if not isinstance(arguments[0].get("arg_1"), str) or len(arguments) == 1:
        output: object = outputs[0] if outputs else ""
        while isinstance(output, list) and output:
            output = output[0]
        return Sample(context=contexts[0], reference=(target,), output=str(output))
    if "acc_mutual_info" in (row.get("metrics") or ()) and len(arguments) % 2 == 0:
        half = len(arguments) // 2
        arguments, contexts, outputs = arguments[:half], contexts[:half], outputs[: len(outputs) // 2]
    if len(arguments) != len(outputs):
        raise InputError(f"{len(arguments)} options and {len(outputs)} responses", file=path, place=place)
    space = " " if delimiter in ("space", "") else ""
    choices = tuple(str(argument.get("arg_1")).removeprefix(space) for argument in arguments)
    if target.isascii() and target.isdigit() and int(target) < len(choices):
        right = int(target)
    elif target in choices:
        right = choices.index(target)
    else:
        what = f"the target {shortened(target)!r} is neither the number of an option nor one of them"
        raise InputError(what, file=path, place=place)
    logprobs = [value for output in outputs if (value := _logprob(output, path, place)) is not None]
    scores, same = doc.get("scores"), len(set(contexts)) == 1
    return Sample(
        context=contexts[0] if same else "",
        contexts=() if same else tuple(contexts),
        choices=choices,
        right=right,
        reference=(choices[right],),
        logprobs=tuple(logprobs) if len(logprobs) == len(choices) else (),
        scores=tuple(scores) if isinstance(scores, list) and len(scores) == len(choices) else (),
    )


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


def _contradicting_choice(metric: str, value: float, document: _Document) -> int | None:
    """The option that the log-probabilities give, if a judgement says otherwise."""
    sample = document.sample
    if metric not in LENGTHS or not sample.logprobs:
        return None
    pairs = zip(sample.logprobs, sample.choices, strict=True)
    scores = sample.scores or [logprob / max(1.0, LENGTHS[metric](option)) for logprob, option in pairs]
    second, first = sorted(scores)[-2:]
    best = scores.index(first)
    expected = best == sample.right and not document.doc.get("tie")
    agrees = value in (0.0, 1.0) and (bool(value) == expected or first - second < 1e-9)
    return None if agrees else best
