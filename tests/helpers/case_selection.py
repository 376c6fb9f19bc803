"""Selects cases of slow tests: a fixed sample, or all of them if WUG_TEST_WHOLE=yes, as every night."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar
from zlib import crc32

Case = TypeVar("Case")
WHOLE = os.environ.get("WUG_TEST_WHOLE") == "yes"
LONGEST_FIRST = (
    *("test_reproduce", "test_ray", "test_editor_browser", "test_docs_site", "test_charts_browser", "test_processes"),
    *("test_seq2seq_engines", "test_docs_run", "test_editor_tools_browser", "test_keyboard", "test_axe", "test_fuzz"),
    *("test_chart_text", "test_demo", "test_watching", "test_browser_pages", "test_endpoint", "test_runs_browser"),
    *("test_deferred", "test_pcfgset_published", "test_reproduce_on_ray", "test_seq2seq"),
    *("test_families_suites", "test_train", "test_editor", "test_notebook", "test_python_examples"),
    *("test_published_recipes", "test_damage", "test_media", "test_api", "test_resume"),
)
"""Test files that take longest; the others take seconds each."""
LONG_NEXT = ("test_plugin", "test_queue", "test_pages", "test_help_examples", "test_hostile")
"""Test files that start after those; `make quick` runs them, too."""


def cases(always: Iterable[Case], at_night: Iterable[Case]) -> list[Case]:
    """The cases to test."""
    return [*always, *(at_night if WHOLE else ())]


def share(every: Iterable[Case], part: int) -> list[Case]:
    """One case in `part`, rounded up and chosen by a hash; all of them at night."""
    given = list(every)
    return given if WHOLE else [case for case in given if case in _drawn(given)[: -(-len(given) // part)]]


def each_kind(every: Iterable[Case], kind: Callable[[Case], Hashable], most: int = 1) -> list[Case]:
    """At most `most` cases of each kind, chosen by a hash; all of them at night."""
    given = list(every)
    if WHOLE:
        return given
    kinds: dict[Hashable, list[Case]] = {}
    for case in given:
        kinds.setdefault(kind(case), []).append(case)
    return [case for case in given if case in _drawn(kinds[kind(case)])[:most]]


def examples(most: int) -> int:
    """The number of examples of a property: `most` at night, a quarter of it by day."""
    return most if WHOLE else -(-most // 4)


def _drawn(given: list[Case]) -> list[Case]:
    """The cases in the order of their hashes, which is the same on every machine if no case contains a path."""
    return sorted(given, key=lambda case: crc32(repr(case).encode()))
