"""Errors and warnings about a suite: the list that collects them, and checks of a suite that can be read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wug.families.syntaxgym.formula.tree import WHOLE, Logic, Node, Relation, canonical
from wug.families.syntaxgym.parts import Condition, Region, SuiteItem
from wug.formatting import first_items, plural
from wug.problems import Problem, ProblemList

if TYPE_CHECKING:
    from wug.families.syntaxgym.suite import SyntaxGymSuite


def describe(value: object) -> str:
    """A JSON value in words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}" if len(str(value)) < 40 else "a number"
        case str():
            return f"the text {value!r}" if len(value) < 40 else f"the text {value[:39]!r}…"
        case list():
            return "a list"
        case _:
            return "an object"


def lint(suite: SyntaxGymSuite) -> list[Problem]:
    """Warnings about the items of a suite that can be read."""
    problems = ProblemList()
    trimmed = [place for _, _, region, place in _regions(suite) if region.content != region.text]
    if len(trimmed) == 1:
        problems.warn(trimmed[0], "spaces around the text are trimmed")
    elif trimmed:
        regions = plural(len(trimmed), "region")
        problems.warn("", f"{regions} have spaces around their text, which are trimmed; first {trimmed[0]}")
    empty: dict[tuple[str, int], list[SuiteItem]] = defaultdict(list)
    for item, condition, region, place in _regions(suite):
        if set("\n\r\t") & set(region.text):
            problems.warn(place, "contains a line break or a tab, which the model will see")
        if not region.text:
            empty[condition.name, region.number].append(item)
    conditions = Counter(condition.name for item in suite.items for condition in item.conditions)
    for name, count in conditions.items():
        if count != len(suite.items):
            problems.warn("", f"condition {name} is in {count} of {len(suite.items)} items")
    _same_sentences(suite, problems)
    compared = {atom for prediction in suite.predictions for atom in prediction.formula.atoms()}
    for (name, number), items in empty.items():
        if len(items) * 2 < len(suite.items) and (number, name) not in compared:
            message = f"region {number} is empty, but not in the other items"
            problems.warn(f"{_listed(items)}, condition {name}", message)
    return problems.warnings


def _regions(suite: SyntaxGymSuite) -> Iterator[tuple[SuiteItem, Condition, Region, str]]:
    for item in suite.items:
        for condition in item.conditions:
            for region in condition.regions:
                yield item, condition, region, f"item {item.number}, condition {condition.name}, region {region.number}"


def _same_sentences(suite: SyntaxGymSuite, problems: ProblemList) -> None:
    same: dict[tuple[str, str], list[SuiteItem]] = defaultdict(list)
    for item in suite.items:
        first: dict[str, str] = {}
        for condition in item.conditions:
            earlier = first.setdefault(condition.layout(suite.join).text, condition.name)
            if earlier != condition.name:
                same[earlier, condition.name].append(item)
    for (earlier, later), items in same.items():
        trees = enumerate((prediction.formula.tree for prediction in suite.predictions), 1)
        doomed = [str(number) for number, tree in trees if _needs_difference(tree, earlier, later)]
        so = f", so prediction {' and '.join(doomed)} is always false there" if doomed else ""
        problems.warn(_listed(items), f"conditions {earlier} and {later} are the same sentence{so}")


def _needs_difference(node: Node, earlier: str, later: str) -> bool:
    """Whether a prediction cannot hold if two conditions are the same sentence."""
    if isinstance(node, Logic):
        needs = [_needs_difference(part, earlier, later) for part in node.operands]
        return any(needs) if node.operator == "&" else all(needs)
    if not isinstance(node, Relation) or node.operator not in ("<", ">", "!="):
        return False
    left, right = (canonical(side).replace(f"%{later}%", f"%{earlier}%") for side in node.operands)
    return left == right


def empty_regions_compared(suite: SyntaxGymSuite, problems: ProblemList) -> None:
    """Add a problem for each empty region that a prediction compares, with its consequence."""
    undefined = ", ".join(region_metric for region_metric in suite.region_metrics if region_metric != "sum")
    for index, prediction in enumerate(suite.predictions):
        bare: dict[tuple[int | str, str], list[SuiteItem]] = defaultdict(list)
        for item in suite.items:
            if lacked := prediction.formula.lacks(partial(_is_empty, item)):
                bare[lacked].append(item)
        for (region, name), items in bare.items():
            place = f"item {items[0].number}, condition {name}, region {region}"
            more = f" (and in {plural(len(items) - 1, 'other item')})" if len(items) > 1 else ""
            so = f"is empty{more}, so prediction {index + 1}"
            if suite.empty == "exclude":
                problems.warn(place, f"{so} is not judged there (the option empty=zero counts it as 0 bits)")
            elif suite.empty == "refuse":
                problems.error(place, f"{so} has no value. Fill it in, or exclude such items (empty=exclude)")
            elif undefined:
                fix = "Use the metric sum, which is 0 there, or exclude such items (empty=exclude)"
                problems.error(place, f"{so} has no value by {undefined}. {fix}")
            else:
                problems.warn(place, f"{so} takes it as 0 bits")


def _listed(items: Sequence[SuiteItem]) -> str:
    return f"item{'s' if len(items) > 1 else ''} {first_items((item.number for item in items), 8)}"


def _is_empty(item: SuiteItem, region: int | str, name: str) -> bool:
    condition = item.condition(name)
    if condition is None:
        return False
    return not any(each_region.text for each_region in condition.regions if region in (WHOLE, each_region.number))
