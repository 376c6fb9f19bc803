"""What the runs to be compared have in common: the suites that they were asked, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from wug import registry
from wug.errors import InputError, UnknownName
from wug.identity import OVERALL, ModelId
from wug.results.pairing import ColumnLoader, MetricColumn
from wug.results.reader import RunReader
from wug.results.records import Run, StoredResult
from wug.results.store import Store
from wug.tables import RowTable
from wug.types import Outcome, Result

LISTED = 6
"""Names that a warning lists."""
NONE = "no such option"


@dataclass(frozen=True, slots=True)
class Test:
    """A suite that two sides or more were asked."""

    name: str
    kind: str
    results: Mapping[int, tuple[StoredResult, ...]]
    """The results of each side (by its place) that has one from each of its runs."""

    @property
    def first(self) -> StoredResult:
        """The first side's first result."""
        return next(iter(self.results.values()))[0]


@dataclass(frozen=True, slots=True)
class Shared:
    """The runs of each side, the suites that they share, and what is to be answers about the rest."""

    sides: tuple[tuple[Run, ...], ...]
    tests: tuple[Test, ...]
    warnings: tuple[str, ...]


def test_of(stored: StoredResult) -> tuple[str, str, str]:
    """What was asked: family, name and checksum."""
    result = stored.result
    return result.kind, result.suite, (result.signature.get("suite") or "").rpartition("@")[2]


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
    """The runs of these numbers, or an error about one that is not there, not ended, or named twice."""
    known = loader.runs()
    found: list[Run] = []
    for number in numbers:
        run = known.get(number) or loader.reader.run(number)
        if run in found:
            raise InputError(f"run {number} is given twice: a run does not differ from itself")
        if run.status == "running":
            raise InputError(
                f"run {number} has not ended: it is still running, or was killed. Wait for it, or give its command "
                f"again, which takes it up where it was: {run.command}"
            )
        found.append(run)
    return found


def share(loader: ResultLoader, sides: Sequence[Sequence[int]], suites: Sequence[str], labels: Sequence[str]) -> Shared:
    """The suites that two sides or more share, of the names in `suites`."""
    if len(sides) < 2 or not all(sides):
        raise InputError("a comparison needs two runs, or two groups of runs, at least: wug compare 1 2")
    found = iter(find_runs(loader, [number for side in sides for number in side]))
    runs = tuple(tuple(next(found) for _ in side) for side in sides)
    stored_by_run = loader.results([run.id for side in runs for run in side])
    results = [[stored_by_run[run.id] for run in side] for side in runs]
    every = [stored for side in results for run in side for stored in run]
    for pattern in suites:
        if not any(fnmatchcase(stored.result.suite, pattern) for stored in every):
            raise UnknownName("suite", pattern, {stored.result.suite for stored in every})
    chosen = suites or ["*"]
    wanted = [stored for stored in every if any(fnmatchcase(stored.result.suite, name) for name in chosen)]
    tests: list[Test] = []
    warnings: list[str] = [*_ended_badly(runs), *_unusable(wanted)]
    lonely: dict[str, list[str]] = {}
    for key in dict.fromkeys(test_of(stored) for stored in wanted if stored.result.status == "complete"):
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


def choose(
    test: Test, columns: Mapping[int, Sequence[Mapping[str, MetricColumn]]], patterns: Sequence[str]
) -> list[str]:
    """The metrics to compare: those that `patterns` name, or those for a first look."""
    metrics = list(dict.fromkeys(metric for side in columns.values() for run in side for metric in run))
    declared = {metric.name: metric for metric in test.first.result.metrics}
    divided = {name for name, metric in declared.items() if metric.by}
    names = {metric: base if (base := metric.partition(":")[0]) in divided else metric for metric in metrics}
    if patterns:
        return [m for m in metrics if any(fnmatchcase(name, p) for p in patterns for name in (m, names[m]))]
    return [m for m in metrics if names[m] in declared and declared[names[m]].headline] or metrics


def nothing_to_compare(reader: RunReader, tests: Sequence[Test], patterns: Sequence[str]) -> InputError | UnknownName:
    """The error where suites are shared and no outcome is."""
    known = list(dict.fromkeys(metric for test in tests for metric in reader.rows(test.first.id).metrics()))
    for pattern in patterns:
        if not any(fnmatchcase(metric, pattern) for metric in known):
            return UnknownName("metric", pattern, known)
    some = (reader.rows(side[0].id) for side in tests[0].results.values())
    named = list(dict.fromkeys(_first_item(rows.at(0).outcome) for rows in some if len(rows)))
    first = f". The first item is {' and '.join(named[:2])}: run both with the same options" if len(named) > 1 else ""
    return InputError(f"the runs share no item of any suite, so there is nothing to compare{first}")


def _first_item(outcome: Outcome) -> str:
    groups = "".join(f", {field} {value!r}" for field, value in outcome.groups.items())
    return f"{outcome.item!r}{groups}"


def _of(side: Sequence[Sequence[StoredResult]], key: tuple[str, str, str]) -> tuple[StoredResult, ...]:
    """The first complete result of a test in each run of a side that has one."""
    found = (
        [stored for stored in run if test_of(stored) == key and stored.result.status == "complete"] for run in side
    )
    return tuple(results[0] for results in found if results)


def _elsewhere(results: Sequence[StoredResult], key: tuple[str, str, str]) -> bool:
    """Whether another version of the suite was asked too, which has a warning of its own."""
    return any(test_of(stored)[:2] == key[:2] and test_of(stored) != key for stored in results)


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


def _versions(results: Sequence[StoredResult]) -> list[str]:
    """A warning for each suite of which runs were asked different versions."""
    versions: dict[tuple[str, str], dict[str, list[int]]] = {}
    for stored in results:
        versions.setdefault(test_of(stored)[:2], {}).setdefault(test_of(stored)[2], []).append(stored.run)
    return [
        f"suite {suite} is not the same everywhere, and only equal versions are compared: "
        + "; ".join(f"run{'s' * (len(runs) > 1)} {_numbers(runs)} had {checksum}" for checksum, runs in found.items())
        for (_, suite), found in versions.items()
        if len(found) > 1
    ]


def _options(tests: Sequence[Test], labels: Sequence[str]) -> list[str]:
    """A warning for each option that was not the same for all, with the suites that it is about."""
    found: dict[tuple[str, str], list[str]] = {}
    for test in tests:
        signatures = [(place, stored.result.signature) for place, side in test.results.items() for stored in side]
        fields = [(labels[place], dict(signature.fields)) for place, signature in signatures]
        kinds = {ModelId.parse(each.get("model", "")).kind for _, each in fields}
        compared = ("suite", "model", *(registry.offered("families", test.kind, "COMPARED_OPTIONS") or ()))
        for key in dict.fromkeys(key for _, each in fields for key in each):
            values: dict[str, list[str]] = {}
            for label, each in fields:
                values.setdefault(each.get(key, NONE), []).append(label)
            # What one kind of model has as an option, another need not have; only a sample shows so for suites.
            by_nature = len(kinds) > 1 and NONE in values and key != "limit"
            if key not in compared and len(values) > 1 and not by_nature:
                told = {NONE: "none"} if key == "limit" else {}
                answers = "; ".join(
                    f"{', '.join(dict.fromkeys(who))}: {told.get(value, value)}" for value, who in values.items()
                )
                found.setdefault((key, answers), []).append(test.name)
    return [
        f"not asked in the same way, {'version of wug' if key == 'wug' else key} – {answers} "
        f"({'every suite' if len(names) == len(tests) else _list(names)})"
        for (key, answers), names in found.items()
    ]


def _inventory(sides: Sequence[Sequence[Run]], results: Sequence[Sequence[Sequence[StoredResult]]]) -> str:
    sentences = []
    for runs, found in zip(sides, results, strict=True):
        for run, some in zip(runs, found, strict=True):
            complete = [test_of(stored) for stored in some if stored.result.status == "complete"]
            names = list(dict.fromkeys(f"{suite}@{checksum}" for _, suite, checksum in complete))
            sentences.append(f"Run {run.id} has {_list(names) if names else 'none'}")
    return ". ".join(sentences)


def _list(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _numbers(runs: Sequence[int]) -> str:
    return ", ".join(map(str, dict.fromkeys(runs)))


OWN_PROTOCOL = "wug"
"""What follows no other protocol."""
PROTOCOL_RULES = ("bos", "pll", "ties", "join", "leading_space", "normalise", "link", "tokens")
"""Fields of a signature that protocols set."""
PROTOCOL_COLUMNS = ("run", "suite", "model", "protocol", "rules", "metric", "value", "n", "shared_items", "changed")


def protocol_table(store: Store, runs: Sequence[int], suites: Sequence[str] = ()) -> RowTable:
    """One row per run and suite: the protocol, its rules, the score, and the judgements that it changes.

    Args:
        store: The run store.
        runs: Runs of one model or several; each is compared with the first of the same model.
        suites: Patterns of suites; empty for all.

    Raises:
        InputError: If no model was run under two protocols.
    """
    found = [(number, result) for number in runs for result in store.results(number)]
    kept = [(number, one) for number, one in found if not suites or any(fnmatchcase(one.suite, s) for s in suites)]
    protocols: dict[str, set[str]] = {}
    for _, result in kept:
        protocols.setdefault(result.model, set()).add(_protocol(result))
    if not any(len(own) > 1 for own in protocols.values()):
        raise InputError("these runs follow one protocol: run the suite again with --protocol NAME, and name both runs")
    units = {"value": "share"}
    return RowTable(PROTOCOL_COLUMNS, list(_protocol_rows(kept)), units=units)


def _protocol_rows(kept: Sequence[tuple[int, Result]]) -> Iterator[tuple[object, ...]]:
    firsts: dict[str, dict[str, object]] = {}
    for number, result in kept:
        metric = next((one.name for one in result.metrics if one.headline), result.metrics[0].name)
        verdicts = {one.item: one.value for one in result.outcomes if one.metric == metric}
        first = firsts.setdefault(result.model, dict(verdicts))
        shared = first.keys() & verdicts.keys()
        changed = sum(first[item] != verdicts[item] for item in shared)
        overall = next((one for one in result.estimates if (one.metric, one.group) == (metric, OVERALL)), None)
        rules = " ".join(
            f"{key}:{set_to}" for key in PROTOCOL_RULES if (set_to := result.signature.get(key)) is not None
        )
        value, n = (None, 0) if overall is None else (overall.value, overall.n)
        yield number, result.suite, result.model, _protocol(result), rules, metric, value, n, len(shared), changed


def _protocol(result: Result) -> str:
    return result.signature.get("protocol") or OWN_PROTOCOL
