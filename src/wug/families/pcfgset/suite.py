"""Suites of PCFG SET, and the tests that compare one output with one target: the task itself and its splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

from wug.errors import InputError, ModelError
from wug.families.pcfgset import files
from wug.families.pcfgset.language import HELD_OUT, SourceError, pairs, parse
from wug.families.pcfgset.predictions import answers_to, read_table
from wug.families.predictions import PredictedRow, squeeze
from wug.families.suite import ItemSuite
from wug.files import checksum
from wug.problems import refuse_errors
from wug.stats import estimate
from wug.types import Generator, Metric, Notice, Outcome, Row, Source, Suite, text_of

T = TypeVar("T")
Generate: TypeAlias = Callable[[Sequence[str | Source]], list[str]]
"""Returns one output per source, with single spaces between words."""

MAX_WORDS_OPTION = {"cut": "2n+16"}
"""The option of a test whose outputs may be cut off at this length if the target has n words."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PcfgSuite(ItemSuite[T]):
    """A test with its items."""

    settings: Mapping[str, str] = field(default_factory=dict)
    test: str = "plain"
    """As results call it: `plain`, `localism`, …"""

    metrics: ClassVar[tuple[Metric, ...]]
    kind = "pcfgset"
    needs: ClassVar[Literal["text"]] = "text"

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        return {**self.settings, **self.selection}

    def requests(self) -> list[str | Source]:
        """The sources that do not depend on an output."""
        return []

    def score(self, outputs: Sequence[str]) -> Iterator[Row]:
        """Score one output per request."""
        return iter(())

    def outcomes(self, generate: Generate) -> Iterator[Row]:
        """Generate outputs for the items, as often as it takes, and score them."""
        return self.score(generate(self.requests()))

    @property
    def meta(self) -> Mapping[str, Any]:
        """The name of the test."""
        return {"test": self.test}

    def run(self, model: Generator) -> Iterator[Row]:
        """Generate outputs and score them."""
        yield from map(Notice, self.notices)
        yield from self.outcomes(lambda sources: _generate(model, sources))


class ScoredAnswers(NamedTuple):
    """A test, and the scores of outputs that were computed elsewhere."""

    suite: Suite
    rows: Iterator[Row]


ENDED_EARLY = (
    Metric(
        "eos_contained_in_target",
        meaning="of the wrong outputs: the output is contained in the target, as text",
        better="neither",
    ),
    Metric(
        "eos_strict_prefix",
        meaning="of the wrong outputs: the target begins with the output, which stops too early",
        better="neither",
    ),
    Metric(
        "eos_contiguous_token_sub",
        meaning="of the wrong outputs: the symbols of the output are a contiguous part of the target",
        better="neither",
    ),
)
"""Three ways in which the published study calls a wrong output one that ended too early."""


class PlainSuite(PcfgSuite[files.SourceLine]):
    """Sources with one target each."""

    __slots__ = ()
    metrics = (Metric("accuracy", meaning="the output is the target, symbol for symbol"), *ENDED_EARLY)

    def requests(self) -> list[str | Source]:
        """The sources, each with a bound for its output."""
        return [bounded(line.source, line.target) for line in self.items]

    def score(self, outputs: Sequence[str]) -> Iterator[Row]:
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


def plain_suite(name: str, lines: Sequence[files.SourceLine], *, test: str = "plain") -> PlainSuite:
    """A suite of the test `plain`, `per_function` or `increasing_length`."""
    content = (f"{line.source}\t{line.target}" for line in lines)
    return PlainSuite(name, tuple(lines), checksum(test, *content), settings=MAX_WORDS_OPTION, test=test)


def score_plain(predictions: Path, gold: tuple[Path, Path] | None = None) -> ScoredAnswers:
    """Score a table of predictions, or plain outputs for the sources of `gold`.

    `gold` is a `.src` and a `.tgt` file. With it, a table's rows may be in any order. Without it, a table's own
    targets count or, if it has none, the meanings of its sources.
    """
    if gold is None:
        rows = read_table(predictions)
        lines, answers = [_line(row, predictions) for row in rows], [row.prediction for row in rows]
        name = files.name_of_answers(predictions, "pcfgset")
    else:
        lines, problems = files.read_pair(*gold)
        refuse_errors(problems, gold[0])
        answers = answers_to([line.source for line in lines], predictions)
        name = files.name_beside(gold[0])
    suite = replace(plain_suite(name, lines), settings={})
    return ScoredAnswers(suite, suite.score(answers))


def warn_if_empty(answers: Sequence[str]) -> Iterator[Notice]:
    """A warning if outputs are empty."""
    if empty := sum(not answer for answer in answers):
        yield Notice(f"{empty:,} of {len(answers):,} answers are empty")


def bounded(source: str, target: str) -> Source:
    """A source whose output may be cut off as `MAX_WORDS_OPTION` says."""
    return Source(source, 2 * len(target.split()) + 16)


def _generate(model: Generator, sources: Sequence[str | Source]) -> list[str]:
    if not sources:
        return []
    sent: Any = sources if getattr(model, "bounded", False) else list(map(text_of, sources))
    answers = model.generate(sent)
    if len(answers) != len(sources):
        raise ModelError(f"{model.id} gave {len(answers):,} answers to {len(sources):,} sources")
    return [squeeze(text_of(answer)) for answer in answers]


def _line(row: PredictedRow, path: Path) -> files.SourceLine:
    try:
        return files.line_of(parse(row.source or ""), row.target, row.number, str(row.number - 1))
    except SourceError as error:
        raise InputError(error.args[0], file=path, place=f"line {row.number}, source") from None


def ended_early(answer: str, target: str) -> Mapping[str, bool]:
    """The metrics of ENDED_EARLY for a wrong output."""
    symbols, expected = answer.split(), target.split()
    starts = range(len(expected) - len(symbols) + 1)
    return {
        "eos_contained_in_target": answer in target,  # as text: "A1" is contained in "A12" too
        "eos_strict_prefix": expected[: len(symbols)] == symbols,
        "eos_contiguous_token_sub": any(expected[at : at + len(symbols)] == symbols for at in starts),
    }


def _held_out(line: files.SourceLine) -> list[str]:
    return [pair for pair in pairs(line.expression.words) if pair in HELD_OUT]
