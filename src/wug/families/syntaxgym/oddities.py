"""What is odd about a suite that can be read: it works, but its author should know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from wug.families.syntaxgym.faults import Faults
from wug.families.syntaxgym.formula import Comparison, Logic, Node, canonical
from wug.families.syntaxgym.parts import Item
from wug.families.syntaxgym.suite import SyntaxGymSuite


def find(suite: SyntaxGymSuite, faults: Faults) -> None:
    """Add the oddities to `faults`, and as errors what leaves a prediction without a value."""
    _stray_spaces(suite, faults)
    _line_breaks(suite, faults)
    _conditions(suite, faults)
    _same_sentences(suite, faults)
    _empty_regions(suite, faults)
    _empty_regions_used(suite, faults)


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
    for (name, number), items in empty.items():
        if len(items) * 2 < len(suite.items):
            message = f"region {number} is empty, though not in the other items"
            faults.warn(f"{_listed(items)}, condition {name}", message)


def _empty_regions_used(suite: SyntaxGymSuite, faults: Faults) -> None:
    """Predictions over a region without text: 0 bits by `sum`, nothing by the other metrics."""
    undefined = [metric for metric in suite.metrics if metric != "sum"]
    for index, prediction in enumerate(suite.predictions):
        for region, name in prediction.formula.atoms():
            if not isinstance(region, int):
                continue
            bare = [item for item in suite.items if _is_empty(item, name, region)]
            if not bare:
                continue
            place = f"item {bare[0].number}, condition {name}, region {region}"
            more = f" (and in {len(bare) - 1} other items)" if len(bare) > 1 else ""
            if undefined:
                faults.error(
                    place,
                    f"is empty{more}, so prediction {index} has no value by {', '.join(undefined)}. "
                    "Use the metric sum, which is 0 there",
                )
            else:
                faults.warn(place, f"is empty{more}, so prediction {index} takes it as 0 bits")


def _listed(items: Sequence[Item]) -> str:
    numbers = ", ".join(str(item.number) for item in items[:8]) + (", …" if len(items) > 8 else "")
    return f"item{'s' if len(items) > 1 else ''} {numbers}"


def _is_empty(item: Item, name: str, region: int) -> bool:
    condition = item.condition(name)
    return condition is not None and not condition.regions[region - 1].text
