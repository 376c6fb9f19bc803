"""What there is to see of a result: by its family's own module, or by one that suits every family."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from types import ModuleType

from wug import registry
from wug.errors import BrokenPlugin
from wug.identity import ModelId
from wug.rows import Filter, Placed, Rows
from wug.types import Result
from wug.views import generic
from wug.views.parts import Facts, Figure, Item, Items, Later, OptionPage, Part, Sample
from wug.views.sample import spread
from wug.views.source import facts_of


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one group, and how many there are."""

    name: str
    title: str
    count: int
    """Those that a sentence such as `12 of 40 wrong` speaks of."""
    total: int
    items: tuple[tuple[Placed, Item], ...]
    left: int
    """Items of the group that there is no room for."""


def parts_of(result: Result, rows: Rows) -> Iterable[Part]:
    """What there is to see of a result, in the order of reading; some of it waits until someone asks."""
    found: Iterable[Part] = module_of(result.kind).parts(result, rows)
    facts = facts_of(result)
    return chain(found, [Facts(facts)]) if facts else found


def items_of(result: Result, rows: Rows) -> Items:
    """How the items of a result are shown one by one."""
    found: Items = module_of(result.kind).items(result, rows)
    return found


def option_pages_of(result: Result) -> list[OptionPage]:
    """The pages about options of the model that the family has and the model's backend offers."""
    options = registry.offered("models", ModelId.parse(result.model).kind, "OPTIONS") or ()
    names = {option.name for option in options}
    return [page for page in getattr(module_of(result.kind), "OPTION_PAGES", ()) if page.option in names]


def made(parts: Iterable[Part]) -> Iterator[Part]:
    """Every part, those that wait for someone to ask among them."""
    for part in parts:
        found = part.make() if isinstance(part, Later) else part
        if found is not None:
            yield found


def figures_of(result: Result, rows: Rows) -> Iterator[Figure]:
    """Every chart of a result."""
    return (part for part in made(parts_of(result, rows)) if isinstance(part, Figure))


def batches(items: Items, sample: Sample, rows: Rows, room: int) -> list[Batch]:
    """Some items of every group, the same every time, as many as there is room for."""
    counts, sizes = Counter[str](), Counter[str]()
    chosen: list[Placed] = []
    for row in rows.each(Filter(sample.check)):
        group = sample.group(row.outcome)
        word = str(row.outcome.value).lower()
        sizes[group] += row.outcome.value is not None
        counts[group] += word == sample.counted
        if sample.value is None or word == sample.value:
            chosen.append(row)
    there = Counter(sample.group(row.outcome) for row in chosen)
    found = spread(chosen, room, lambda row: sample.group(row.outcome))
    order = [*(name for name in sample.titles if name in found), *(name for name in found if name not in sample.titles)]
    return [
        Batch(
            name=sample.heading(name),
            title=sample.titles.get(name, ""),
            count=counts[name],
            total=sizes[name],
            items=tuple((row, items.show(row, rows.same_item(row))) for row in found[name]),
            left=there[name] - len(found[name]),
        )
        for name in order
    ]


@functools.cache
def module_of(kind: str) -> ModuleType:
    """The module that shows a family: itself, or `view` in its package; the generic one where there is neither."""
    family = family_of(kind)
    if family is None:
        return generic
    if hasattr(family, "parts") and hasattr(family, "items"):
        return family
    return registry.submodule(family, "view") or generic


def family_of(kind: str) -> ModuleType | None:
    """The package of a family; None for one that is not installed, or is broken: its results can still be shown."""
    try:
        return registry.find("families", kind) if kind in registry.names("families") else None
    except BrokenPlugin:
        return None
