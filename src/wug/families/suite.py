"""What the suites of most families share: samples of items, items that are left out, and outputs that are scored."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeAlias, TypeVar

from wug.errors import InputError, ModelError, UnknownName
from wug.families.predictions import squeeze
from wug.files import checksum, read_lines, user_path
from wug.interfaces import Suite
from wug.labels import suite_line
from wug.options import Option
from wug.outcomes import Metric, Notice, SuiteOutput
from wug.requests import Generator, Source, text_of

T = TypeVar("T")
Levels: TypeAlias = Callable[[int], Sequence[Hashable]]
"""Returns the groups of the row with an index, the coarsest first; all rows have the same number of levels."""
_GOLDEN = 0x9E3779B97F4A7C15
"""The fractional part of the golden ratio, times 2 ** 64."""
EXCLUDE = Option("exclude", str, (), "items to leave out: names, GROUP=VALUE, or @FILE with one per line", many=True)
MAX_SIGNATURE_CHARACTERS = 60


@dataclass(frozen=True, slots=True, repr=False)
class ItemSuite(Generic[T]):
    """A suite with its items."""

    name: str
    items: Sequence[T]
    checksum: str
    """Of all items of the file, in a sample too."""
    notices: tuple[str, ...] = ()
    selection: Mapping[str, str] = field(default_factory=dict)
    """Which items of the file these are, for the signature; empty for all."""

    kind: ClassVar[str]

    __repr__ = suite_line

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        return self.selection

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes."""
        return {}

    def __len__(self) -> int:
        return len(self.items)

    def strata(self) -> Sequence[tuple[str, ...]]:
        """The groups of each item that a sample keeps in proportion, the coarsest first."""
        return [()] * len(self)

    def sample_notices(self, items: Sequence[T]) -> tuple[str, ...]:
        """The notices of a sample with these items."""
        return tuple(f"in the whole file: {notice}" for notice in self.notices)

    def sample(self, items: int) -> Self:
        """A suite with `items` of the items, every group in proportion."""
        if items >= len(self):
            return self
        strata = self.strata()
        sampled_items = tuple(self.items[n] for n in sampled(len(strata), items, strata.__getitem__))
        limit = f"{items} by group" if len(set(strata)) > 1 else str(items)
        selection = {**self.selection, "limit": limit}
        return replace(self, items=sampled_items, notices=self.sample_notices(sampled_items), selection=selection)

    def without(self, excluded: str | None, path: Path, identify: Callable[[T], tuple[str, Mapping[str, str]]]) -> Self:
        """The suite without excluded items, which are identified by name and groups; an unknown name is an error."""
        rules = [rule for word in EXCLUDE.read(excluded or "") for rule in _read(word)]
        if not rules:
            return self
        identified = [identify(item) for item in self.items]
        matched: set[int] = set()
        for rule in rules:
            field, _, value = rule.partition("=")
            matching = {n for n, (name, groups) in enumerate(identified) if name == rule or groups.get(field) == value}
            if not matching:
                groups = {f"{name}={value}" for _, known in identified for name, value in known.items()}
                known = groups if "=" in rule else {name for name, _ in identified}
                raise UnknownName("item to exclude", rule, known)
            matched |= matching
        if len(matched) == len(identified):
            raise InputError(f"exclude={excluded}: no item is left", file=path)
        written = ",".join(dict.fromkeys(rules)).replace("|", "/")
        signature = written if len(written) <= MAX_SIGNATURE_CHARACTERS else f"{len(matched)} items@{checksum(written)}"
        notice = f"{len(matched):,} of {len(identified):,} items excluded (exclude={excluded})"
        items = tuple(item for index, item in enumerate(self.items) if index not in matched)
        selection = {**self.selection, "exclude": signature}
        return replace(self, items=items, notices=(*self.notices, notice), selection=selection)


def evenly_spaced(rows: Sequence[T], count: int) -> tuple[T, ...]:
    """`count` evenly spaced rows, in order; all rows if there are fewer."""
    if count >= len(rows):
        return tuple(rows)
    return tuple(rows[index * len(rows) // count] for index in range(count))


def sampled(size: int, count: int, levels: Levels = lambda index: ()) -> tuple[int, ...]:
    """The indices of `count` of `size` rows, in order: the first `count` of an order that does not depend on it.

    The order begins with one row of each of the coarsest groups. One row of each group of the next level that has none
    yet follows, down to the finest; the largest groups come first. After that, rows are taken from the finest groups in
    proportion to their sizes, by the method of Webster and Sainte-Laguë. The rows of a group are evenly spread.
    """
    if not isinstance(count, int) or count < 1:
        raise InputError(f"{count!r} items: write a whole number, 1 or more")
    if count >= size:
        return tuple(range(size))
    groups = [tuple(levels(index)) for index in range(size)]
    depth = len(groups[0])
    members: list[dict[tuple[Hashable, ...], list[int]]] = [{} for _ in range(depth + 1)]
    for index, group in enumerate(groups):
        for level, by_group in enumerate(members):
            by_group.setdefault(group[:level], []).append(index)
    ties = [dict(zip(by_group, _turns(len(by_group)), strict=True)) for by_group in members]
    order: dict[int, tuple[int, float, int]] = {}
    for group, indices in members[depth].items():
        for index, turn in zip(indices, _turns(len(indices)), strict=True):
            order[index] = depth + 1, (2 * turn + 1) / len(indices), ties[depth][group]
    for level in range(depth, 0, -1):  # a coarser group takes its first row from those of its finer groups
        for group, indices in members[level].items():
            first = min(indices, key=order.__getitem__)
            order[first] = level, 1 / len(indices), ties[level][group]
    return tuple(sorted(sorted(order, key=order.__getitem__)[:count]))


def strata_of(groups: Sequence[Mapping[str, str]], names: Sequence[str] | None = None) -> list[tuple[str, ...]]:
    """The values of the groups with these names, by default of all groups, of each item."""
    chosen = dict.fromkeys(name for item_groups in groups for name in item_groups) if names is None else names
    return [tuple(item_groups.get(name, "") for name in chosen) for item_groups in groups]


def _turns(size: int) -> list[int]:
    """The turn of each of `size` rows. Rows taken up to any turn are evenly spread, by steps of the golden ratio."""
    taken: dict[int, None] = {}
    number = 0
    while len(taken) < size:
        taken.setdefault((number * _GOLDEN % (1 << 64)) * size >> 64)
        number += 1
    turns = [0] * size
    for turn, index in enumerate(taken):
        turns[index] = turn
    return turns


Generate: TypeAlias = Callable[[Sequence[str | Source]], list[str]]
"""Returns one output per source, with single spaces between words."""
MAX_WORDS_OPTION = {"cut": "2n+16"}
"""The option of a suite whose outputs may be cut off at this length if the target has n words."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class GenerationSuite(ItemSuite[T]):
    """Items for which a model generates outputs."""

    settings: Mapping[str, str] = field(default_factory=dict)

    metrics: ClassVar[tuple[Metric, ...]]
    needs: ClassVar[Literal["text"]] = "text"

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""
        return {**self.settings, **self.selection}

    def requests(self) -> list[str | Source]:
        """The sources that do not depend on an output."""
        return []

    def score(self, outputs: Sequence[str]) -> Iterator[SuiteOutput]:
        """Score one output per request."""
        return iter(())

    def outcomes(self, generate: Generate) -> Iterator[SuiteOutput]:
        """Generate outputs for the items, as often as it takes, and score them."""
        return self.score(generate(self.requests()))

    def run(self, model: Generator) -> Iterator[SuiteOutput]:
        """Generate outputs and score them."""
        yield from map(Notice, self.notices)
        yield from self.outcomes(lambda sources: list(map(squeeze, generated(model, sources))))


class ScoredAnswers(NamedTuple):
    """A suite, and the scores of outputs that were computed elsewhere."""

    suite: Suite
    rows: Iterator[SuiteOutput]


def generated(model: Generator, sources: Sequence[str | Source]) -> list[str]:
    """A model's output for each source; ModelError if there is not one each."""
    sent: Any = sources if getattr(model, "bounded", False) else list(map(text_of, sources))
    answers = model.generate(sent) if sources else []
    if len(answers) != len(sources):
        raise ModelError(f"{model.id} gave {len(answers):,} answers to {len(sources):,} sources")
    return list(map(text_of, answers))


def bounded(source: str, target: str) -> Source:
    """A source whose output may be cut off as `MAX_WORDS_OPTION` says."""
    return Source(source, 2 * len(target.split()) + 16)


def warn_if_empty(answers: Sequence[str]) -> Iterator[Notice]:
    """A warning if outputs are empty."""
    if empty := sum(not answer for answer in answers):
        yield Notice(f"{empty:,} of {len(answers):,} answers are empty")


_EARLY_ENDS = {
    "eos_contained_in_target": "the output is contained in the target, as text",
    "eos_strict_prefix": "the target begins with the output, which stops too early",
    "eos_contiguous_token_sub": "the symbols of the output are a contiguous part of the target",
}
ENDED_EARLY = tuple(
    Metric(name, meaning=f"of the wrong outputs: {meaning}", better="neither") for name, meaning in _EARLY_ENDS.items()
)
"""Three ways in which Hupkes et al. (2020) call a wrong output one that ended too early."""


def ended_early(answer: str, target: str) -> Mapping[str, bool]:
    """The metrics of ENDED_EARLY for a wrong output."""
    symbols, expected = answer.split(), target.split()
    starts = range(len(expected) - len(symbols) + 1)
    return {
        "eos_contained_in_target": answer in target,  # as text: "A1" is contained in "A12" too
        "eos_strict_prefix": expected[: len(symbols)] == symbols,
        "eos_contiguous_token_sub": any(expected[at : at + len(symbols)] == symbols for at in starts),
    }


def _read(word: str) -> list[str]:
    if not word.startswith("@"):
        return [word]
    return [line.strip() for line in read_lines(user_path(word[1:])) if line.strip()]
