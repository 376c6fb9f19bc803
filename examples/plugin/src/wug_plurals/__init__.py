"""Plurals of words never heard before: does the model add the right ending?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from wug.types import (
    FamilyTraits,
    ItemSuite,
    Metric,
    Outcome,
    ProblemList,
    Request,
    Result,
    Returns,
    Scorer,
    checksum,
    read_lines,
    refuse_errors,
)

OPTIONS = ()
TRAITS = FamilyTraits(builtin_model="wug-causal", breakdown=("ending",))
METRICS = (
    Metric("plural", meaning="the right plural is more probable than the wrong one"),
    Metric("margin", unit="bits", headline=False, meaning="by how many bits the wrong plural is more surprising"),
)


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun that no one has heard before, with a right and a wrong plural."""

    singular: str
    right: str
    wrong: str
    ending: str

    def request(self, plural: str) -> Request:
        """Berko's text with one of the plurals, the only part that is scored."""
        start = f"This is a {self.singular}. Now there is another one. There are two "
        return Request(f"{start}{plural}.", span=(len(start), len(start) + len(plural)))


@dataclass(frozen=True, slots=True, repr=False)
class PluralSuite(ItemSuite[Noun]):
    """The nouns of a file; `ItemSuite` has their number, samples of them and what identifies the suite."""

    kind = "plurals"
    needs: ClassVar[Returns] = "scores"
    metrics: ClassVar[Sequence[Metric]] = METRICS

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes."""
        return {"reference": "Berko, J. (1958). The child's learning of English morphology. Word, 14."}

    def strata(self) -> list[tuple[str, ...]]:
        """The ending of each noun: samples keep the proportions of endings."""
        return [(noun.ending,) for noun in self.items]

    def requests(self) -> list[Request]:
        """Both plurals of every noun."""
        return [noun.request(plural) for noun in self.items for plural in (noun.right, noun.wrong)]

    def run(self, model: Scorer) -> Iterator[Outcome]:
        """Score both plurals of all nouns at once, and compare them noun by noun."""
        requests = self.requests()
        outputs = zip(requests, model.score(requests), strict=True)
        surprisals = [scored.surprisal(*request.span) for request, scored in outputs]
        for noun, right, wrong in zip(self.items, surprisals[::2], surprisals[1::2], strict=True):
            groups = {"ending": noun.ending}
            detail = {"right": noun.right, "wrong": noun.wrong, "bits_right": right, "bits_wrong": wrong}
            yield Outcome(noun.singular, "plural", right < wrong, groups, detail)
            yield Outcome(noun.singular, "margin", wrong - right, groups)


def recognises(path: Path, head: str) -> bool:
    """Whether a file belongs to this family."""
    return path.suffix == ".plurals"


def read(path: Path, options: Mapping[str, str]) -> list[PluralSuite]:
    """The suite in a file, or one error with all problems."""
    refuse_errors(check(path, options), path)
    lines = [line for _, line in _lines(path)]
    return [PluralSuite(path.stem, [Noun(*line.split("\t")) for line in lines], checksum(*lines))]


def check(path: Path, options: Mapping[str, str]) -> ProblemList:
    """Every problem of a file."""
    problems = ProblemList()
    for number, line in _lines(path):
        if len(line.split("\t")) != 4:
            problems.error(f"line {number}", "write singular, right plural, wrong plural and ending, with tabs between")
    if not any(_lines(path)):
        problems.error("", "there is no noun in it")
    return problems


def tsv(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows for `--format tsv`: one row per noun."""
    outcomes = [(result.suite, row) for result in results for row in result.outcomes if row.metric == "plural"]
    rows = [(suite, row.item, row.detail["right"], row.detail["wrong"], row.value) for suite, row in outcomes]
    return ("suite", "noun", "right", "wrong", "chosen"), rows


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines with nouns, numbered as in an editor."""
    return ((number, line) for number, line in enumerate(read_lines(path), 1) if line and not line.startswith("#"))
