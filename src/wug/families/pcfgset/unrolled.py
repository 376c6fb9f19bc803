"""Reading localism files: lines `label<TAB>source<TAB>target` in which `*1` stands for an answer."""

from __future__ import annotations

import re
from pathlib import Path

from wug.errors import InputError
from wug.families.pcfgset.language import Argument, Expression, Step, arity
from wug.families.pcfgset.lines import at, parsed, squeeze, target_fault, text_lines
from wug.families.pcfgset.localism import Sample
from wug.types import Problem

_PLACEHOLDER = re.compile(r"\*(\d{1,9})")


class _Fault(InputError):
    """What is wrong with a line."""


def read_unrolled(path: Path) -> tuple[list[Sample], list[Problem]]:
    """The samples of a localism file, with its faults; faulty samples are left out."""
    lines, problems = text_lines(path)
    reader = _Reader(path)
    for number, line in enumerate(lines, 1):
        try:
            reader.line(number, line)
        except _Fault as fault:
            reader.sound = False
            problems.append(Problem("error", at(path, number), fault.message))
            if reader.answer is not None:  # an `original` line that could not be read
                reader.clear()
        if line.startswith("original"):
            reader.clear()
    if reader.steps and reader.sound:
        message = "no `original` line follows this one, the last of a sample"
        problems.append(Problem("error", at(path, len(lines)), message))
    return reader.samples, problems


class _Reader:
    """The sample being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.samples: list[Sample] = []
        self.count = 0
        self.clear()

    def clear(self) -> None:
        """Begin a new sample."""
        self.steps: list[Step] = []
        self.unused: set[int] = set()
        self.answer: str | None = None
        self.sound = True

    def line(self, number: int, line: str) -> None:
        """Take one line."""
        fields = line.split("\t")
        if len(fields) != 3:
            tabs = f"{len(fields) - 1} tab{'s' if len(fields) != 2 else ''}"
            raise _Fault(f"expected label<TAB>source<TAB>target, found {tabs} in {line[:60]!r}")
        label, source, target = fields[0].strip(), squeeze(fields[1]), squeeze(fields[2])
        if label not in ("unrolled", "original"):
            raise _Fault(f"the label is {label!r}, and must be 'unrolled' or 'original'")
        self.count += label == "original"
        if label == "original" and self.sound:
            self.original(number, source, target)
        elif self.sound:
            self.unrolled(source, target)
        # After a first fault the rest of a sample would only give faults that follow from it.

    def unrolled(self, source: str, target: str) -> None:
        """Take a step."""
        if self.answer is not None:
            self.answer = None
            raise _Fault("an `original` line is missing before this one: the step before has its target")
        self.steps.append(self.step(source))
        number = len(self.steps)
        match = _PLACEHOLDER.fullmatch(target)
        if not match:
            if "*" in target:
                raise _Fault(f"the target {target!r} mixes an answer with symbols")
            self.answer = target
            return
        self.unused.add(number - 1)
        if int(match[1]) != number:
            raise _Fault(f"the target of step {number} is {target}, and must be *{number}")

    def step(self, source: str) -> Step:
        """The function of a step with its arguments."""
        function, *rest = source.split() or [""]
        if arity(function) is None:
            raise _Fault(f"a step begins with a function, and {function!r} is none: {source}")
        arguments: list[Argument] = []
        for part in " ".join(rest).split(","):
            words = part.split()
            used = [int(match[1]) - 1 for word in words if (match := _PLACEHOLDER.fullmatch(word))]
            for place in used:
                if not 0 <= place < len(self.steps):
                    raise _Fault(f"'*{place + 1}' is used before it is defined: {source}")
                if place not in self.unused:
                    raise _Fault(f"'*{place + 1}' is used a second time: {source}")
                self.unused.discard(place)
            if used and len(words) > 1:
                raise _Fault(f"'*{used[0] + 1}' stands among other words, and must be an argument by itself: {source}")
            if any(arity(word) for word in words):
                raise _Fault(f"a step has one function: {source}")
            arguments.append(used[0] if used else tuple(words))
        if len(arguments) != arity(function) or () in arguments:
            raise _Fault(f"{function!r} takes {arity(function)} argument(s): {source}")
        return Step(function, tuple(arguments))

    def original(self, number: int, source: str, target: str) -> None:
        """Take the whole source and close the sample."""
        if not self.steps:
            raise _Fault("an `original` line without `unrolled` lines before it")
        if self.answer is None:
            raise _Fault("the `unrolled` line before this one must have the target, not a placeholder")
        if self.unused:
            raise _Fault(f"'*{min(self.unused) + 1}' is never used in this sample")
        whole, fault = parsed(source, self.path, number), target_fault(target, self.path, number)
        if isinstance(whole, Problem):
            raise _Fault(whole.message)
        if fault:
            raise _Fault(fault.message)
        if self.answer != target:
            raise _Fault(f"the target is {target}, that of the last step {self.answer}")
        if self.whole() != source:
            raise _Fault(f"the steps make up another source\n    steps {self.whole()}\n    whole {source}")
        self.samples.append(
            Sample(str(self.count), Expression(whole.words, tuple(self.steps), len(self.steps) - 1), target)
        )

    def whole(self) -> str:
        """The source that the steps make up."""
        texts: list[str] = []
        for step in self.steps:
            parts = [texts[part] if isinstance(part, int) else " ".join(part) for part in step.arguments]
            texts.append(f"{step.function} {' , '.join(parts)}")
        return texts[-1]
