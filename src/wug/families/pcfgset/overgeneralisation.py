"""Overgeneralisation: does the model read the exceptions of its training by the rules or as exceptions?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pcfgset.files import SourceLine, file_name, name_of_answers, ratio_name, read_pair
from wug.families.pcfgset.language import exceptional, exceptions, meaning
from wug.families.pcfgset.suite import PcfgSuite
from wug.families.predictions import answers_to, at
from wug.families.suite import Generate, ScoredAnswers, warn_if_empty
from wug.files import checksum, read_lines
from wug.outcomes import Estimate, Metric, Outcome, SuiteOutput
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import as_number
from wug.requests import Source

_EPOCH = re.compile(r"\s*Epoch:?\s+(\d{1,9})\s*", re.IGNORECASE)
_ACCURACY = re.compile(r"\s*(Adapted|Original)\s*-\s*Sequence Accuracy\s*:?\s*(\S+)\s*", re.IGNORECASE)
METRICS = (
    Metric(
        "overgeneralisation_peak",
        meaning="the highest proportion of exceptions read by the rules in any epoch",
        better="neither",
    ),
    Metric("overgeneralisation", meaning="the output for an exception follows the rules", better="neither"),
    Metric("memorisation", meaning="the output for an exception is the exceptional one"),
    Metric("peak_epoch", meaning="the first epoch with that proportion", unit="count", better="neither"),
    Metric("memorisation_final", meaning="the proportion of exceptions read as exceptions in the last epoch"),
    Metric("memorisation_max", meaning="the highest proportion of exceptions read as exceptions in any epoch"),
)


class Epoch(NamedTuple):
    """The accuracies of one epoch in an overgeneralisation log."""

    number: int
    memorisation: float
    """Share of exceptions read as exceptions (`Adapted`)."""
    overgeneralisation: float
    """Share of exceptions read by the rules (`Original`)."""


class ExceptionLine(NamedTuple):
    """A line with its target by the rules, and its target as an exception."""

    line: SourceLine
    exception: str
    pair: str


class OvergeneralisationSuite(PcfgSuite[ExceptionLine]):
    """Sources with two targets each."""

    __slots__ = ()
    metrics = METRICS

    def requests(self) -> list[str | Source]:
        """The sources."""
        return [item.line.source for item in self.items]

    def score(self, outputs: Sequence[str]) -> Iterator[SuiteOutput]:
        """Which of its two targets each output is, if any; the paper reports the group `functions=2`."""
        yield from warn_if_empty(outputs)
        for item, answer in zip(self.items, outputs, strict=True):
            groups = {**item.line.groups, "pair": item.pair}
            targets = {"original": item.line.target, "exception": item.exception}
            detail = {"source": item.line.source, **targets, "answer": answer}
            yield Outcome(item.line.item, "overgeneralisation", answer == item.line.target, groups, detail)
            yield Outcome(item.line.item, "memorisation", answer == item.exception, groups)

    def strata(self) -> list[tuple[str, ...]]:
        """The pair of functions, and the outermost function."""
        return [(item.pair, item.line.groups["function"]) for item in self.items]


class ProfileSuite(PcfgSuite[Epoch]):
    """A training log with the accuracies of each epoch; it needs no model."""

    __slots__ = ()
    metrics = METRICS

    def outcomes(self, generate: Generate) -> Iterator[SuiteOutput]:
        """Both shares over the epochs, and the summary of the paper; n is the number of epochs."""
        epochs = self.items
        peak = max(epochs, key=lambda epoch: epoch.overgeneralisation)  # the first, if several are highest
        summary = {
            "overgeneralisation_peak": peak.overgeneralisation,
            "peak_epoch": float(peak.number),
            "memorisation_final": epochs[-1].memorisation,
            "memorisation_max": max(epoch.memorisation for epoch in epochs),
        }
        for metric, value in summary.items():
            yield Estimate(metric, "all", value, len(epochs))
        for epoch in epochs:
            yield Estimate("overgeneralisation", f"epoch={epoch.number}", epoch.overgeneralisation, 1)
            yield Estimate("memorisation", f"epoch={epoch.number}", epoch.memorisation, 1)


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


def overgeneralisation_suite(name: str, items: Sequence[ExceptionLine]) -> OvergeneralisationSuite:
    """A suite of exceptions."""
    content = (f"{item.line.source}\t{item.line.target}\t{item.exception}" for item in items)
    suite_checksum = checksum("overgeneralisation", *content)
    return OvergeneralisationSuite(name, tuple(items), suite_checksum, subtest="overgeneralisation")


def score_exceptions(predictions: Path, gold: Path | None = None) -> ScoredAnswers:
    """Score a log of epochs or, with `gold`, the outputs of one model.

    `gold` is the `…_exception.src` file, with the `…_original` files in the same folder.
    """
    if gold is None:
        epochs = read_log(predictions)
        name = name_of_answers(predictions, "overgeneralisation")
        # The checksum covers the epochs; a log does not contain the sources.
        covered = checksum("profile", *(str(epoch.number) for epoch in epochs))
        log = ProfileSuite(name, tuple(epochs), covered, subtest="overgeneralisation")
        return ScoredAnswers(log, log.outcomes(lambda sources: []))
    if not file_name(gold).endswith("_exception"):
        raise InputError("expected a file called …_exception.src, with the …_original files in its folder", file=gold)
    items, problems = read_exceptions(gold)
    refuse_errors(problems, gold)
    suite = overgeneralisation_suite(ratio_name(file_name(gold)), items)
    return ScoredAnswers(suite, suite.score(answers_to([item.line.source for item in items], predictions)))


def read_exceptions(source: Path) -> tuple[list[ExceptionLine], ProblemList]:
    """The lines of the `…_exception` and `…_original` files, with their problems."""
    original = source.with_name(source.name.replace("_exception.src", "_original.src"))
    lines, problems = read_pair(source)
    others, more = read_pair(original)
    by_number = {line.number: line for line in others}
    problems = ProblemList.of(problems, more)
    items = []
    for line in lines:
        by_rules = by_number.get(line.number)
        if by_rules is None or by_rules.source != line.source:
            problems.error(at(source, line.number), f"{original.name} does not have this source in the same line")
            continue
        readings = {pair: meaning(exceptional(line.source, pair)) for pair in exceptions(line.source)}
        pair = next((pair for pair, reading in readings.items() if reading == line.target), None)
        if pair is None:
            known = "; ".join(f"{pair}: {reading}" for pair, reading in readings.items()) or "it has no such pair"
            message = f"the target {line.target} is not an exceptional reading of the source ({known})"
            problems.error(at(source, line.number), message)
            continue
        items.append(ExceptionLine(by_rules, line.target, pair))
    return items, problems
