"""What the runs to be compared have in common: the suites that they were asked, and how."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from wug.errors import InputError, UnknownName
from wug.runs._columns import Column, Kept, kept
from wug.runs.store import Run, Store

LISTED = 6
"""Names that a warning lists."""


NONE = "no such option"


@dataclass(frozen=True, slots=True)
class Test:
    """A suite that two sides or more were asked."""

    name: str
    kind: str
    kept: Mapping[int, tuple[Kept, ...]]
    """The results of each side (by its place) that has one from each of its runs."""

    @property
    def first(self) -> Kept:
        """The first side's first result."""
        return next(iter(self.kept.values()))[0]


@dataclass(frozen=True, slots=True)
class Shared:
    """The runs of each side, the suites that they share, and what is to be said about the rest."""

    sides: tuple[tuple[Run, ...], ...]
    tests: tuple[Test, ...]
    warnings: tuple[str, ...]


def find_runs(store: Store, numbers: Sequence[int]) -> list[Run]:
    """The runs of these numbers, or an error about one that is not there, not ended, or named twice."""
    known = {run.id: run for run in store.runs()}
    found: list[Run] = []
    for number in numbers:
        run = known.get(number) or store.run(number)
        if run in found:
            raise InputError(f"run {number} is given twice: a run does not differ from itself")
        if run.status == "running":
            raise InputError(
                f"run {number} has not ended: it is still running, or was killed. Wait for it, or give its command "
                f"again, which takes it up where it was: {run.command}"
            )
        found.append(run)
    return found


def share(
    store: Store, db: sqlite3.Connection, sides: Sequence[Sequence[int]], suites: Sequence[str], labels: Sequence[str]
) -> Shared:
    """The suites that two sides or more share, of the names in `suites`."""
    if len(sides) < 2 or not all(sides):
        raise InputError("a comparison needs two runs, or two groups of runs, at least: wug compare 1 2")
    found = iter(find_runs(store, [number for side in sides for number in side]))
    runs = tuple(tuple(next(found) for _ in side) for side in sides)
    results = [[kept(db, run.id) for run in side] for side in runs]
    every = [one for side in results for run in side for one in run]
    for pattern in suites:
        if not any(fnmatchcase(one.suite, pattern) for one in every):
            raise UnknownName("suite", pattern, {one.suite for one in every})
    wanted = [one for one in every if not suites or any(fnmatchcase(one.suite, name) for name in suites)]
    tests: list[Test] = []
    warnings: list[str] = [*_ended_badly(runs), *_unusable(wanted)]
    lonely: dict[str, list[str]] = {}
    for key in dict.fromkeys(one.test for one in wanted if one.status == "complete"):
        has = {place: _of(side, key) for place, side in enumerate(results)}
        whole = {place: mine for place, mine in has.items() if len(mine) == len(runs[place])}
        if len(whole) > 1:
            tests.append(Test(key[1], key[0], whole))
        missing = " and ".join(labels[place] for place in has if place not in whole)
        if missing and not _elsewhere(wanted, key):
            lonely.setdefault(missing, []).append(key[1])
    warnings += [f"left out, since not every run of {who} has it: {_list(names)}" for who, names in lonely.items()]
    warnings += _versions(wanted)
    if not tests:
        raise InputError(
            f"the runs share no suite{' of those asked for' if suites else ''}. {_inventory(runs, results)}"
        )
    return Shared(runs, tuple(tests), (*warnings, *_options(tests, labels)))


def choose(test: Test, columns: Mapping[int, Sequence[Mapping[str, Column]]], patterns: Sequence[str]) -> list[str]:
    """The checks to compare: those that `patterns` name, or those for a first look."""
    checks = list(dict.fromkeys(check for side in columns.values() for run in side for check in run))
    if patterns:
        return [check for check in checks if any(fnmatchcase(check, pattern) for pattern in patterns)]
    return [check for check in checks if check in test.first.headlines] or checks


def nothing_to_compare(
    db: sqlite3.Connection, tests: Sequence[Test], patterns: Sequence[str]
) -> InputError | UnknownName:
    """The error where suites are shared and no outcome is."""
    rows = [
        row[0]
        for test in tests
        for row in db.execute("SELECT DISTINCT measure FROM outcomes WHERE result = ?", (test.first.id,))
    ]
    known = list(dict.fromkeys(rows))
    for pattern in patterns:
        if not any(fnmatchcase(check, pattern) for check in known):
            return UnknownName("check", pattern, known)
    return InputError("the runs share no item of any suite, so there is nothing to compare")


def _of(side: Sequence[Sequence[Kept]], key: tuple[str, str, str]) -> tuple[Kept, ...]:
    """The first complete result of a test in each run of a side that has one."""
    found = (next((one for one in run if one.test == key and one.status == "complete"), None) for run in side)
    return tuple(one for one in found if one is not None)


def _elsewhere(results: Sequence[Kept], key: tuple[str, str, str]) -> bool:
    """Whether another version of the suite was asked too, which has a warning of its own."""
    return any(one.test[:2] == key[:2] and one.test != key for one in results)


def _ended_badly(sides: Sequence[Sequence[Run]]) -> list[str]:
    return [
        f"run {run.id} {'was interrupted' if run.status == 'interrupted' else f'is {run.status}'}: only the suites "
        "that it finished are compared"
        for side in sides
        for run in side
        if run.status != "complete"
    ]


def _unusable(results: Sequence[Kept]) -> list[str]:
    return [
        f"left out: suite {one.suite} of run {one.run}, which is {one.status}"
        for one in results
        if one.status != "complete"
    ]


def _versions(results: Sequence[Kept]) -> list[str]:
    """A warning for each suite of which runs were asked different versions."""
    versions: dict[tuple[str, str], dict[str, list[int]]] = {}
    for one in results:
        versions.setdefault(one.test[:2], {}).setdefault(one.test[2], []).append(one.run)
    return [
        f"suite {suite} is not the same everywhere, and only equal versions are compared: "
        + "; ".join(f"run{'s' * (len(runs) > 1)} {_numbers(runs)} had {mark}" for mark, runs in marks.items())
        for (_, suite), marks in versions.items()
        if len(marks) > 1
    ]


def _options(tests: Sequence[Test], labels: Sequence[str]) -> list[str]:
    """A warning for each option that was not the same for all, with the suites that it is about."""
    found: dict[tuple[str, str], list[str]] = {}
    for test in tests:
        fields = [(labels[place], one.fields) for place, side in test.kept.items() for one in side]
        kinds = {each.get("model", "").partition("/")[0] for _, each in fields}
        for key in dict.fromkeys(key for _, each in fields for key in each):
            values: dict[str, list[str]] = {}
            for label, each in fields:
                values.setdefault(each.get(key, NONE), []).append(label)
            # What one kind of model has as an option, another need not have; only a sample shows so for suites.
            by_nature = len(kinds) > 1 and NONE in values and key != "limit"
            if key not in ("suite", "model") and len(values) > 1 and not by_nature:
                said = "; ".join(f"{', '.join(dict.fromkeys(who))}: {value}" for value, who in values.items())
                found.setdefault((key, said), []).append(test.name)
    return [
        f"not asked in the same way, {'version of wug' if key == 'wug' else key} – {said} "
        f"({'every suite' if len(names) == len(tests) else _list(names)})"
        for (key, said), names in found.items()
    ]


def _inventory(sides: Sequence[Sequence[Run]], results: Sequence[Sequence[Sequence[Kept]]]) -> str:
    said = []
    for runs, found in zip(sides, results, strict=True):
        for run, own in zip(runs, found, strict=True):
            names = list(dict.fromkeys(f"{one.suite}@{one.test[2]}" for one in own if one.status == "complete"))
            said.append(f"Run {run.id} has {_list(names) if names else 'none'}")
    return ". ".join(said)


def _list(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _numbers(runs: Sequence[int]) -> str:
    return ", ".join(map(str, dict.fromkeys(runs)))
