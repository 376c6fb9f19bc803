"""A test of the family: items, what is asked about them, and how the answers are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from wug.errors import ModelError
from wug.families.pcfgset.lines import squeeze
from wug.families.sampling import limited, of_whole_file, sampled
from wug.labels import of_suite
from wug.types import Check, Generator, Notice, Row, Source, Suite, text_of

Item = TypeVar("Item")
Ask: TypeAlias = Callable[[Sequence[str | Source]], list[str]]
"""One answer for each source, with single spaces between words."""


STOPPED = {"cut": "2n+16"}
"""The option of a test whose answers may be stopped after so many words, where the right one has n."""


def _ungrouped(item: object) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class PcfgTest(Generic[Item]):
    """What is particular to a test."""

    name: str
    """As results call it: `plain`, `localism`, …"""
    checks: tuple[Check, ...]
    sources: Callable[[Sequence[Item]], Sequence[str | Source]]
    """What can be asked up front."""
    judge: Callable[[Sequence[Item], Ask], Iterator[Row]]
    """Ask about the items, as often as it takes, and judge the answers."""
    levels: Callable[[Item], tuple[str, ...]] = _ungrouped
    """The groups of an item that all have their share of a sample, the coarsest first."""


@dataclass(frozen=True, slots=True)
class PcfgSuite(Generic[Item]):
    """The items of a test."""

    name: str
    test: PcfgTest[Item]
    items: tuple[Item, ...]
    checksum: str
    notices: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    kind: str = "pcfgset"
    needs: Literal["scorer", "generator"] = "generator"

    @property
    def checks(self) -> Sequence[Check]:
        """What it judges."""
        return self.test.checks

    @property
    def meta(self) -> Mapping[str, Any]:
        """Which of the tests it is."""
        return {"test": self.test.name}

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.items)

    def sample(self, items: int) -> PcfgSuite[Item]:
        """The same suite with only so many of its items, every group with its share."""
        if items >= len(self):
            return self
        levels = [self.test.levels(item) for item in self.items]
        kept = tuple(self.items[n] for n in sampled(len(levels), items, levels.__getitem__))
        options = {**self.options, **limited(items, len(set(levels)))}
        return replace(self, items=kept, notices=of_whole_file(self.notices), options=options)

    def requests(self) -> Sequence[str | Source]:
        """What depends on no answer."""
        return self.test.sources(self.items)

    def run(self, model: Generator) -> Iterator[Row]:
        """Ask the model and judge its answers."""
        yield from map(Notice, self.notices)
        yield from self.test.judge(self.items, lambda sources: _ask(model, sources))


@dataclass(frozen=True, slots=True)
class Answered:
    """A test, and the judgements on answers to it that were made elsewhere."""

    suite: Suite
    rows: Iterator[Row]


def empty_answers(answers: Sequence[str]) -> Iterator[Notice]:
    """A notice where answers are empty."""
    empty = sum(not answer for answer in answers)
    if empty:
        yield Notice(f"{empty:,} of {len(answers):,} answers are empty")


def bounded(source: str, target: str) -> Source:
    """A source whose answer may be stopped where it is longer than any right one, as `STOPPED` says."""
    return Source(source, 2 * len(target.split()) + 16)


def _ask(model: Generator, sources: Sequence[str | Source]) -> list[str]:
    if not sources:
        return []
    asked: Any = sources if getattr(model, "bounded", False) else list(map(text_of, sources))
    answers = model.generate(asked)
    if len(answers) != len(sources):
        raise ModelError(f"{model.id} gave {len(answers):,} answers to {len(sources):,} sources")
    return [squeeze(text_of(answer)) for answer in answers]
