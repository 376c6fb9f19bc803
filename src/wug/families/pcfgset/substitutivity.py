"""Substitutivity: whether a function and its synonym are answered alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.families.pcfgset.language import TWIN, SourceFault, parse
from wug.families.pcfgset.layout import name_beside, name_of_answers
from wug.families.pcfgset.lines import Line, at, line_of, read_pair, refuse
from wug.families.pcfgset.plain import answers_to
from wug.families.pcfgset.predictions import read_table
from wug.families.pcfgset.suite import Answered, Ask, PcfgSuite, PcfgTest, empty_answers
from wug.files import checksum
from wug.types import Check, Outcome, Problem, Row

CHECKS = (
    Check("consistency", meaning="the two answers are equal, two empty ones included"),
    Check("consistency_nonempty", meaning="the two answers are equal and not empty"),
    Check("consistent_correct", meaning="the two answers are equal and right"),
    Check("consistent_incorrect", meaning="the two answers are equal and wrong", better="neither"),
    Check("consistent_incorrect_nonempty", meaning="the two answers are equal, wrong and not empty", better="neither"),
    Check("consistency_among_incorrect", meaning="where either answer is wrong: the two are equal", better="neither"),
    Check(
        "consistency_among_incorrect_nonempty",
        meaning="where either answer is wrong: the two are equal and not empty",
        better="neither",
    ),
    Check("accuracy_original", meaning="the answer with the function is right"),
    Check("accuracy_twin", meaning="the answer with its twin is right"),
)


@dataclass(frozen=True, slots=True)
class Twins:
    """A line, and the same with the twin of one function."""

    line: Line
    twin: str
    function: str


def substitutivity_suite(name: str, pairs: Sequence[Twins], notices: tuple[str, ...] = ()) -> PcfgSuite[Twins]:
    """Sources beside their twins."""
    content = (f"{pair.line.source}\t{pair.twin}\t{pair.line.target}" for pair in pairs)
    return PcfgSuite(name, SUBSTITUTIVITY, tuple(pairs), checksum("substitutivity", *content), notices)


def judge(pairs: Sequence[Twins], answers: Sequence[str], twins: Sequence[str]) -> Iterator[Row]:
    """Whether the two answers of each pair are equal, and right.

    The paper counts two empty answers as consistent (`consistency`), the released script does not
    (`consistency_nonempty`).
    """
    yield from empty_answers([*answers, *twins])
    for pair, first, second in zip(pairs, answers, twins, strict=True):
        target, equal = pair.line.target, first == second
        wrong = first != target or second != target
        nonempty = bool(first)
        values: dict[str, bool | None] = {
            "consistency": equal,
            "consistency_nonempty": equal and nonempty,
            "consistent_correct": not wrong,
            "consistent_incorrect": equal and wrong,
            "consistent_incorrect_nonempty": equal and wrong and nonempty,
            "consistency_among_incorrect": equal if wrong else None,
            "consistency_among_incorrect_nonempty": equal and nonempty if wrong else None,
            "accuracy_original": first == target,
            "accuracy_twin": second == target,
        }
        groups = {**pair.line.groups, "function": pair.function}
        detail = {"source": pair.line.source, "twin": pair.twin, "target": target, "answer": first}
        for check, value in values.items():
            shown = {**detail, "twin_answer": second} if check == "consistency" else {}
            yield Outcome(pair.line.item, check, value, groups, shown)


def answered_twins(predictions: Path, twin: Path, gold: Path | None = None) -> Answered:
    """The judgements on two files of predictions that belong together row by row, and their test.

    Plain answers need `gold`, the `test.src` file beside which `test.tgt` and `test_twin.src` stand.
    """
    if gold is not None:
        pairs, problems = read_twins(gold)
        refuse(problems, gold)
        first = answers_to([pair.line.source for pair in pairs], predictions)
        second = answers_to([pair.twin for pair in pairs], twin)
        suite = substitutivity_suite(name_beside(gold, twinned=True), pairs)
        return Answered(suite, judge(pairs, first, second))
    rows, twins = read_table(predictions), read_table(twin)
    if len(rows) != len(twins):
        message = f"{len(twins):,} rows beside {len(rows):,} in {predictions.name}"
        raise InputError(message, file=twin, place=f"line {min(len(rows), len(twins)) + 2}")
    pairs = []
    for row, other in zip(rows, twins, strict=True):
        pair = _pair(row.source, row.target, other.source, row.number - 1)
        if isinstance(pair, str):
            raise InputError(pair, file=twin, place=f"line {other.number}")
        pairs.append(pair)
    suite = substitutivity_suite(name_of_answers(predictions, "substitutivity"), pairs)
    return Answered(suite, judge(pairs, [row.prediction for row in rows], [row.prediction for row in twins]))


def read_twins(source: Path) -> tuple[list[Twins], list[Problem]]:
    """The pairs of `test.src` and `test_twin.src`, with the faults of both and of their targets."""
    name = source.name.removesuffix(".gz").removesuffix(".src")
    beside = [source.with_name(f"{name}_twin.src"), source.with_name(f"{name}_twin.src.gz")]
    twin = next((path for path in beside if path.exists()), beside[0])
    lines, problems = read_pair(source)
    others, more = read_pair(twin)
    problems += more
    pairs = []
    by_number = {line.number: line for line in others}
    for line in lines:
        other = by_number.pop(line.number, None)
        if other is None:
            if not more:
                problems.append(Problem("error", at(source, line.number), f"{twin.name} has no such line"))
            continue
        found = _pair(line.source, line.target, other.source, line.number)
        if isinstance(found, str):
            problems.append(Problem("error", at(twin, other.number), found))
            continue
        if other.target != line.target:
            message = f"the target is {other.target}, that of the source {line.target}"
            problems.append(Problem("error", at(twin, other.number), message))
        if found.function in found.twin.split():
            message = f"{found.function!r} is its twin in some places only"
            problems.append(Problem("warning", at(twin, other.number), message))
        pairs.append(found)
    for number in by_number if not problems else ():
        problems.append(Problem("error", at(twin, number), f"{source.name} has no such line"))
    return pairs, problems


def _pair(source: str, target: str | None, twin: str, number: int) -> Twins | str:
    """A source with its twin, or why they are not twins."""
    replaced = {word for word in twin.split() if word.endswith(TWIN)}
    if " ".join(word.removesuffix(TWIN) for word in twin.split()) != source:
        return f"this is not the twin of its source\n    source {source}\n    twin   {twin}"
    if len(replaced) != 1:
        return f"{len(replaced)} functions have twins here, and it must be one: {twin}"
    try:
        found = parse(source)
        line = line_of(found, " ".join(found.meaning()) if target is None else target, number)
    except SourceFault as fault:
        return str(fault.args[0])
    return Twins(line, twin, replaced.pop().removesuffix(TWIN))


def _sources(pairs: Sequence[Twins]) -> list[str]:
    return [pair.line.source for pair in pairs] + [pair.twin for pair in pairs]


def _asked(pairs: Sequence[Twins], ask: Ask) -> Iterator[Row]:
    answers = ask(_sources(pairs))
    return judge(pairs, answers[: len(pairs)], answers[len(pairs) :])


def _levels(pair: Twins) -> tuple[str, ...]:
    return (pair.function,)


SUBSTITUTIVITY = PcfgTest("substitutivity", CHECKS, _sources, _asked, _levels)
