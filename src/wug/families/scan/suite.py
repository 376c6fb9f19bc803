"""SCAN files (`IN: COMMAND OUT: ACTIONS`, one command per line), and the suite that compares outputs with targets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from wug.errors import FormulaError
from wug.families import suite as common
from wug.families.predictions import PredictedRow, aligned, answers_to, at, squeeze, text_lines
from wug.families.scan.language import ACTIONS, VERBS, ScanCommand, parse
from wug.files import checksum, read_lines
from wug.outcomes import Metric, Outcome, SuiteOutput
from wug.problems import Problem, ProblemList, refuse_errors
from wug.record_tables import stem
from wug.requests import Source
from wug.stats import estimate

_TASK = re.compile(r"IN:(.*?)\sOUT:(.*)")
ORACLE_LENGTH = {"oracle_length": "yes"}


class ScanLine(NamedTuple):
    """A command with its target."""

    number: int
    command: ScanCommand
    target: str
    groups: Mapping[str, str]

    @property
    def source(self) -> str:
        """The command as text."""
        return " ".join(self.command.words)


class ScanSuite(common.GenerationSuite[ScanLine]):
    """Commands with one target each."""

    __slots__ = ()
    kind = "scan"
    metrics = (
        Metric("accuracy", meaning="the output is the target, action for action"),
        Metric(
            "action_accuracy",
            "score",
            meaning="the proportion of right actions, over the positions of the longer of the two",
        ),
        Metric("length_correct", meaning="the output has as many actions as the target"),
        Metric(
            "oracle_length_accuracy",
            headline=False,
            meaning="the output is the target if it is cut or padded to the length of the target",
        ),
        *common.ENDED_EARLY,
    )

    def requests(self) -> list[str | Source]:
        """The commands, each with a bound for its output."""
        return [common.bounded(line.source, line.target) for line in self.items]

    def score(self, outputs: Sequence[str]) -> Iterator[SuiteOutput]:
        """Whether each output is right, how much of it is, and whether it only ended too early."""
        yield from common.warn_if_empty(outputs)
        right: defaultdict[str, list[bool]] = defaultdict(list)
        for line, output in zip(self.items, outputs, strict=True):
            item, groups = str(line.number), line.groups
            correct = output == line.target
            written, target = output.split(), line.target.split()
            detail = {"source": line.source, "target": line.target, "answer": output}
            same = sum(action == expected for action, expected in zip(written, target, strict=False))
            yield Outcome(item, "accuracy", correct, groups, detail)
            yield Outcome(item, "action_accuracy", same / max(len(written), len(target)), groups)
            yield Outcome(item, "length_correct", len(written) == len(target), groups)
            if ORACLE_LENGTH.keys() <= self.settings.keys():
                yield Outcome(item, "oracle_length_accuracy", written[: len(target)] == target, groups)
            if not correct:
                for metric, value in common.ended_early(output, line.target).items():
                    yield Outcome(item, metric, value, groups)
            for verb in {phrase.verb for phrase in line.command.phrases}:  # a command may have two
                right[verb].append(correct)
        for verb in VERBS:
            if right[verb]:
                yield estimate("accuracy", f"primitive={verb}", right[verb])

    def strata(self) -> list[tuple[str, ...]]:
        """The template and the conjunction of a command."""
        return [(line.groups["template"], line.groups["conjunction"]) for line in self.items]


def read_suite(path: Path, *, oracle_length: bool = False) -> ScanSuite:
    """The suite of a file, or one error with every problem."""
    lines, problems = read_tasks(path)
    refuse_errors(problems, path)
    if wrong := wrong_targets(lines, path):
        counts = f"{len(wrong):,} of {len(lines):,} targets are not the actions of their commands"
        problems.warn(wrong[0].place, f"{counts}, the first of them here")
    if path.name.startswith("tasks_test_"):
        name = f"{stem(path).replace('tasks_test_', 'tasks_train_', 1)}.txt"
        if training := next((file for end in ("", ".gz") if (file := path.with_name(name + end)).is_file()), None):
            lines = _seen(lines, training)
    settings = common.MAX_WORDS_OPTION | (ORACLE_LENGTH if oracle_length else {})
    content = (f"{line.source}\t{line.target}" for line in lines)
    notices = tuple(map(str, problems))
    return ScanSuite(suite_name(path), tuple(lines), checksum("scan", *content), notices, settings=settings)


def score_outputs(predictions: Path, gold: Path, *, oracle_length: bool = False) -> common.ScoredAnswers:
    """Score outputs for the commands of a file: plain lines, a table, or lines `IN: … OUT: …`."""
    suite = read_suite(gold)
    suite = replace(suite, settings=ORACLE_LENGTH if oracle_length else {})
    lines = read_lines(predictions)
    sources = [line.source for line in suite.items]
    tasks = [match for line in lines if (match := _TASK.fullmatch(line))]
    if not tasks or len(tasks) < len(lines):
        return common.ScoredAnswers(suite, suite.score(answers_to(sources, predictions)))
    rows = [PredictedRow(n, squeeze(task[2]), squeeze(task[1])) for n, task in enumerate(tasks, 1)]
    outputs = [row.prediction for row in aligned(rows, sources, predictions)]
    return common.ScoredAnswers(suite, suite.score(outputs))


def read_tasks(path: Path) -> tuple[list[ScanLine], ProblemList]:
    """The lines of a file, with its problems; lines with errors are left out."""
    texts, problems = text_lines(path)
    lines: list[ScanLine] = []
    for number, text in enumerate(texts, 1):
        place = at(path, number)
        match = _TASK.fullmatch(text)
        if match is None:
            problems.error(place, f"expected `IN: COMMAND OUT: ACTIONS`, found {text[:60]!r}")
            continue
        target = squeeze(match[2])
        unknown = next((action for action in target.split() if action not in ACTIONS), None)
        try:
            command = parse(match[1])
        except FormulaError as error:
            column = match.start(1) + error.start + 1
            problems.error(f"{place}, column {column}", error.args[0])
            continue
        if unknown or not target:
            message = f"{unknown!r} is not an action. There is: {', '.join(ACTIONS)}" if unknown else "no actions"
            problems.error(place, message)
        else:
            lines.append(ScanLine(number, command, target, command.groups))
    return lines, problems


def wrong_targets(lines: Sequence[ScanLine], path: Path) -> list[Problem]:
    """Errors for targets that are not the actions of their command."""
    message = "the target is not the meaning of the command\n    target {}\n    means  {}"
    meanings = [(line, " ".join(line.command.actions)) for line in lines]
    wrong = [(line, message.format(line.target, meaning)) for line, meaning in meanings if meaning != line.target]
    return [Problem("error", at(path, line.number), text) for line, text in wrong]


def looks_like_tasks(head: str) -> bool:
    """Whether most of the first lines have a command and its actions."""
    lines = [line for line in head.replace("\r\n", "\n").split("\n")[:40] if line.strip()]
    return sum(_TASK.match(line) is not None for line in lines) * 2 > len(lines)


def suite_name(path: Path) -> str:
    """The name of a suite: `scan_length` for `tasks_test_length.txt`."""
    match = re.fullmatch(r"tasks_(train|test)_(.+)", stem(path))
    if not match:
        return stem(path)
    return f"scan_{match[2]}" if match[1] == "test" else f"scan_{match[2]}_train"


def _seen(lines: Sequence[ScanLine], training: Path) -> list[ScanLine]:
    """The lines with what training has of each command: all its `pairs` of words, all its `words`, or `some` words."""
    known: list[list[str]] = [match[1].split() for match in map(_TASK.fullmatch, read_lines(training)) if match]
    words = {word for command in known for word in command}
    pairs = {pair for command in known for pair in pairwise(command)}
    labelled_lines = []
    for line in lines:
        command = line.command.words
        seen = "pairs" if pairs.issuperset(pairwise(command)) else "words"
        seen = seen if words.issuperset(command) else "some"
        labelled_lines.append(line._replace(groups={**line.groups, "seen": seen}))
    return labelled_lines
