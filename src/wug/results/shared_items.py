"""The suites and items that compared runs share, and differences between their settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from wug import registry
from wug.errors import InputError, UnknownName
from wug.identity import IMPORTED, ModelId
from wug.labels import distinguishing, labelled
from wug.results.pairing import ColumnLoader, MetricColumn
from wug.results.reader import RunReader
from wug.results.records import Run, StoredResult
from wug.types import Outcome

LISTED = 20
"""Names that a warning lists."""
NONE = "no such option"


class Test(NamedTuple):
    """A suite on which at least two sides were evaluated."""

    name: str
    kind: str
    results: Mapping[int, tuple[StoredResult, ...]]
    """The results of each side, by index, that has one from each of its runs."""

    @property
    def first(self) -> StoredResult:
        """The first side's first result."""
        return next(iter(self.results.values()))[0]


class Shared(NamedTuple):
    """The runs of each side, the suites that they share, and warnings about the rest."""

    sides: tuple[tuple[Run, ...], ...]
    tests: tuple[Test, ...]
    warnings: tuple[str, ...]
    names: tuple[str, ...] = ()
    """What tells the sides apart, if they are results of one run."""


Version: TypeAlias = tuple[str, str, str]
"""Family, name and checksum of a suite."""
TestKey: TypeAlias = tuple[str, str, str, int]
"""Family, name, checksum, and which of a run's results of this suite it is."""


def test_of(stored: StoredResult) -> Version:
    """Family, name and checksum of the suite; imported results have no checksum."""
    result = stored.result
    return result.kind, result.suite, (result.signature.get("suite") or "").rpartition("@")[2]


def _as_own(stored: StoredResult, own: Mapping[str, set[Version]]) -> Version:
    """The same, where an imported result counts as one of the only version of the suite that was run here."""
    versions = own.get(stored.result.suite, set())
    imported = stored.result.signature.get(IMPORTED) is not None
    return next(iter(versions)) if imported and len(versions) == 1 else test_of(stored)


class ResultLoader:
    """Reads runs, their results and the columns of these, each once."""

    def __init__(self, reader: RunReader) -> None:
        self.reader = reader
        self.columns = ColumnLoader(reader)
        self._runs: dict[int, Run] | None = None
        self._results: dict[int, list[StoredResult]] = {}

    def runs(self) -> Mapping[int, Run]:
        """All runs by number."""
        if self._runs is None:
            self._runs = {run.id: run for run in self.reader.runs()}
        return self._runs

    def results(self, runs: Sequence[int]) -> Mapping[int, Sequence[StoredResult]]:
        """The results of these runs, and of others that were read before."""
        missing = [run for run in runs if run not in self._results]
        self._results |= self.reader.stored_by_run(missing) if missing else {}
        return self._results


def find_runs(loader: ResultLoader, numbers: Sequence[int]) -> list[Run]:
    """The runs with these numbers; InputError for one that is missing, still running or repeated."""
    known = loader.runs()
    runs: list[Run] = []
    for number in numbers:
        run = known.get(number) or loader.reader.run(number)
        if run in runs:
            raise InputError(f"run {number} is given twice")
        if run.status == "running":
            raise InputError(
                f"run {number} is still running, or was killed. Wait for it, or repeat its command, which resumes it: "
                f"{run.command}"
            )
        runs.append(run)
    return runs


def share(
    loader: ResultLoader,
    sides: Sequence[Sequence[int]],
    suites: Sequence[str],
    labels: Sequence[str],
    newest: Collection[int] = (),
) -> Shared:
    """The suites that two sides or more share, of the names in `suites`; those that one run has several results of.

    The runs of the sides at the places `newest` are not replicates: the newest result on each suite counts.
    """
    if [len(side) for side in sides] == [1]:
        return _within_run(loader, sides[0][0], suites)
    if len(sides) < 2 or not all(sides):
        raise InputError("a comparison needs at least two runs, or groups of runs: wug compare 1 2")
    found = iter(find_runs(loader, [number for side in sides for number in side]))
    runs = tuple(tuple(next(found) for _ in side) for side in sides)
    stored_by_run = loader.results([run.id for side in runs for run in side])
    results = [[stored_by_run[run.id] for run in side] for side in runs]
    for side_number in newest:
        results[side_number] = [_newest(results[side_number])]
    every = [stored for side in results for run in side for stored in run]
    for pattern in suites:
        if not any(fnmatchcase(stored.result.suite, pattern) for stored in every):
            raise UnknownName("suite", pattern, {stored.result.suite for stored in every})
    wanted = [stored for stored in every if is_wanted(stored.result.suite, suites)]
    tests: list[Test] = []
    warnings: list[str] = [*_ended_badly(runs), *_unusable(wanted)]
    lonely: dict[str, list[str]] = {}
    own: dict[str, set[Version]] = {}
    for stored in wanted:
        if stored.result.signature.get(IMPORTED) is None:
            own.setdefault(stored.result.suite, set()).add(test_of(stored))
    versions = {stored.id: _as_own(stored, own) for stored in every}
    numbered = [[_numbered(run, versions) for run in side] for side in results]
    chosen_ids = {stored.id for stored in wanted}
    keys = (key for side in numbered for run in side for key, stored in run.items() if stored.id in chosen_ids)
    named: dict[int, str] = {}
    for complete in (run for side in numbered for run in side):
        suites_of = labelled([stored.result for stored in complete.values()])
        named |= {stored.id: one.suite for stored, one in zip(complete.values(), suites_of, strict=True)}
    for key in dict.fromkeys(keys):
        has = {side_number: tuple(run[key] for run in side if key in run) for side_number, side in enumerate(numbered)}
        whole = {number: of_side for number, of_side in has.items() if len(of_side) == len(results[number])}
        if len(whole) > 1:
            tests.append(Test(named[next(iter(whole.values()))[0].id], key[0], whole))
        lacking = [number for number in has if number not in whole]
        single = all(len(results[number]) == 1 for number in lacking)
        missing = _lacking([labels[number] for number in lacking], single=single)
        if lacking and not any(one[:2] == key[:2] and one != key[:3] for one in versions.values()):
            lonely.setdefault(missing, []).append(key[1])
    warnings += [f"left out, since {who}: {_list(names)}" for who, names in lonely.items()]
    warnings += [*_versions(wanted, versions), *_imported(tests, labels)]
    if newest:
        tests = _newest_versions(tests)
    if not tests:
        raise InputError(f"the runs share no suite{' that matches' if suites else ''}. {_inventory(runs, results)}")
    return Shared(runs, tuple(tests), (*warnings, *_options(tests, labels)))


def is_wanted(suite: str, patterns: Sequence[str]) -> bool:
    """Whether a suite matches one of some patterns; all do if there are none."""
    return not patterns or any(fnmatchcase(suite, pattern) for pattern in patterns)


def choose(
    test: Test, columns: Mapping[int, Sequence[Mapping[str, MetricColumn]]], patterns: Sequence[str]
) -> list[str]:
    """The metrics to compare: those that match `patterns`, or the headline metrics, in the order of the estimates."""
    found = list(dict.fromkeys(metric for side in columns.values() for run in side for metric in run))
    order = list(dict.fromkeys(estimate.metric for estimate in test.first.result.estimates))
    metrics = sorted(found, key=lambda metric: order.index(metric) if metric in order else len(order))
    declared = {metric.name: metric for metric in test.first.result.metrics}
    divided = {name for name, metric in declared.items() if metric.by}
    names = {metric: base if (base := metric.partition(":")[0]) in divided else metric for metric in metrics}
    if patterns:
        return [m for m in metrics if any(fnmatchcase(name, p) for p in patterns for name in (m, names[m]))]
    return [m for m in metrics if names[m] in declared and declared[names[m]].headline] or metrics


def nothing_to_compare(reader: RunReader, tests: Sequence[Test], patterns: Sequence[str]) -> InputError | UnknownName:
    """The error if suites are shared but no outcome is."""
    outcomes = [metric for test in tests for metric in reader.rows(test.first.id).metrics()]
    derived = [metric.name for test in tests for metric in test.first.result.metrics if metric.derived]
    known = list(dict.fromkeys([*outcomes, *derived]))
    for pattern in patterns:
        if not any(fnmatchcase(metric, pattern) for metric in known):
            return UnknownName("metric", pattern, known)
    rows_of_sides = (reader.rows(side[0].id) for side in tests[0].results.values())
    items = list(dict.fromkeys(_first_item(rows.at(0).outcome) for rows in rows_of_sides if len(rows)))
    first = f". The first item is {' and '.join(items[:2])}: run both with the same options" if len(items) > 1 else ""
    return InputError(f"the runs share no item of any suite, so there is nothing to compare{first}")


def _first_item(outcome: Outcome) -> str:
    groups = "".join(f", {field} {value!r}" for field, value in outcome.groups.items())
    return f"{outcome.item!r}{groups}"


def _numbered(results: Sequence[StoredResult], versions: Mapping[int, Version]) -> dict[TestKey, StoredResult]:
    """The complete results of a run by their test: a run may have several of one suite, with different options."""
    by_test: dict[TestKey, StoredResult] = {}
    for stored in results:
        if stored.result.status == "complete":
            test = versions[stored.id]
            by_test[*test, sum(key[:3] == test for key in by_test)] = stored
    return by_test


def _within_run(loader: ResultLoader, number: int, suites: Sequence[str]) -> Shared:
    """The suites that a run has several results of, such as one for each method; each is a side."""
    (run,) = find_runs(loader, [number])
    tests: dict[Version, list[StoredResult]] = {}
    results = loader.results([number])[number]
    for key, stored in _numbered(results, {stored.id: test_of(stored) for stored in results}).items():
        if not suites or any(fnmatchcase(stored.result.suite, name) for name in suites):
            tests.setdefault(key[:3], []).append(stored)
    several = {key: same_test for key, same_test in tests.items() if len(same_test) > 1}
    if not several:
        raise InputError(
            "a comparison needs at least two runs, or groups of runs: wug compare 1 2. A single run is compared "
            "with itself if it has several results of a suite, such as those of -S method=direct,in_template"
        )
    longest = max(several.values(), key=len)
    return Shared(
        ((run,),) * len(longest),
        tuple(
            Test(key[1], key[0], {at: (one,) for at, one in enumerate(same_test)}) for key, same_test in several.items()
        ),
        tuple(_ended_badly([[run]])),
        tuple(distinguishing([stored.result for stored in longest])),
    )


def _imported(tests: Sequence[Test], labels: Sequence[str]) -> list[str]:
    """A warning if results of another program are compared with those of wug, or of a third one."""
    programs: dict[str, list[str]] = {}
    for test in tests:
        for side_number, side in test.results.items():
            for stored in side:
                signature = stored.result.signature
                name = f"imported, {signature.get('program')}" if signature.get(IMPORTED) else "wug"
                if labels[side_number] not in programs.setdefault(name, []):
                    programs[name].append(labels[side_number])
    listed = "; ".join(f"{', '.join(who)}: {name}" for name, who in programs.items())
    return [f"computed by different programs – {listed}"] if len(programs) > 1 else []


def _lacking(labels: Sequence[str], *, single: bool) -> str:
    """Why a suite is left out."""
    who = " and ".join(labels)
    if single:
        return f"{who} {'was' if len(labels) == 1 else 'were'} not evaluated on it"
    return f"not every run of {who} has it"


def _newest(side: Sequence[Sequence[StoredResult]]) -> list[StoredResult]:
    """The newest complete result of each test in any of the runs; an incomplete one if there is no other."""
    by_test: dict[tuple[str, str, str], StoredResult] = {}
    for stored in sorted((result for run in side for result in run), key=lambda result: result.id):
        if stored.result.status == "complete" or test_of(stored) not in by_test:
            by_test[test_of(stored)] = stored
    return list(by_test.values())


def _newest_versions(tests: Sequence[Test]) -> list[Test]:
    """The version of each suite with the newest result."""
    ages = {id(test): max(stored.id for side in test.results.values() for stored in side) for test in tests}
    latest = {(test.kind, test.name): test for test in sorted(tests, key=lambda test: ages[id(test)])}
    return [test for test in tests if latest[test.kind, test.name] is test]


def _ended_badly(sides: Sequence[Sequence[Run]]) -> list[str]:
    return [
        f"run {run.id} {'was interrupted' if run.status == 'interrupted' else f'is {run.status}'}: only the suites "
        "that it finished are compared"
        for side in sides
        for run in side
        if run.status != "complete"
    ]


def _unusable(results: Sequence[StoredResult]) -> list[str]:
    return [
        f"left out: suite {stored.result.suite} of run {stored.run}, which is {stored.result.status}"
        for stored in results
        if stored.result.status != "complete"
    ]


def _versions(results: Sequence[StoredResult], keys: Mapping[int, Version]) -> list[str]:
    """A warning for each suite that differs between runs."""
    versions: dict[tuple[str, str], dict[str, list[int]]] = {}
    for stored in results:
        kind, suite, version = keys[stored.id]
        versions.setdefault((kind, suite), {}).setdefault(version, []).append(stored.run)
    return [
        f"suite {suite} is not the same everywhere, and only equal versions are compared: "
        + "; ".join(
            f"run{'s' * (len(runs) > 1)} {_numbers(runs)} had {checksum}" for checksum, runs in runs_by_checksum.items()
        )
        for (_, suite), runs_by_checksum in versions.items()
        if len(runs_by_checksum) > 1
    ]


def _options(tests: Sequence[Test], labels: Sequence[str]) -> list[str]:
    """A warning for each option that differs between sides, with the suites."""
    suites_by_difference: dict[tuple[str, str], list[str]] = {}
    for test in tests:
        fields = [
            (labels[number], dict(stored.result.signature.fields))
            for number, side in test.results.items()
            for stored in side
        ]
        kinds = {ModelId.parse(each.get("model", "")).kind for _, each in fields}
        compared = ("suite", "model", *registry.family_traits(test.kind).compared_options)
        for key in dict.fromkeys(key for _, each in fields for key in each):
            values: dict[str, list[str]] = {}
            for label, each in fields:
                values.setdefault(each.get(key, NONE), []).append(label)
            # Backends have different options. For suites, only the sample size may be absent.
            by_nature = len(kinds) > 1 and NONE in values and key != "limit"
            if key not in (*compared, IMPORTED, "program") and len(values) > 1 and not by_nature:
                shown = {NONE: "none"} if key == "limit" else {}
                settings = "; ".join(
                    f"{', '.join(dict.fromkeys(who))}: {shown.get(value, value)}" for value, who in values.items()
                )
                suites_by_difference.setdefault((key, settings), []).append(test.name)
    return [
        f"different settings, {'version of wug' if key == 'wug' else key} – {settings} "
        f"({'every suite' if len(names) == len(tests) else _list(names)})"
        for (key, settings), names in suites_by_difference.items()
    ]


def _inventory(sides: Sequence[Sequence[Run]], results: Sequence[Sequence[Sequence[StoredResult]]]) -> str:
    sentences = []
    for runs, results_of_side in zip(sides, results, strict=True):
        for run, results_of_run in zip(runs, results_of_side, strict=True):
            complete = [test_of(stored) for stored in results_of_run if stored.result.status == "complete"]
            names = list(dict.fromkeys(f"{suite}@{mark}".removesuffix("@") for _, suite, mark in complete))
            sentences.append(f"Run {run.id} has {_list(names) if names else 'none'}")
    return ". ".join(sentences)


def _list(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _numbers(runs: Sequence[int]) -> str:
    return ", ".join(map(str, dict.fromkeys(runs)))
