"""An item as a suite of its own, for the editor to open."""

from __future__ import annotations

from typing import Any

from wug.families.syntaxgym.view.regions import Conditions, conditions, metric_of, names_of
from wug.rows import Placed
from wug.views.parts import Item, carrier
from wug.web.result_view import ResultView

GOOD, BAD = "grammatical", "ungrammatical"


def suite_of(view: ResultView, row: Placed, item: Item) -> dict[str, Any] | None:
    """A SyntaxGym suite of one item; None for one whose sentences are not known.

    A pair becomes an item of two conditions: what both begin with, where they differ, what both end with.
    """
    name = f"{view.result.suite}, item {row.outcome.item}"
    sentences = conditions(carrier(view.rows.same_item(row), "conditions"))
    if sentences:
        formulas = [str(known.get("source") or "") for known in view.result.meta.get("formulas") or ()]
        names = names_of(view.result, [sentences])
        contents = _contents(sentences, list(names))
        return _suite(name, metric_of(view.result), {str(n): text for n, text in names.items()}, contents, formulas)
    if len(item.sentences) != 2:
        return None
    regions = {"1": "beginning", "2": "difference", "3": "end"}
    contents = dict(zip((GOOD, BAD), _parted(*item.sentences), strict=True))
    return _suite(name, "sum", regions, contents, [f"(*;%{BAD}%) > (*;%{GOOD}%)"])


def _suite(
    name: str, metric: str, regions: dict[str, str], contents: dict[str, list[str]], formulas: list[str]
) -> dict[str, Any]:
    written = [
        {
            "condition_name": condition,
            "regions": [{"region_number": at, "content": text} for at, text in enumerate(texts, 1)],
        }
        for condition, texts in contents.items()
    ]
    return {
        "meta": {"name": name, "metric": metric},
        "region_meta": regions,
        "predictions": [{"type": "formula", "formula": formula} for formula in formulas if formula],
        "items": [{"item_number": 1, "conditions": written}],
    }


def _contents(sentences: Conditions, numbers: list[int]) -> dict[str, list[str]]:
    return {
        name: [{region.number: region.content for region in regions}.get(number, "") for number in numbers]
        for name, regions in sentences.items()
    }


def _parted(good: str, bad: str) -> tuple[list[str], list[str]]:
    """Both sentences in three: what they begin with alike, what differs, what they end with alike."""
    one, other = good.split(), bad.split()
    shortest = min(len(one), len(other))
    front = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    room = shortest - front
    back = next((at for at in range(room) if one[-1 - at] != other[-1 - at]), room)
    return _three(one, front, back), _three(other, front, back)


def _three(words: list[str], front: int, back: int) -> list[str]:
    end = len(words) - back
    return [" ".join(part) for part in (words[:front], words[front:end], words[end:])]
