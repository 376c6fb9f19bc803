"""What is odd about a suite that can be read: it works, but its author should know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.formula import WHOLE, Comparison, Logic, Node, canonical
from wug.families.syntaxgym.parts import Item
from wug.types import Problem

if TYPE_CHECKING:
    from wug.families.syntaxgym.suite import SyntaxGymSuite


def find(suite: SyntaxGymSuite) -> list[Problem]:
    """What is odd about the items, as warnings."""
    faults = Faults()
    _stray_spaces(suite, faults)
    _line_breaks(suite, faults)
    _conditions(suite, faults)
    _same_sentences(suite, faults)
    _empty_regions(suite, faults)
    return faults.warnings


def _stray_spaces(suite: SyntaxGymSuite, faults: Faults) -> None:
    places = [
        f"item {item.number}, condition {condition.name}, region {region.number}"
        for item in suite.items
        for condition in item.conditions
        for region in condition.regions
        if region.content != region.text
    ]
    if len(places) == 1:
        faults.warn(places[0], "spaces around the text are trimmed")
    elif places:
        faults.warn("", f"{len(places)} regions have spaces around their text, which are trimmed; first {places[0]}")


def _line_breaks(suite: SyntaxGymSuite, faults: Faults) -> None:
    for item in suite.items:
        for condition in item.conditions:
            for region in condition.regions:
                if "\n" in region.text or "\r" in region.text or "\t" in region.text:
                    place = f"item {item.number}, condition {condition.name}, region {region.number}"
                    faults.warn(place, "has a line break or a tab inside, which the model will see")


def _conditions(suite: SyntaxGymSuite, faults: Faults) -> None:
    """Conditions that only some items have."""
    holders: dict[str, list[Item]] = defaultdict(list)
    for item in suite.items:
        for condition in item.conditions:
            holders[condition.name].append(item)
    for name, items in holders.items():
        if len(items) != len(suite.items):
            faults.warn("", f"condition {name} stands in {len(items)} of {len(suite.items)} items")


def _same_sentences(suite: SyntaxGymSuite, faults: Faults) -> None:
    same: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in suite.items:
        first: dict[str, str] = {}
        for condition in item.conditions:
            earlier = first.setdefault(condition.layout(suite.join).text, condition.name)
            if earlier != condition.name:
                same[earlier, condition.name].append(item)
    for (earlier, later), items in same.items():
        doomed = [str(i) for i, p in enumerate(suite.predictions) if _needs_difference(p.formula.tree, earlier, later)]
        so = f", so prediction {' and '.join(doomed)} is false there whatever the model says" if doomed else ""
        faults.warn(_listed(items), f"conditions {earlier} and {later} are the same sentence{so}")


def _needs_difference(node: Node, earlier: str, later: str) -> bool:
    """Whether a prediction cannot hold where two conditions are the same sentence."""
    if isinstance(node, Logic):
        needs = [_needs_difference(part, earlier, later) for part in node.parts]
        return any(needs) if node.operator == "&" else all(needs)
    if not isinstance(node, Comparison) or node.operator not in ("<", ">", "!="):
        return False
    left, right = (canonical(side).replace(f"%{later}%", f"%{earlier}%") for side in (node.left, node.right))
    return left == right


def _empty_regions(suite: SyntaxGymSuite, faults: Faults) -> None:
    """Regions that are empty in a few items only; one that is empty throughout a condition is a design."""
    empty: dict[tuple[str, int], list[Item]] = defaultdict(list)
    for item in suite.items:
        for condition in item.conditions:
            for region in condition.regions:
                if not region.text:
                    empty[condition.name, region.number].append(item)
    compared = {atom for prediction in suite.predictions for atom in prediction.formula.atoms()}
    for (name, number), items in empty.items():
        if len(items) * 2 < len(suite.items) and (number, name) not in compared:
            message = f"region {number} is empty, though not in the other items"
            faults.warn(f"{_listed(items)}, condition {name}", message)


def empty_regions_compared(suite: SyntaxGymSuite, faults: Faults) -> None:
    """Add to `faults` where a prediction compares a region without text, and what becomes of it."""
    undefined = ", ".join(metric for metric in suite.metrics if metric != "sum")
    for index, prediction in enumerate(suite.predictions):
        bare: dict[tuple[int | str, str], list[Item]] = defaultdict(list)
        for item in suite.items:
            if lacked := prediction.formula.lacks(partial(_is_empty, item)):
                bare[lacked].append(item)
        for (region, name), items in bare.items():
            place = f"item {items[0].number}, condition {name}, region {region}"
            more = f" (and in {len(items) - 1} other item{'s' * (len(items) > 2)})" if len(items) > 1 else ""
            so = f"is empty{more}, so prediction {index}"
            if suite.empty == "exclude":
                faults.warn(place, f"{so} is not judged there (the option empty=zero counts it as 0 bits)")
            elif suite.empty == "refuse":
                faults.error(place, f"{so} has no value. Fill it in, or exclude such items (empty=exclude)")
            elif undefined:
                fix = "Use the metric sum, which is 0 there, or exclude such items (empty=exclude)"
                faults.error(place, f"{so} has no value by {undefined}. {fix}")
            else:
                faults.warn(place, f"{so} takes it as 0 bits")


def _listed(items: Sequence[Item]) -> str:
    numbers = ", ".join(str(item.number) for item in items[:8]) + (", …" if len(items) > 8 else "")
    return f"item{'s' if len(items) > 1 else ''} {numbers}"


def _is_empty(item: Item, region: int | str, name: str) -> bool:
    condition = item.condition(name)
    if condition is None:
        return False
    return not any(one.text for one in condition.regions if region in (WHOLE, one.number))
