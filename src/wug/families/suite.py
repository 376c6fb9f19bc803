"""What the suites of most families share: their items, samples of them, and items that the user leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Generic, Self, TypeVar

from wug.families.exclusion import kept
from wug.families.sampling import limited, of_whole_file, sampled
from wug.labels import of_suite

T = TypeVar("T")


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

    __repr__ = of_suite

    def __len__(self) -> int:
        return len(self.items)

    def strata(self) -> Sequence[tuple[str, ...]]:
        """The groups of each item that a sample keeps in proportion, the coarsest first."""
        return [()] * len(self)

    def sample_notices(self, items: Sequence[T]) -> tuple[str, ...]:
        """The notices of a sample with these items."""
        return of_whole_file(self.notices)

    def sample(self, items: int) -> Self:
        """A suite with `items` of the items, every group in proportion."""
        if items >= len(self):
            return self
        strata = self.strata()
        some = tuple(self.items[n] for n in sampled(len(strata), items, strata.__getitem__))
        selection = {**self.selection, **limited(items, len(set(strata)))}
        return replace(self, items=some, notices=self.sample_notices(some), selection=selection)

    def without(self, excluded: str | None, path: Path, identify: Callable[[T], tuple[str, Mapping[str, str]]]) -> Self:
        """The suite without excluded items, which are identified by name and groups."""
        left = kept(excluded, [identify(item) for item in self.items], path)
        if not left.signature:
            return self
        items, notices = tuple(self.items[place] for place in left.places), (*self.notices, *left.notices)
        return replace(self, items=items, notices=notices, selection={**self.selection, **left.signature})
