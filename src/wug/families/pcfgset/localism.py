"""Localism: is the output for a source the same as a whole and step by step?

Step by step means that each function is applied to the model's own outputs for its arguments. Localism files have
lines `label<TAB>source<TAB>target`, in which `*1` refers to the output of the first step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError
from wug.families import suite as common
from wug.families.pcfgset.files import name_of_answers, source_error, target_error
from wug.families.pcfgset.language import Argument, Expression, FunctionStep, Symbols, apply, arity, parse
from wug.families.pcfgset.suite import PcfgSuite
from wug.families.predictions import at, content_lines, squeeze, text_lines
from wug.files import checksum
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput
from wug.problems import ProblemList
from wug.requests import Source

_DASHES = re.compile(r"-{5,}")
_ARROW = re.compile(r" ->(?: |$)")
_PLACEHOLDER = re.compile(r"\*(\d{1,9})")


class TracedSample(NamedTuple):
    """A sample of a localism trace: the steps, then the whole source."""

    number: int
    steps: tuple[tuple[str, str], ...]
    source: str
    answer: str
    verdict: bool | None


class UnrolledSource(NamedTuple):
    """A source, as the steps in which it is computed."""

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
        """The groups of its outcomes."""
        longest = max((len(result) for result in self.expression.results()[:-1]), default=0)
        return {
            **self.expression.groups,
            "steps": str(self.expression.functions),
            "longest": str(longest),
            "intermediate": _length_class(longest),
        }

    def step_source(self, step: int, answers: Sequence[str]) -> str:
        """The source of a step, with earlier outputs as its arguments."""
        operation = self.expression.steps[step]
        parts = [answers[part] if isinstance(part, int) else " ".join(part) for part in operation.arguments]
        return squeeze(f"{operation.function} {' , '.join(parts)}")

    def step_request(self, step: int, answers: Sequence[str]) -> str | Source:
        """The request of a step; the output of the last one is not an argument, so it may be cut off."""
        source = self.step_source(step, answers)
        return common.bounded(source, self.target) if step == len(self.expression.steps) - 1 else source

    def may_be_cut_off(self, answer: str) -> bool:
        """Whether an output may be only the beginning of what the model would generate."""
        return len(answer.split()) > common.bounded(self.source, self.target).max_words


class LocalismSuite(PcfgSuite[UnrolledSource]):
    """Sources in unrolled form."""

    __slots__ = ()
    metrics = (
        Metric("consistency", meaning="the output of the last step equals the output for the whole source"),
        Metric("unrolled_accuracy", meaning="the output of the last step is the target"),
        Metric("original_accuracy", meaning="the output for the whole source is the target"),
    )

    def requests(self) -> list[str | Source]:
        """The whole sources, and the steps that only have plain strings."""
        first = _levels(self.items)[0] if self.items else []
        wholes = [common.bounded(sample.source, sample.target) for sample in self.items]
        return [*wholes, *(self.items[n].step_request(step, []) for n, step in first)]

    def outcomes(self, generate: common.Generate) -> Iterator[SuiteOutput]:
        """Generate level by level, whole sources with the first, and compare."""
        samples = self.items
        outputs = generate(self.requests())
        wholes, outputs = outputs[: len(samples)], outputs[len(samples) :]
        steps = [[""] * len(sample.expression.steps) for sample in samples]
        for level, positions in enumerate(_levels(samples)):
            if level:
                outputs = generate([samples[n].step_request(step, steps[n]) for n, step in positions])
            for (n, step), answer in zip(positions, outputs, strict=True):
                steps[n][step] = answer
        self._complete(steps, wholes, generate)
        yield from self.compare(steps, wholes)

    def compare(self, steps: Sequence[Sequence[str]], wholes: Sequence[str]) -> Iterator[SuiteOutput]:
        """Whether the output of each sample's last step and that of its whole are equal, and right."""
        yield from common.warn_if_empty([*wholes, *(answer for answers in steps for answer in answers)])
        for sample, answers, whole_answer in zip(self.items, steps, wholes, strict=True):
            last = answers[-1]
            # As in the released script ("sequences containing strings > 5"): the model's outputs, right or wrong.
            longest = max((len(a.split()) for a in answers[:-1]), default=0)
            groups = {**sample.groups, "strings": _length_class(longest)}
            yield Outcome(
                sample.item, "consistency", last == whole_answer, groups, _detail(sample, answers, whole_answer)
            )
            yield Outcome(sample.item, "unrolled_accuracy", last == sample.target, groups)
            yield Outcome(sample.item, "original_accuracy", whole_answer == sample.target, groups)

    def strata(self) -> list[tuple[str, ...]]:
        """The outermost function."""
        return [(sample.expression.outermost or "none",) for sample in self.items]

    def _complete(self, steps: Sequence[list[str]], wholes: list[str], generate: common.Generate) -> None:
        """Generate again without a bound if both outputs were cut off, to see whether they are equal.

        If only one was, they are not equal, and it is not the target, since it is longer.
        """
        outputs = zip(self.items, wholes, steps, strict=True)
        cut_off = [
            s.may_be_cut_off(whole_answer) and s.may_be_cut_off(answers[-1]) for s, whole_answer, answers in outputs
        ]
        both = [n for n, is_cut_off in enumerate(cut_off) if is_cut_off]
        whole_outputs = generate([self.items[n].source for n in both])
        last_outputs = generate([self.items[n].step_source(len(steps[n]) - 1, steps[n]) for n in both])
        for n, *answers in zip(both, whole_outputs, last_outputs, strict=True):
            wholes[n], steps[n][-1] = answers


def localism_suite(name: str, samples: Sequence[UnrolledSource]) -> LocalismSuite:
    """A suite of unrolled sources.

    A sample's number is its rank among the sorted sources, not its position in the file: published traces have the
    same samples in different orders, and a sample must have the same number in all of them.
    """
    content = [f"{sample.source}\t{sample.target}" for sample in samples]
    order = sorted(range(len(samples)), key=content.__getitem__)
    numbers = {n: str(number) for number, n in enumerate(order, 1)}
    numbered = tuple(sample._replace(item=numbers[n]) for n, sample in enumerate(samples))
    digest = checksum("localism", *(content[n] for n in order))
    return LocalismSuite(name, numbered, digest, settings=common.MAX_WORDS_OPTION, subtest="localism")


def score_trace(predictions: Path) -> common.ScoredAnswers:
    """Score a trace of sources and outputs."""
    samples, steps, wholes = [], [], []
    mismatched = verdicts = 0
    for number, traced in enumerate(read_trace(predictions), 1):
        sample = _traced_source(traced, str(number), predictions)
        answers = [answer for _, answer in traced.steps]
        expected = [sample.step_source(step, answers) for step in range(len(answers))]
        mismatched += expected != [source for source, _ in traced.steps]
        verdicts += traced.verdict not in (None, answers[-1] == traced.answer)
        samples.append(sample)
        steps.append(answers)
        wholes.append(traced.answer)
    warnings: list[SuiteOutput] = []
    if mismatched:
        warnings.append(Notice(f"in {mismatched:,} samples a step does not have the answers of the steps before it"))
    if verdicts:
        warnings.append(Notice(f"in {verdicts:,} samples the trace itself is wrong about consistency"))
    suite = replace(localism_suite(name_of_answers(predictions, "localism"), samples), settings={})
    return common.ScoredAnswers(suite, chain(warnings, suite.compare(steps, wholes)))


def is_trace(lines: Sequence[str]) -> bool:
    """Whether the first nonempty line consists of dashes, as in a localism trace."""
    first = next((line for line in lines if line.strip()), "")
    return _DASHES.fullmatch(first.strip()) is not None


def read_trace(path: Path) -> list[TracedSample]:
    """The samples of a localism trace."""
    samples: list[TracedSample] = []
    block: list[tuple[int, str]] = []
    lines = [*enumerate(content_lines(path), 1)]
    if not is_trace([line for _, line in lines]):
        raise InputError("a localism trace begins with a line of dashes", file=path, place="line 1")
    for number, line in [*lines, (len(lines) + 1, "-----")]:
        if not _DASHES.fullmatch(line.strip()):
            if line.strip():
                block.append((number, line))
        elif block:
            samples.append(_traced(block, path))
            block = []
    if not samples:
        raise InputError("the trace has no samples", file=path)
    return samples


def read_unrolled(path: Path) -> tuple[list[UnrolledSource], ProblemList]:
    """The samples of a localism file, with its problems; samples with errors are left out."""
    lines, problems = text_lines(path)
    samples: list[UnrolledSource] = []
    block: list[tuple[int, str]] = []
    count = 0
    for number, line in enumerate(lines, 1):
        block.append((number, line))
        if line.startswith("original") or number == len(lines):
            count += 1
            try:
                samples.append(_sample(block, str(count), path))
            except InputError as error:
                problems.error(error.place or "", error.message)
            block = []
    return samples, problems


def _sample(block: Sequence[tuple[int, str]], item: str, path: Path) -> UnrolledSource:
    """The sample of `unrolled` lines and one `original` line; InputError at the first that is wrong."""
    steps: list[FunctionStep] = []
    texts: list[str] = []
    unused: set[int] = set()
    source = target = before = ""
    for count, (number, line) in enumerate(block, 1):
        place, label = at(path, number), "original" if count == len(block) else "unrolled"
        fields = [squeeze(text) for text in line.split("\t")]
        if len(fields) != 3 or fields[0] != label:
            raise InputError(f"expected {label}<TAB>source<TAB>target, found {line[:60]!r}", place=place)
        before, source, target = target, *fields[1:]
        if label == "original":
            break
        if (step := _step(source, unused)) is None:
            known = "strings, or placeholders of earlier steps that are not used yet"
            raise InputError(f"a step is a function with its arguments, {known}: {source}", place=place)
        if count < len(block) - 1 and target != f"*{count}":
            raise InputError(f"the target of step {count} of {len(block) - 1} is {target}, not *{count}", place=place)
        parts = [texts[part] if isinstance(part, int) else " ".join(part) for part in step.arguments]
        texts.append(f"{step.function} {' , '.join(parts)}")
        steps.append(step)
        unused.add(count - 1)
    try:
        expression = parse(source)
        expression.meaning()
    except InputError as refused:
        raise InputError(source_error(refused, path, number).message, place=place) from None
    if (error := target_error(target, path, number)) is not None:
        raise InputError(error.message, place=place)
    if texts[-1:] != [source] or len(unused) > 1:
        unrolled = texts[-1] if texts else "there are none"
        raise InputError(f"the steps do not make up this source\n    steps {unrolled}\n    whole {source}", place=place)
    if target != before:
        raise InputError(f"the target is {target}, but that of the last step is {before}", place=place)
    return UnrolledSource(item, Expression(expression.words, tuple(steps), len(steps) - 1), target)


def _step(source: str, unused: set[int]) -> FunctionStep | None:
    """A step, which uses up its placeholders; None if it is not one."""
    function, *rest = source.split() or [""]
    arguments: list[Argument] = []
    for part in " ".join(rest).split(","):
        words = tuple(part.split())
        match = _PLACEHOLDER.fullmatch(words[0]) if len(words) == 1 else None
        if match is not None and int(match[1]) - 1 in unused:
            unused.discard(int(match[1]) - 1)
            arguments.append(int(match[1]) - 1)
        elif words and not any(arity(word) or "*" in word for word in words):
            arguments.append(words)
        else:
            return None
    return FunctionStep(function, tuple(arguments)) if len(arguments) == arity(function) else None


def _detail(sample: UnrolledSource, answers: Sequence[str], whole_answer: str) -> Mapping[str, Any]:
    """The tree of a sample's outputs as JSON data.

    For each step: its source, its `inputs` (a string, or the number of an earlier step), the output, the `right`
    output for these inputs, and whether it `diverges`: is wrong, while every step below it is right.
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
            "source": sample.step_source(number, answers),
            "inputs": [part if isinstance(part, int) else " ".join(part) for part in step.arguments],
            "answer": answers[number],
            "right": right,
            "diverges": below and right != answers[number],
        }
        rows.append(row)
    return {"source": sample.source, "target": sample.target, "answer": whole_answer, "steps": rows}


def _length_class(symbols: int) -> str:
    """Whether a string is longer than the plain strings of the language."""
    return "up to 5" if symbols <= 5 else "over 5"


def _traced_source(traced: TracedSample, item: str, path: Path) -> UnrolledSource:
    place = f"line {traced.number + len(traced.steps)}"
    expression = parse(traced.source, file=path, place=place)
    if len(expression.steps) != len(traced.steps):
        message = f"{len(traced.steps)} steps for a source with {len(expression.steps)} functions: {traced.source}"
        raise InputError(message, file=path, place=place)
    return UnrolledSource(item, expression, " ".join(expression.meaning()))


def _levels(samples: Sequence[UnrolledSource]) -> list[list[tuple[int, int]]]:
    """Sample and step of what can be generated together, when all earlier levels are done."""
    levels: list[list[tuple[int, int]]] = []
    for n, sample in enumerate(samples):
        for step, depth in enumerate(sample.expression.depths):
            levels += [[] for _ in range(depth - len(levels))]
            levels[depth - 1].append((n, step))
    return levels


def _traced(block: list[tuple[int, str]], path: Path) -> TracedSample:
    start = block[0][0]
    verdict: bool | None = None
    verdicts: Mapping[str, bool] = {"True": True, "False": False}
    if block[-1][1].strip() in verdicts:
        verdict = verdicts[block[-1][1].strip()]
        block = block[:-1]
    steps: list[tuple[str, str]] = []
    for number, line in block:
        parts = _ARROW.split(line, maxsplit=1)
        if len(parts) != 2:
            raise InputError(f"expected `source -> answer`, found {line[:60]!r}", file=path, place=f"line {number}")
        steps.append((squeeze(parts[0]), "" if parts[1].strip() == "[]" else squeeze(parts[1])))
    if len(steps) < 2:
        raise InputError("a sample needs at least one step and the whole source", file=path, place=f"line {start}")
    source, answer = steps.pop()
    return TracedSample(start, tuple(steps), source, answer, verdict)
