"""Substitutivity: is the output invariant if a function is replaced by its synonym?

The published files call the synonym of a function its twin: `repeat_twin` means `repeat`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pcfgset import files
from wug.families.pcfgset.language import TWIN, parse
from wug.families.pcfgset.suite import PcfgSuite, read_table
from wug.families.predictions import answers_to, at
from wug.families.suite import ScoredAnswers, warn_if_empty
from wug.files import checksum
from wug.outcomes import Metric, Outcome, SuiteOutput
from wug.problems import ProblemList, refuse_errors
from wug.requests import Source


class SynonymPair(NamedTuple):
    """A line, and its source with a synonym for one function."""

    line: files.SourceLine
    synonym_source: str
    function: str


class SubstitutivitySuite(PcfgSuite[SynonymPair]):
    """Sources, each with and without a synonym."""

    __slots__ = ()
    metrics = (
        Metric("consistency", meaning="the two outputs are equal, two empty ones included"),
        Metric("consistency_nonempty", meaning="the two outputs are equal and not empty"),
        Metric("consistent_correct", meaning="the two outputs are equal and correct"),
        Metric("consistent_incorrect", meaning="the two outputs are equal and wrong", better="neither"),
        Metric(
            "consistent_incorrect_nonempty", meaning="the two outputs are equal, wrong and not empty", better="neither"
        ),
        Metric("consistency_among_incorrect", meaning="if either output is wrong: the two are equal", better="neither"),
        Metric(
            "consistency_among_incorrect_nonempty",
            meaning="if either output is wrong: the two are equal and not empty",
            better="neither",
        ),
        Metric("accuracy_original", meaning="the output with the function is correct"),
        Metric("accuracy_twin", meaning="the output with its synonym is correct"),
    )

    def requests(self) -> list[str | Source]:
        """All sources, then all sources with synonyms."""
        return [*(pair.line.source for pair in self.items), *(pair.synonym_source for pair in self.items)]

    def score(self, outputs: Sequence[str]) -> Iterator[SuiteOutput]:
        """Whether the two outputs of each pair are equal, and right; those with synonyms come after the others.

        The paper counts two empty outputs as consistent (`consistency`), the released script does not
        (`consistency_nonempty`).
        """
        yield from warn_if_empty(outputs)
        for pair, first, second in zip(self.items, outputs[: len(self)], outputs[len(self) :], strict=True):
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
            sources = {"source": pair.line.source, "twin": pair.synonym_source, "target": target}
            for metric, value in values.items():
                detail = {**sources, "answer": first, "twin_answer": second} if metric == "consistency" else {}
                yield Outcome(pair.line.item, metric, value, groups, detail)

    def strata(self) -> list[tuple[str, ...]]:
        """The function that has a synonym."""
        return [(item.function,) for item in self.items]


def substitutivity_suite(name: str, pairs: Sequence[SynonymPair]) -> SubstitutivitySuite:
    """A suite of pairs."""
    content = (f"{pair.line.source}\t{pair.synonym_source}\t{pair.line.target}" for pair in pairs)
    suite_checksum = checksum("substitutivity", *content)
    return SubstitutivitySuite(name, tuple(pairs), suite_checksum, subtest="substitutivity")


def score_synonyms(predictions: Path, synonym_predictions: Path, gold: Path | None = None) -> ScoredAnswers:
    """Score two files of predictions that correspond row by row.

    Plain outputs need `gold`, the `test.src` file, with `test.tgt` and `test_twin.src` in the same folder.
    """
    if gold is not None:
        pairs, problems = read_synonyms(gold)
        refuse_errors(problems, gold)
        suite = substitutivity_suite(files.name_in_folder(gold, synonyms=True), pairs)
        first = answers_to([pair.line.source for pair in pairs], predictions)
        second = answers_to([pair.synonym_source for pair in pairs], synonym_predictions)
        return ScoredAnswers(suite, suite.score([*first, *second]))
    rows, others = read_table(predictions), read_table(synonym_predictions)
    if len(rows) != len(others):
        message = f"{len(others):,} rows, but {predictions.name} has {len(rows):,}"
        raise InputError(message, file=synonym_predictions, place=f"line {min(len(rows), len(others)) + 2}")
    pairs = []
    for row, other in zip(rows, others, strict=True):
        expression = parse(row.source or "", file=predictions, place=f"line {row.number}")
        line = files.line_of(expression, row.target, row.number - 1)
        pair = _pair(line, other.source or "")
        if isinstance(pair, str):
            raise InputError(pair, file=synonym_predictions, place=f"line {other.number}")
        pairs.append(pair)
    suite = substitutivity_suite(files.name_of_answers(predictions, "substitutivity"), pairs)
    return ScoredAnswers(suite, suite.score([row.prediction for row in (*rows, *others)]))


def read_synonyms(source: Path) -> tuple[list[SynonymPair], ProblemList]:
    """The pairs of `test.src` and `test_twin.src`, with the problems of both and of their targets."""
    twin = files.sibling(source, "_twin.src")
    lines, problems = files.read_pair(source)
    others, more = files.read_pair(twin)
    problems = ProblemList.of(problems, more)
    pairs = []
    by_number = {line.number: line for line in others}
    for line in lines:
        other = by_number.pop(line.number, None)
        if other is None:
            if not more:
                problems.error(at(source, line.number), f"{twin.name} has no such line")
            continue
        pair = _pair(line, other.source)
        if isinstance(pair, str):
            problems.error(at(twin, other.number), pair)
            continue
        if other.target != line.target:
            message = f"the target is {other.target}, but that of the source is {line.target}"
            problems.error(at(twin, other.number), message)
        if pair.function in pair.synonym_source.split():
            message = f"{pair.function!r} is replaced by its synonym in some places only"
            problems.warn(at(twin, other.number), message)
        pairs.append(pair)
    for number in by_number if not problems else ():
        problems.error(at(twin, number), f"{source.name} has no such line")
    return pairs, problems


def _pair(line: files.SourceLine, twin: str) -> SynonymPair | str:
    """A source and the same source with a synonym, or why they do not correspond."""
    replaced = {word for word in twin.split() if word.endswith(TWIN)}
    if " ".join(word.removesuffix(TWIN) for word in twin.split()) != line.source:
        return f"this is not its source with a synonym\n    source {line.source}\n    twin   {twin}"
    if len(replaced) != 1:
        return f"{len(replaced)} functions are replaced by synonyms, but it must be one: {twin}"
    return SynonymPair(line, twin, replaced.pop().removesuffix(TWIN))
