"""Tests that compare one answer with one target: the task itself, systematicity, productivity and more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wug.errors import InputError
from wug.families.pcfgset.language import HELD_OUT, SourceFault, pairs, parse
from wug.families.pcfgset.layout import name_beside, name_of_answers
from wug.families.pcfgset.lines import Line, line_of, read_pair, refuse
from wug.families.pcfgset.predictions import Predicted, aligned, is_table, read_plain, read_table
from wug.families.pcfgset.suite import STOPPED, Answered, Ask, PcfgSuite, PcfgTest, bounded, empty_answers
from wug.files import checksum, read_lines
from wug.stats import estimate
from wug.types import Check, Outcome, Row, Source

CHECKS = (
    Check("accuracy", meaning="the answer is the target, symbol for symbol"),
    Check(
        "eos_contained_in_target",
        meaning="of the wrong answers: the answer stands in the target, as text",
        better="neither",
    ),
    Check(
        "eos_strict_prefix",
        meaning="of the wrong answers: the target begins with the answer, which stops too early",
        better="neither",
    ),
    Check(
        "eos_contiguous_token_sub",
        meaning="of the wrong answers: the symbols of the answer stand together in the target",
        better="neither",
    ),
)


def plain_suite(
    name: str, lines: Sequence[Line], notices: tuple[str, ...] = (), *, test: str = "plain"
) -> PcfgSuite[Line]:
    """Sources with one target each; the test is `plain`, `per_function` or `increasing_length`."""
    content = (f"{line.source}\t{line.target}" for line in lines)
    return PcfgSuite(name, replace(PLAIN, name=test), tuple(lines), checksum(test, *content), notices, STOPPED)


def judge(lines: Sequence[Line], answers: Sequence[str]) -> Iterator[Row]:
    """Whether each answer is right and, where it is not, whether it only ended too early."""
    yield from empty_answers(answers)
    right: defaultdict[str, list[bool]] = defaultdict(list)
    for line, answer in zip(lines, answers, strict=True):
        correct = answer == line.target
        detail = {"source": line.source, "target": line.target, "answer": answer}
        yield Outcome(line.item, "accuracy", correct, line.groups, detail)
        if not correct:
            for check, value in _ended_early(answer, line.target).items():
                yield Outcome(line.item, check, value, line.groups)
        for group in _memberships(line):
            right[group].append(correct)
    for group in sorted(right):
        yield estimate("accuracy", group, right[group])


def answered_plain(predictions: Path, gold: tuple[Path, Path] | None = None) -> Answered:
    """The judgements on a table of predictions, or on plain answers to the sources of `gold`, and their test.

    `gold` is a `.src` and a `.tgt` file. With it, a table's rows may stand in any order. Without
    it, a table's own targets count and, where it has none, the meanings of its sources.
    """
    if gold is None:
        rows = read_table(predictions)
        lines, answers = [_line(row, predictions) for row in rows], [row.prediction for row in rows]
        name = name_of_answers(predictions, "pcfgset")
    else:
        lines, problems = read_pair(*gold)
        refuse(problems, gold[0])
        answers = answers_to([line.source for line in lines], predictions)
        name = name_beside(gold[0])
    return Answered(replace(plain_suite(name, lines), options={}), judge(lines, answers))


def answers_to(sources: Sequence[str], predictions: Path) -> list[str]:
    """The answer of a prediction file to each source: by the source in a table, else by its order."""
    if is_table(read_lines(predictions)):
        return [row.prediction for row in aligned(read_table(predictions), sources, predictions)]
    return read_plain(predictions, len(sources))


def _line(row: Predicted, path: Path) -> Line:
    """A row of a table as a line of the test."""
    try:
        found = parse(row.source)
        target = " ".join(found.meaning()) if row.target is None else row.target
        return line_of(found, target, row.number, str(row.number - 1))
    except SourceFault as fault:
        raise InputError(fault.args[0], file=path, place=f"line {row.number}, source") from None


def _ended_early(answer: str, target: str) -> Mapping[str, bool]:
    """The three ways in which the published study calls a wrong answer one that ended too early."""
    symbols, wanted = answer.split(), target.split()
    starts = range(len(wanted) - len(symbols) + 1)
    return {
        "eos_contained_in_target": answer in target,  # as text: "A1" stands in "A12" too
        "eos_strict_prefix": wanted[: len(symbols)] == symbols,
        "eos_contiguous_token_sub": any(wanted[at : at + len(symbols)] == symbols for at in starts),
    }


def _memberships(line: Line) -> set[str]:
    """The groups of which a line may have several: functions in it, held-out pairs in it."""
    functions = {f"contains={step.function}" for step in line.expression.steps}
    return functions | {f"pair={pair}" for pair in pairs(line.expression.words) if pair in HELD_OUT}


def _sources(lines: Sequence[Line]) -> list[str | Source]:
    return [bounded(line.source, line.target) for line in lines]


def _levels(line: Line) -> tuple[str, ...]:
    """The first pair in it that systematicity keeps out of training, and its outermost function."""
    held_out = (pair for pair in pairs(line.expression.words) if pair in HELD_OUT)
    return next(held_out, ""), line.groups["function"]


def _asked(lines: Sequence[Line], ask: Ask) -> Iterator[Row]:
    return judge(lines, ask(_sources(lines)))


PLAIN = PcfgTest("plain", CHECKS, _sources, _asked, _levels)
