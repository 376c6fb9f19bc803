"""The suites and items that compared runs share, and differences between their settings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from wug import registry
from wug.errors import InputError
from wug.formatting import first_items
from wug.identity import IMPORTED, ModelId
from wug.labels import distinguishing_options, label_repeats
from wug.outcomes import Outcome, Result
from wug.patterns import matches, require_matches
from wug.results.records import Run, StoredResult
from wug.results.result_loader import ComparedRuns, MetricColumn, ResultLoader

LISTED = 20
"""Names that a warning lists."""
NONE = "no such option"


class SharedSuite(NamedTuple):
    """A suite on which at least two sides were evaluated."""

    name: str
    kind: str
    results: Mapping[int, tuple[StoredResult, ...]]
    """The results of each side, by index, that has one from each of its runs."""

    @property
    def first(self) -> StoredResult:
        """The first side's first result."""
        return next(iter(self.results.values()))[0]


class SharedSuites(NamedTuple):
    """The runs of each side, the suites that they share, and warnings about the rest."""

    sides: tuple[tuple[Run, ...], ...]
    suites: tuple[SharedSuite, ...]
    warnings: tuple[str, ...]
    names: tuple[str, ...] = ()
    """What tells the sides apart, if they are results of one run."""


SuiteVersion: TypeAlias = tuple[str, str, str]
"""Family, name and checksum of a suite."""
SuiteKey: TypeAlias = tuple[str, str, str, int]
"""Family, name, checksum, and which of a run's results of this suite it is."""


def version_of(stored: StoredResult) -> SuiteVersion:
    """Family, name and checksum of the suite; imported results have no checksum."""
    result = stored.result
    return result.kind, result.suite, (result.signature.get("suite") or "").rpartition("@")[2]


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


def find_shared_suites(
    loader: ResultLoader,
    sides: Sequence[Sequence[int]],
    patterns: Sequence[str],
    labels: Sequence[str],
    newest: Collection[int] = (),
) -> SharedSuites:
    """The suites that match `patterns` and that two sides or more share; those that one run has several results of.

    The runs of the sides at the places `newest` are not replicates: the newest result on each suite counts.
    """
    if [len(side) for side in sides] == [1]:
        return _within_run(loader, sides[0][0], patterns)
    if len(sides) < 2 or not all(sides):
        raise InputError("a comparison needs at least two runs, or groups of runs: wug compare 1 2")
    found = iter(find_runs(loader, [number for side in sides for number in side]))
    runs = tuple(tuple(next(found) for _ in side) for side in sides)
    stored_by_run = loader.results([run.id for side in runs for run in side])
    results = [[stored_by_run[run.id] for run in side] for side in runs]
    for side_number in newest:
        results[side_number] = [_newest(results[side_number])]
    every = [stored for side in results for run in side for stored in run]
    require_matches("suite", patterns, (stored.result.suite for stored in every))
    wanted = [stored for stored in every if matches(stored.result.suite, patterns)]
    versions = _versions_of(every, wanted)
    suites, left_out = _matched(results, wanted, versions, labels)
    warnings = _warn_unfinished_runs(runs)
    warnings += [
        f"left out: suite {stored.result.suite} of run {stored.run}, which is {stored.result.status}"
        for stored in wanted
        if stored.result.status != "complete"
    ]
    warnings += [*left_out, *_several_versions(wanted, versions), *_imported(suites, labels)]
    if newest:  # of each suite, the version with the newest result
        latest = {(suite.kind, suite.name): suite for suite in sorted(suites, key=_newest_result)}
        suites = [suite for suite in suites if latest[suite.kind, suite.name] is suite]
    if not suites:
        which = " that matches" if patterns else ""
        raise InputError(f"the runs share no suite{which}. {_inventory(runs, results)}")
    return SharedSuites(runs, tuple(suites), (*warnings, *_options(suites, labels)))


def _versions_of(every: Sequence[StoredResult], wanted: Sequence[StoredResult]) -> dict[int, SuiteVersion]:
    """The suite of each result; that of an imported result is the only version that was run here, if there is one."""
    evaluated: dict[str, set[SuiteVersion]] = {}
    for stored in wanted:
        if stored.result.signature.get(IMPORTED) is None:
            evaluated.setdefault(stored.result.suite, set()).add(version_of(stored))
    versions = {}
    for stored in every:
        candidates = evaluated.get(stored.result.suite, set())
        imported = stored.result.signature.get(IMPORTED) is not None
        versions[stored.id] = next(iter(candidates)) if imported and len(candidates) == 1 else version_of(stored)
    return versions


def _matched(
    results: Sequence[Sequence[Sequence[StoredResult]]],
    wanted: Sequence[StoredResult],
    versions: Mapping[int, SuiteVersion],
    labels: Sequence[str],
) -> tuple[list[SharedSuite], list[str]]:
    """The suites that at least two sides share, and warnings about those that a side lacks."""
    numbered = [[_numbered(run, versions) for run in side] for side in results]
    names: dict[int, str] = {}
    for run in (run for side in numbered for run in side):
        labels_of_run = label_repeats([stored.result for stored in run.values()])
        names |= {stored.id: label.suite for stored, label in zip(run.values(), labels_of_run, strict=True)}
    wanted_ids = {stored.id for stored in wanted}
    keys = (key for side in numbered for run in side for key, stored in run.items() if stored.id in wanted_ids)
    shared: list[SharedSuite] = []
    unshared: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        by_side = {number: tuple(run[key] for run in side if key in run) for number, side in enumerate(numbered)}
        complete = {number: of_side for number, of_side in by_side.items() if len(of_side) == len(results[number])}
        if len(complete) > 1:
            first = next(iter(complete.values()))[0]
            shared.append(SharedSuite(names[first.id], key[0], complete))
        lacking = [number for number in by_side if number not in complete]
        if lacking and not any(one[:2] == key[:2] and one != key[:3] for one in versions.values()):
            who = " and ".join(labels[number] for number in lacking)
            lack = f"{who} {'was' if len(lacking) == 1 else 'were'} not evaluated on it"
            if any(len(results[number]) > 1 for number in lacking):
                lack = f"not every run of {who} has it"
            unshared.setdefault(lack, []).append(key[1])
    return shared, [f"left out, since {lack}: {first_items(suites, LISTED)}" for lack, suites in unshared.items()]


def choose_metrics(result: Result, columns: Iterable[Mapping[str, MetricColumn]], patterns: Sequence[str]) -> list[str]:
    """The metrics to compare: those that match `patterns`, or the headline metrics, in the order of the estimates."""
    order = list(dict.fromkeys(estimate.metric for estimate in result.estimates))
    metrics = sorted(
        dict.fromkeys(metric for run in columns for metric in run),
        key=lambda metric: order.index(metric) if metric in order else len(order),
    )
    declared = {metric: result.declared_metric(metric) for metric in metrics}
    if patterns:
        names = {name: (name, metric.name if metric else name) for name, metric in declared.items()}
        return [name for name in metrics if any(matches(one, patterns) for one in names[name])]
    return [name for name, metric in declared.items() if metric and metric.headline] or metrics


def no_shared_outcomes(reader: ComparedRuns, suites: Sequence[SharedSuite], patterns: Sequence[str]) -> InputError:
    """The error if suites are shared but no outcome is."""
    outcomes = [metric for suite in suites for metric in reader.rows(suite.first.id).metrics()]
    derived = [metric.name for suite in suites for metric in suite.first.result.metrics if metric.derived]
    known = list(dict.fromkeys([*outcomes, *derived]))
    require_matches("metric", patterns, known)
    rows_of_sides = (reader.rows(side[0].id) for side in suites[0].results.values())
    items = list(dict.fromkeys(_first_item(rows.at(0).outcome) for rows in rows_of_sides if len(rows)))
    first = f". The first item is {' and '.join(items[:2])}: run both with the same options" if len(items) > 1 else ""
    return InputError(f"the runs share no item of any suite, so there is nothing to compare{first}")


def _first_item(outcome: Outcome) -> str:
    groups = "".join(f", {field} {value!r}" for field, value in outcome.groups.items())
    return f"{outcome.item!r}{groups}"


def _numbered(results: Sequence[StoredResult], versions: Mapping[int, SuiteVersion]) -> dict[SuiteKey, StoredResult]:
    """The complete results of a run by their suite: a run may have several of one, with different options."""
    numbered: dict[SuiteKey, StoredResult] = {}
    for stored in results:
        if stored.result.status == "complete":
            version = versions[stored.id]
            numbered[*version, sum(key[:3] == version for key in numbered)] = stored
    return numbered


def _within_run(loader: ResultLoader, number: int, patterns: Sequence[str]) -> SharedSuites:
    """The suites that a run has several results of, such as one for each method; each is a side."""
    (run,) = find_runs(loader, [number])
    by_version: dict[SuiteVersion, list[StoredResult]] = {}
    results = loader.results([number])[number]
    for key, stored in _numbered(results, {stored.id: version_of(stored) for stored in results}).items():
        if matches(stored.result.suite, patterns):
            by_version.setdefault(key[:3], []).append(stored)
    several = {version: same_suite for version, same_suite in by_version.items() if len(same_suite) > 1}
    if not several:
        raise InputError(
            "a comparison needs at least two runs, or groups of runs: wug compare 1 2. A single run is compared "
            "with itself if it has several results of a suite, such as those of -S method=direct,in_template"
        )
    longest = max(several.values(), key=len)
    return SharedSuites(
        ((run,),) * len(longest),
        tuple(
            SharedSuite(suite, kind, {place: (stored,) for place, stored in enumerate(same_suite)})
            for (kind, suite, _), same_suite in several.items()
        ),
        tuple(_warn_unfinished_runs([[run]])),
        tuple(distinguishing_options([stored.result for stored in longest])),
    )


def _imported(suites: Sequence[SharedSuite], labels: Sequence[str]) -> list[str]:
    """A warning if results of another program are compared with those of wug, or of a third one."""
    programs: dict[str, list[str]] = {}
    for suite in suites:
        for side_number, side in suite.results.items():
            for stored in side:
                signature = stored.result.signature
                name = f"imported, {signature.get('program')}" if signature.get(IMPORTED) else "wug"
                if labels[side_number] not in programs.setdefault(name, []):
                    programs[name].append(labels[side_number])
    listed = "; ".join(f"{', '.join(who)}: {name}" for name, who in programs.items())
    return [f"computed by different programs – {listed}"] if len(programs) > 1 else []


def _newest(side: Sequence[Sequence[StoredResult]]) -> list[StoredResult]:
    """The newest complete result of each suite in any of the runs; an incomplete one if there is no other."""
    newest: dict[SuiteVersion, StoredResult] = {}
    for stored in sorted((result for run in side for result in run), key=lambda result: result.id):
        if stored.result.status == "complete" or version_of(stored) not in newest:
            newest[version_of(stored)] = stored
    return list(newest.values())


def _newest_result(suite: SharedSuite) -> int:
    return max(stored.id for side in suite.results.values() for stored in side)


def _warn_unfinished_runs(sides: Sequence[Sequence[Run]]) -> list[str]:
    return [
        f"run {run.id} {'was interrupted' if run.status == 'interrupted' else f'is {run.status}'}: only the suites "
        "that it finished are compared"
        for side in sides
        for run in side
        if run.status != "complete"
    ]


def _several_versions(results: Sequence[StoredResult], keys: Mapping[int, SuiteVersion]) -> list[str]:
    """A warning for each suite that differs between runs."""
    versions: dict[tuple[str, str], dict[str, list[int]]] = {}
    for stored in results:
        kind, suite, version = keys[stored.id]
        versions.setdefault((kind, suite), {}).setdefault(version, []).append(stored.run)
    return [
        f"suite {suite} is not the same everywhere, and only equal versions are compared: "
        + "; ".join(
            f"run{'s' * (len(runs) > 1)} {', '.join(map(str, dict.fromkeys(runs)))} had {checksum}"
            for checksum, runs in runs_by_checksum.items()
        )
        for (_, suite), runs_by_checksum in versions.items()
        if len(runs_by_checksum) > 1
    ]


def _options(suites: Sequence[SharedSuite], labels: Sequence[str]) -> list[str]:
    """A warning for each option that differs between sides, with the suites."""
    suites_by_difference: dict[tuple[str, str], list[str]] = {}
    for suite in suites:
        fields = [
            (labels[number], dict(stored.result.signature.fields))
            for number, side in suite.results.items()
            for stored in side
        ]
        kinds = {ModelId.parse(each.get("model", "")).backend for _, each in fields}
        compared = ("suite", "model", *registry.family_traits(suite.kind).compared_options)
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
                suites_by_difference.setdefault((key, settings), []).append(suite.name)
    return [
        f"different settings, {'version of wug' if key == 'wug' else key} – {settings} "
        f"({'every suite' if len(names) == len(suites) else first_items(names, LISTED)})"
        for (key, settings), names in suites_by_difference.items()
    ]


def _inventory(sides: Sequence[Sequence[Run]], results: Sequence[Sequence[Sequence[StoredResult]]]) -> str:
    sentences = []
    for runs, results_of_side in zip(sides, results, strict=True):
        for run, results_of_run in zip(runs, results_of_side, strict=True):
            complete = [version_of(stored) for stored in results_of_run if stored.result.status == "complete"]
            names = list(dict.fromkeys(f"{suite}@{mark}".removesuffix("@") for _, suite, mark in complete))
            sentences.append(f"Run {run.id} has {first_items(names, LISTED) or 'none'}")
    return ". ".join(sentences)
