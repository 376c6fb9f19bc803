"""Overgeneralisation: does the model read the exceptions of its training by the rules or as exceptions?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pcfgset.files import SourceLine, file_name, name_of_answers, ratio_name, read_pair
from wug.families.pcfgset.language import exceptional, exceptions, meaning
from wug.families.pcfgset.predictions import Epoch, read_log
from wug.families.pcfgset.suite import PcfgSuite
from wug.families.predictions import answers_to, at
from wug.families.suite import Generate, ScoredAnswers, warn_if_empty
from wug.files import checksum
from wug.outcomes import Estimate, Metric, Outcome, SuiteOutput
from wug.problems import ProblemList, refuse_errors
from wug.requests import Source

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
