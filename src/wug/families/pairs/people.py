"""People's responses that the user joins to pairs (`people=FILE`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from wug.errors import InputError
from wug.families.pairs.pair import Pair
from wug.families.people import RaterMeans
from wug.families.people_tables import PEOPLE_OPTIONS, read_people
from wug.files import checksum, read_bytes, user_path
from wug.formatting import plural
from wug.options import Option
from wug.outcomes import SuiteOutput

_SHARED = ("item", "exclude", "good", "bad")
"""Options of responses that pairs have too, with another meaning."""
_NAMES = {
    (f"people_{option.name}" if option.name in _SHARED else option.name): option
    for option in PEOPLE_OPTIONS
    if option.name != "groups"
}
_CONTENT = ("correct", "response", "rating")
"""Options that name the content of a table of no published format."""
JOINED_OPTIONS = (
    Option("people", Path, None, "file of people's responses, joined to pairs by the two sentences, else by item"),
    *(replace(option, name=name, help=f"with people: {option.help}") for name, option in _NAMES.items()),
)
_Key: TypeAlias = tuple[str, str] | str
"""Two sentences, or the name of an item."""


@dataclass(frozen=True, slots=True)
class JoinedPeople:
    """People's responses to pairs."""

    signature: Mapping[str, str]
    notices: tuple[str, ...]
    means: RaterMeans
    items: Mapping[_Key, int]
    """The place of each judged item."""

    def ceilings(self, pairs: Iterable[Pair]) -> Iterator[SuiteOutput]:
        """The reliability of the margins of some pairs, and the noise ceiling."""
        yield from self.means.ceilings({place for pair in pairs if (place := _place(pair, self.items)) is not None})


def with_people(pairs: Sequence[Pair], options: Mapping[str, str]) -> tuple[Sequence[Pair], JoinedPeople | None]:
    """The pairs with people's margins, and the responses behind them; the same pairs without `people=FILE`."""
    if not options.get("people"):
        if name := next((name for name in _NAMES if name in options), None):
            raise InputError(f"{name} is about people's responses: add people=FILE")
        return pairs, None
    path = user_path(options["people"])
    response_options = {name: options[name] for name in _NAMES if name in options}
    if "item" in options and any(name in response_options for name in _CONTENT):
        response_options = {"people_item": options["item"], **response_options}
    data = read_people(path, {_NAMES[name].name: value for name, value in response_options.items()}, "people_item")
    if data.counts:
        what = f"its format ({data.format}) has counts per paradigm and no items"
        raise InputError(f"{what}: there are no responses that can be joined to pairs", file=path)
    keys = [_key(item.good, item.bad) if item.good else item.name for item in data.items]
    items: dict[_Key, int] = {}
    merged = [items.setdefault(key, index) for index, key in enumerate(keys)]
    places = [_place(pair, items) for pair in pairs]
    if set(places) == {None}:
        raise InputError(_no_match(keys[0], pairs[0]), file=path)
    means = RaterMeans(replace(data, responses=[one._replace(item=merged[one.item]) for one in data.responses]))
    margins = [None if math.isnan(margin) else margin for margin in means.human_margins().tolist()]
    human = [None if place is None else margins[place] for place in places]
    notices = [*data.notices, *means.notices()]
    if without := human.count(None):
        notices.append(f"{without:,} of {plural(len(pairs), 'pair')} without responses by people")
    matched = set(places)
    if unmatched := len(merged) - sum(place in matched for place in merged):
        notices.append(f"{unmatched:,} of {plural(len(merged), 'item')} of people's responses match no pair")
    signature = {"people": checksum(read_bytes(path)), **response_options}
    joined = [pair._replace(human=margin) for pair, margin in zip(pairs, human, strict=True)]
    return joined, JoinedPeople(signature, tuple(notices), means, items)


def _place(pair: Pair, items: Mapping[_Key, int]) -> int | None:
    return items.get(_key(pair.good, pair.bad), items.get(pair.item))


def _key(good: str, bad: str) -> _Key:
    return " ".join(good.split()), " ".join(bad.split())


def _no_match(key: _Key, pair: Pair) -> str:
    by_item = isinstance(key, str)
    how, theirs = ("by item", f"item {key!r}") if by_item else ("by the two sentences", f"{key[0]!r} and {key[1]!r}")
    ours = f"{pair.good!r} and {pair.bad!r}" + (f", item {pair.item!r}" if by_item else "")
    return f"no pair matches, {how}. The first of the responses is about {theirs}; the first pair is {ours}"
