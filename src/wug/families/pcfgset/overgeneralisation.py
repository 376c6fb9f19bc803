"""Overgeneralisation: whether exceptions seen in training are read by the rules or as exceptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.families.pcfgset.language import exceptional, exceptions, meaning
from wug.families.pcfgset.layout import name_of_answers, ratio_name, stem
from wug.families.pcfgset.lines import Line, at, read_pair, refuse
from wug.families.pcfgset.plain import answers_to
from wug.families.pcfgset.predictions import Epoch, read_log
from wug.families.pcfgset.suite import Answered, Ask, PcfgSuite, PcfgTest, empty_answers
from wug.files import checksum
from wug.types import Check, Estimate, Outcome, Problem, Row

CHECKS = (
    Check(
        "overgeneralisation_peak",
        meaning="the highest share of exceptions read by the rules in any epoch",
        better="neither",
    ),
    Check("overgeneralisation", meaning="the answer to an exception follows the rules", better="neither"),
    Check("memorisation", meaning="the answer to an exception is the exceptional one"),
    Check("peak_epoch", meaning="the first epoch with that share", unit="count", better="neither"),
    Check("memorisation_final", meaning="the share of exceptions read as exceptions in the last epoch"),
    Check("memorisation_max", meaning="the highest share of exceptions read as exceptions in any epoch"),
)


@dataclass(frozen=True, slots=True)
class Exceptional:
    """A line with its target by the rules, and its target as an exception."""

    line: Line
    exception: str
    pair: str


def overgeneralisation_suite(
    name: str, items: Sequence[Exceptional], notices: tuple[str, ...] = ()
) -> PcfgSuite[Exceptional]:
    """Sources with two targets each."""
    content = (f"{item.line.source}\t{item.line.target}\t{item.exception}" for item in items)
    return PcfgSuite(name, OVERGENERALISATION, tuple(items), checksum("overgeneralisation", *content), notices)


def profile_suite(name: str, epochs: Sequence[Epoch]) -> PcfgSuite[Epoch]:
    """A log of epochs as a test: its answers are in it, and no model is asked.

    The checksum covers which epochs there are; a log does not say what was asked in them.
    """
    return PcfgSuite(name, PROFILE, tuple(epochs), checksum("profile", *(str(epoch.number) for epoch in epochs)))


def judge(items: Sequence[Exceptional], answers: Sequence[str]) -> Iterator[Row]:
    """Which of its two targets each answer is, if any; the paper looks at the group `functions=2`."""
    yield from empty_answers(answers)
    for item, answer in zip(items, answers, strict=True):
        groups = {**item.line.groups, "pair": item.pair}
        targets = {"original": item.line.target, "exception": item.exception}
        detail = {"source": item.line.source, **targets, "answer": answer}
        yield Outcome(item.line.item, "overgeneralisation", answer == item.line.target, groups, detail)
        yield Outcome(item.line.item, "memorisation", answer == item.exception, groups)


def answered_exceptions(predictions: Path, gold: Path | None = None) -> Answered:
    """The profile of a log of epochs or, with `gold`, the judgements on the answers of one model; and their test.

    `gold` is the `…_exception.src` file, beside which the `…_original` files stand.
    """
    if gold is None:
        epochs = read_log(predictions)
        suite = profile_suite(name_of_answers(predictions, "overgeneralisation"), epochs)
        return Answered(suite, profile(epochs))
    if not stem(gold).endswith("_exception"):
        raise InputError("expected a file called …_exception.src, with the …_original files beside it", file=gold)
    items, problems = read_exceptions(gold)
    refuse(problems, gold)
    answers = answers_to(_sources(items), predictions)
    return Answered(overgeneralisation_suite(ratio_name(stem(gold)), items), judge(items, answers))


def profile(epochs: Sequence[Epoch]) -> Iterator[Estimate]:
    """The course of both shares over the epochs and what the paper reads off it; n is the number of epochs."""
    peak = max(epochs, key=lambda epoch: epoch.overgeneralisation)  # the first, where several are highest
    summary = {
        "overgeneralisation_peak": peak.overgeneralisation,
        "peak_epoch": float(peak.number),
        "memorisation_final": epochs[-1].memorisation,
        "memorisation_max": max(epoch.memorisation for epoch in epochs),
    }
    for check, value in summary.items():
        yield Estimate(check, "all", value, len(epochs))
    for epoch in epochs:
        yield Estimate("overgeneralisation", f"epoch={epoch.number}", epoch.overgeneralisation, 1)
        yield Estimate("memorisation", f"epoch={epoch.number}", epoch.memorisation, 1)


def read_exceptions(source: Path) -> tuple[list[Exceptional], list[Problem]]:
    """The lines of the `…_exception` and `…_original` files, with their faults."""
    original = source.with_name(source.name.replace("_exception.src", "_original.src"))
    lines, problems = read_pair(source)
    others, more = read_pair(original)
    by_number = {line.number: line for line in others}
    problems += more
    items = []
    for line in lines:
        ruled = by_number.get(line.number)
        if ruled is None or ruled.source != line.source:
            message = f"{original.name} does not have this source in the same line"
            problems.append(Problem("error", at(source, line.number), message))
            continue
        readings = {pair: meaning(exceptional(line.source, pair)) for pair in exceptions(line.source)}
        pair = next((pair for pair, reading in readings.items() if reading == line.target), None)
        if pair is None:
            known = "; ".join(f"{pair}: {reading}" for pair, reading in readings.items()) or "it has no such pair"
            message = f"the target {line.target} is no exceptional reading of the source ({known})"
            problems.append(Problem("error", at(source, line.number), message))
            continue
        items.append(Exceptional(ruled, line.target, pair))
    return items, problems


def _sources(items: Sequence[Exceptional]) -> list[str]:
    return [item.line.source for item in items]


def _asked(items: Sequence[Exceptional], ask: Ask) -> Iterator[Row]:
    return judge(items, ask(_sources(items)))


def _levels(item: Exceptional) -> tuple[str, ...]:
    return item.pair, item.line.groups["function"]


def _nothing(epochs: Sequence[Epoch]) -> list[str]:
    return []


def _profiled(epochs: Sequence[Epoch], ask: Ask) -> Iterator[Row]:
    return profile(epochs)


OVERGENERALISATION = PcfgTest("overgeneralisation", CHECKS, _sources, _asked, _levels)
PROFILE = PcfgTest("overgeneralisation", CHECKS, _nothing, _profiled)
