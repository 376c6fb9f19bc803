"""Suites of PCFG SET, and the tests that compare one output with one target: the task itself and its splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from wug.errors import InputError
from wug.families.pcfgset import files
from wug.families.pcfgset.language import HELD_OUT, pairs, parse
from wug.families.predictions import PredictedRow, answers_to, read_named, squeeze
from wug.families.suite import (
    ENDED_EARLY,
    MAX_WORDS_OPTION,
    GenerationSuite,
    ScoredAnswers,
    bounded,
    ended_early,
    warn_if_empty,
)
from wug.files import checksum
from wug.outcomes import Metric, Outcome, SuiteOutput
from wug.problems import refuse_errors
from wug.requests import Source
from wug.stats import estimate

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PcfgSuite(GenerationSuite[T]):
    """A test with its items."""

    subtest: str = "plain"
    """As results call it: `plain`, `localism`, …"""
    kind = "pcfgset"

    @property
    def meta(self) -> Mapping[str, Any]:
        """The name of the test."""
        return {"subtest": self.subtest}


class PlainSuite(PcfgSuite[files.SourceLine]):
    """Sources with one target each."""

    __slots__ = ()
    metrics = (Metric("accuracy", meaning="the output is the target, symbol for symbol"), *ENDED_EARLY)

    def requests(self) -> list[str | Source]:
        """The sources, each with a bound for its output."""
        return [bounded(line.source, line.target) for line in self.items]

    def score(self, outputs: Sequence[str]) -> Iterator[SuiteOutput]:
        """Whether each output is right and, if not, whether it only ended too early."""
        yield from warn_if_empty(outputs)
        right: defaultdict[str, list[bool]] = defaultdict(list)
        for line, answer in zip(self.items, outputs, strict=True):
            correct = answer == line.target
            detail = {"source": line.source, "target": line.target, "answer": answer}
            yield Outcome(line.item, "accuracy", correct, line.groups, detail)
            if not correct:
                for metric, value in ended_early(answer, line.target).items():
                    yield Outcome(line.item, metric, value, line.groups)
            # A line may have several functions and several held-out pairs.
            for group in {f"contains={step.function}" for step in line.expression.steps} | {
                f"pair={pair}" for pair in _held_out(line)
            }:
                right[group].append(correct)
        for group in sorted(right):
            yield estimate("accuracy", group, right[group])

    def strata(self) -> list[tuple[str, ...]]:
        """The first held-out pair of functions in a line, and its outermost function."""
        return [(next(iter(_held_out(line)), ""), line.groups["function"]) for line in self.items]


def plain_suite(name: str, lines: Sequence[files.SourceLine], *, subtest: str = "plain") -> PlainSuite:
    """A suite of the test `plain`, `per_function` or `increasing_length`."""
    content = (f"{line.source}\t{line.target}" for line in lines)
    return PlainSuite(name, tuple(lines), checksum(subtest, *content), settings=MAX_WORDS_OPTION, subtest=subtest)


def score_plain(predictions: Path, gold: tuple[Path, Path] | None = None) -> ScoredAnswers:
    """Score a table of predictions, or plain outputs for the sources of `gold`.

    `gold` is a `.src` and a `.tgt` file. With it, a table's rows may be in any order. Without it, a table's own
    targets count or, if it has none, the meanings of its sources.
    """
    if gold is None:
        lines, answers = [], []
        for row in read_table(predictions):
            expression = parse(row.source or "", file=predictions, place=f"line {row.number}, source")
            lines.append(files.line_of(expression, row.target, row.number, str(row.number - 1)))
            answers.append(row.prediction)
        name = files.name_of_answers(predictions, "pcfgset")
    else:
        lines, problems = files.read_pair(*gold)
        refuse_errors(problems, gold[0])
        answers = answers_to([line.source for line in lines], predictions)
        name = files.name_in_folder(gold[0])
    suite = replace(plain_suite(name, lines), settings={})
    return ScoredAnswers(suite, suite.score(answers))


def _held_out(line: files.SourceLine) -> list[str]:
    return [pair for pair in pairs(line.expression.words) if pair in HELD_OUT]


def read_table(path: Path) -> list[PredictedRow]:
    """The rows of a table of predictions, all of them with sources."""
    rows = read_named(path)
    if any(row.source is None for row in rows):
        raise InputError("there is no column with the sources", file=path, place="line 1")
    return [row._replace(prediction=squeeze(row.prediction)) for row in rows]
