"""Plurals of words never heard before: does the model add the right ending?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wug.errors import InputError
from wug.families.sampling import sampled
from wug.files import checksum, read_lines
from wug.types import FamilyTraits, Metric, Outcome, Problem, Request, Result, Scorer

OPTIONS = ()
TRAITS = FamilyTraits(builtin_model="wug-causal", breakdown=("ending",))
METRICS = (
    Metric("plural", meaning="the right plural is more probable than the wrong one"),
    Metric("margin", unit="bits", headline=False, meaning="by how many bits the wrong plural is more surprising"),
)


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun that no one has heard before."""

    singular: str
    right: str
    wrong: str
    ending: str


@dataclass(frozen=True, slots=True)
class Plurals:
    """A file of nouns as a suite."""

    name: str
    nouns: tuple[Noun, ...]
    options: Mapping[str, str]
    kind: str = "plurals"
    needs: Literal["scores", "text"] = "scores"
    metrics: Sequence[Metric] = METRICS

    @property
    def checksum(self) -> str:
        """Of every noun."""
        return checksum(*(part for noun in self.nouns for part in (noun.singular, noun.right, noun.wrong, noun.ending)))

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows."""
        return {"reference": "Berko, J. (1958). The child's learning of English morphology. Word, 14."}

    def __len__(self) -> int:
        return len(self.nouns)

    def sample(self, items: int) -> Plurals:
        """At most this many nouns, of every ending in proportion; a larger sample contains a smaller one."""
        if items >= len(self.nouns):
            return self
        places = sampled(len(self.nouns), items, lambda place: (self.nouns[place].ending,))
        chosen = tuple(self.nouns[place] for place in places)
        return replace(self, nouns=chosen, options={**self.options, "limit": str(items)})

    def requests(self) -> list[Request]:
        """Both plurals of every noun."""
        return [question(noun, plural) for noun in self.nouns for plural in (noun.right, noun.wrong)]

    def run(self, model: Scorer) -> Iterator[Outcome]:
        """Ask for all plurals at once and compare them two by two."""
        bits = [scored.surprisal(*asked.span) for asked, scored in self._answers(model) if asked.span]
        for noun, right, wrong in zip(self.nouns, bits[::2], bits[1::2], strict=True):
            groups = {"ending": noun.ending}
            detail = {"right": noun.right, "wrong": noun.wrong, "bits_right": right, "bits_wrong": wrong}
            yield Outcome(noun.singular, "plural", right < wrong, groups, detail)
            yield Outcome(noun.singular, "margin", wrong - right, groups)

    def _answers(self, model: Scorer) -> Iterator[tuple[Request, Any]]:
        asked = self.requests()
        return zip(asked, model.score(asked), strict=True)


def question(noun: Noun, plural: str) -> Request:
    """Berko's question with one of its answers, which is all that counts."""
    begin = f"This is a {noun.singular}. Now there is another one. There are two "
    return Request(f"{begin}{plural}.", span=(len(begin), len(begin) + len(plural)))


def recognises(path: Path, head: str) -> bool:
    """Whether a file is one of nouns."""
    return path.suffix == ".plurals"


def read(path: Path, options: Mapping[str, str]) -> list[Plurals]:
    """The suite in a file, or one error with all faults."""
    faults = check(path, options)
    if faults:
        raise InputError("; ".join(map(str, faults)), file=path)
    nouns = tuple(Noun(*line.split("\t")) for _, line in _lines(path))
    return [Plurals(path.stem, nouns, dict(options))]


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """Every fault of a file."""
    found = [
        Problem("error", f"line {number}", "write singular, right plural, wrong plural and ending, with tabs between")
        for number, line in _lines(path)
        if len(line.split("\t")) != 4
    ]
    return found or ([] if any(_lines(path)) else [Problem("error", "", "there is no noun in it")])


def tsv(results: Sequence[Result]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Columns and rows for `--format tsv`: one row per noun."""
    judged = [(result.suite, row) for result in results for row in result.outcomes if row.metric == "plural"]
    rows = [(suite, row.item, row.detail["right"], row.detail["wrong"], row.value) for suite, row in judged]
    return ("suite", "noun", "right", "wrong", "chosen"), rows


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(read_lines(path), 1) if line and not line.startswith("#"))
