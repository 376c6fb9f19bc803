"""Localism: whether a source gets the same answer as a whole and step by step.

Step by step means that a function is asked about with the model's own answers as its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from wug.errors import InputError
from wug.families.pcfgset.language import Expression, SourceFault, Symbols, apply, parse
from wug.families.pcfgset.layout import name_of_answers
from wug.families.pcfgset.lines import squeeze
from wug.families.pcfgset.predictions import Traced, read_trace
from wug.families.pcfgset.suite import STOPPED, Answered, Ask, PcfgSuite, PcfgTest, bounded, empty_answers
from wug.files import checksum
from wug.types import Check, Notice, Outcome, Row, Source

CHECKS = (
    Check("consistency", meaning="the last step's answer and the answer to the whole source are equal"),
    Check("unrolled_accuracy", meaning="the last step's answer is the target"),
    Check("original_accuracy", meaning="the answer to the whole source is the target"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A source, as the steps in which it is asked."""

    item: str
    expression: Expression
    """Its steps in the order of the file; the last one is the whole."""
    target: str

    @property
    def source(self) -> str:
        """The whole source."""
        return " ".join(self.expression.words)

    @property
    def groups(self) -> Mapping[str, str]:
        """What results are broken down by."""
        found = self.expression
        longest = max((len(result) for result in found.results()[:-1]), default=0)
        return {
            "function": found.outermost or "none",
            "depth": str(found.depth),
            "length": str(found.length),
            "functions": str(found.functions),
            "steps": str(found.functions),
            "longest": str(longest),
            "intermediate": _length(longest),
        }


def localism_suite(name: str, samples: Sequence[Sample], notices: tuple[str, ...] = ()) -> PcfgSuite[Sample]:
    """Sources in unrolled form.

    A sample's number is its place in the order of the sources, not in that of the file: published traces have the
    same samples in orders of their own, and a sample must be called the same in all of them.
    """
    order = sorted(range(len(samples)), key=lambda place: _content(samples[place]))
    numbers = {place: str(number) for number, place in enumerate(order, 1)}
    named = tuple(replace(sample, item=numbers[place]) for place, sample in enumerate(samples))
    content = (_content(samples[place]) for place in order)
    return PcfgSuite(name, LOCALISM, named, checksum("localism", *content), notices, STOPPED)


def judge(samples: Sequence[Sample], steps: Sequence[Sequence[str]], wholes: Sequence[str]) -> Iterator[Row]:
    """Whether the last of each sample's `steps` and the answer to its whole are equal, and right."""
    yield from empty_answers([*wholes, *(answer for answers in steps for answer in answers)])
    for sample, answers, whole in zip(samples, steps, wholes, strict=True):
        last = answers[-1]
        # As the released script has it ("sequences containing strings > 5"): what the model answered, right or wrong.
        groups = {**sample.groups, "strings": _length(max((len(a.split()) for a in answers[:-1]), default=0))}
        yield Outcome(sample.item, "consistency", last == whole, groups, detail(sample, answers, whole))
        yield Outcome(sample.item, "unrolled_accuracy", last == sample.target, groups)
        yield Outcome(sample.item, "original_accuracy", whole == sample.target, groups)


def answered_steps(predictions: Path) -> Answered:
    """The judgements on a trace of questions and answers, and their test."""
    samples, steps, wholes = [], [], []
    strayed = verdicts = 0
    for number, traced in enumerate(read_trace(predictions), 1):
        sample = _sample(traced, str(number), predictions)
        answers = [answer for _, answer in traced.asked]
        wanted = [asked(sample.expression, step, answers) for step in range(len(answers))]
        strayed += wanted != [source for source, _ in traced.asked]
        verdicts += traced.verdict not in (None, answers[-1] == traced.answer)
        samples.append(sample)
        steps.append(answers)
        wholes.append(traced.answer)
    notices: list[Row] = []
    if strayed:
        notices.append(Notice(f"in {strayed:,} samples a step was not asked with the answers of the steps before it"))
    if verdicts:
        notices.append(Notice(f"in {verdicts:,} samples the trace calls consistent what is not, or the reverse"))
    suite = replace(localism_suite(name_of_answers(predictions, "localism"), samples), options={})
    return Answered(suite, chain(notices, judge(suite.items, steps, wholes)))


def asked(expression: Expression, step: int, answers: Sequence[str]) -> str:
    """The source of a step, with earlier answers in the place of its arguments."""
    found = expression.steps[step]
    parts = [answers[part] if isinstance(part, int) else " ".join(part) for part in found.arguments]
    return squeeze(f"{found.function} {' , '.join(parts)}")


def detail(sample: Sample, answers: Sequence[str], whole: str) -> Mapping[str, Any]:
    """The tree of a sample's answers as JSON-able data.

    For each step: the source asked, its `inputs` (a string, or the number of an earlier step), the
    answer, the `right` answer to just these inputs, and whether it `diverges`: is wrong, while every
    step below it is right.
    """
    strings: list[Symbols] = [tuple(answer.split()) for answer in answers]
    sound: list[bool] = []
    rows = []
    for number, step in enumerate(sample.expression.steps):
        inputs = [strings[part] if isinstance(part, int) else part for part in step.arguments]
        right = " ".join(apply(step.function, inputs))
        below = all(sound[part] for part in step.arguments if isinstance(part, int))
        sound.append(below and right == answers[number])
        row = {
            "source": asked(sample.expression, number, answers),
            "inputs": [part if isinstance(part, int) else " ".join(part) for part in step.arguments],
            "answer": answers[number],
            "right": right,
            "diverges": below and right != answers[number],
        }
        rows.append(row)
    return {"source": sample.source, "target": sample.target, "answer": whole, "steps": rows}


def _content(sample: Sample) -> str:
    return f"{sample.source}\t{sample.target}"


def _length(symbols: int) -> str:
    """Whether a string is longer than any that the language starts from."""
    return "up to 5" if symbols <= 5 else "over 5"


def _sample(traced: Traced, item: str, path: Path) -> Sample:
    place = f"line {traced.number + len(traced.asked)}"
    try:
        expression = parse(traced.source)
    except SourceFault as fault:
        raise InputError(fault.args[0], file=path, place=place) from None
    if len(expression.steps) != len(traced.asked):
        message = f"{len(traced.asked)} steps for a source of {len(expression.steps)} functions: {traced.source}"
        raise InputError(message, file=path, place=place)
    return Sample(item, expression, " ".join(expression.meaning()))


def _sources(samples: Sequence[Sample]) -> list[str | Source]:
    """The whole sources, and the steps that have plain strings only."""
    first = _levels(samples)[0] if samples else []
    wholes = [bounded(sample.source, sample.target) for sample in samples]
    return [*wholes, *(_question(samples[n], step, []) for n, step in first)]


def _question(sample: Sample, step: int, answers: Sequence[str]) -> str | Source:
    """A step's source; what is written for the last one goes into no other, and may be stopped as the whole's may."""
    source = asked(sample.expression, step, answers)
    return bounded(source, sample.target) if step == len(sample.expression.steps) - 1 else source


def _by_level(samples: Sequence[Sample], ask: Ask) -> Iterator[Row]:
    """Ask level by level, whole sources in the first, and compare."""
    found = ask(_sources(samples))
    wholes, found = found[: len(samples)], found[len(samples) :]
    steps = [[""] * len(sample.expression.steps) for sample in samples]
    for level, places in enumerate(_levels(samples)):
        if level:
            found = ask([_question(samples[n], step, steps[n]) for n, step in places])
        for (n, step), answer in zip(places, found, strict=True):
            steps[n][step] = answer
    _complete(samples, steps, wholes, ask)
    yield from judge(samples, steps, wholes)


def _complete(samples: Sequence[Sample], steps: Sequence[list[str]], wholes: list[str], ask: Ask) -> None:
    """Ask anew, to their ends, where both answers were stopped: what follows says whether they are equal.

    Where one of them was, they are not, and neither is it the target: it is longer.
    """
    both = [n for n, sample in enumerate(samples) if _stopped(sample, wholes[n]) and _stopped(sample, steps[n][-1])]
    whole = ask([samples[n].source for n in both])
    last = ask([asked(samples[n].expression, len(steps[n]) - 1, steps[n]) for n in both])
    for n, *answers in zip(both, whole, last, strict=True):
        wholes[n], steps[n][-1] = answers


def _stopped(sample: Sample, answer: str) -> bool:
    """Whether an answer may be only the beginning of what the model would write."""
    return len(answer.split()) > bounded(sample.source, sample.target).most


def _levels(samples: Sequence[Sample]) -> list[list[tuple[int, int]]]:
    """Sample and step of what can be asked at once, when all earlier levels are answered."""
    levels: list[list[tuple[int, int]]] = []
    for n, sample in enumerate(samples):
        for step, depth in enumerate(sample.expression.depths):
            levels += [[] for _ in range(depth - len(levels))]
            levels[depth - 1].append((n, step))
    return levels


def _outermost(sample: Sample) -> tuple[str, ...]:
    return (sample.expression.outermost or "none",)


LOCALISM = PcfgTest("localism", CHECKS, _sources, _by_level, _outermost)
