"""Parses pages as a browser does, and builds results that contain markup, which must stay text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder

from wug.outcomes import Outcome, Result

EVIL = """<script>alert("x")</script></title></style><img src=x onerror=alert(1)>{{ 7 * 7 }}&amp;'"""
INLINE = {"b", "code", "mark", "span", "strong", "sub"}
VOID = {"meta", "link", "img", "br", "hr", "input", "wbr"}


@dataclass
class Seen(HTMLParser):
    """A page as a browser reads it: its tags, its text, its scripts."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    scripts: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    unbalanced: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in INLINE:
            self.text += " "
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            (self.data if "type" in self.tags[-1][1] else self.scripts).append(data)
        elif inside != "style":
            self.text += data

    def attributes(self, tag: str, name: str) -> list[str]:
        """Every value of an attribute of a tag."""
        return [value for seen, given in self.tags if seen == tag and (value := given.get(name)) is not None]


def read(page: str) -> Seen:
    """The page as a browser reads it, spaces squeezed."""
    seen = Seen()
    seen.feed(page)
    seen.close()
    seen.text = " ".join(seen.text.split())
    return seen


class _Elements(HTMLParser):
    """Makes a tree of a page whose tags are all closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.made = TreeBuilder()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.made.start(tag, {name: value or "" for name, value in attrs})
        if tag in VOID:
            self.made.end(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.made.start(tag, {name: value or "" for name, value in attrs})
        self.made.end(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.made.end(tag)

    def handle_data(self, data: str) -> None:
        self.made.data(data)


def elements(page: str) -> Element:
    """The page as a tree."""
    parser = _Elements()
    parser.made.start("page", {})
    parser.feed(page)
    parser.close()
    parser.made.end("page")
    return parser.made.close()


def words(element: Element, *without: str) -> str:
    """The text of an element but for that of these tags in it, spaces squeezed."""

    def pieces(one: Element) -> list[str]:
        below = (piece for child in one for piece in [*pieces(child), child.tail or ""])
        return [] if one.tag in without else [one.text or "", *below]

    return " ".join("".join(pieces(element)).split())


def classed(element: Element, tag: str, name: str) -> list[Element]:
    """The elements of a tag that have a class."""
    return [one for one in element.iter(tag) if name in one.get("class", "").split()]


def taint(value: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, Mapping):
        return {renamed.get(key, key): taint(one, renamed) for key, one in value.items()}
    if isinstance(value, list):
        return [taint(one, renamed) for one in value]
    return value


def check_escaped(seen: Seen) -> None:
    """That nothing of the markup in a result has become markup of the page."""
    assert len(seen.scripts) == 2
    assert seen.unbalanced == []
    assert seen.attributes("img", "src") == []
    assert [name for _, given in seen.tags for name in given if name.startswith("on")] == []
    assert "{{ 7 * 7 }}" in seen.text
    specs = json.dumps([json.loads(text) for text in seen.data], ensure_ascii=False).replace('\\"', '"')
    assert '<script>alert("x")</script>' in specs


def tainted_outcomes(result: Result) -> list[Outcome]:
    """The outcomes of a result with markup in their items, groups and details; numbers stay numbers."""
    return [
        replace(
            outcome,
            item=outcome.item + EVIL,
            groups={key: value if value.isdecimal() else value + EVIL for key, value in outcome.groups.items()},
            detail=taint(outcome.detail, {}),
        )
        for outcome in result.outcomes
    ]
