"""Results as tables: which estimates are shown, and the rows for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from wug import registry
from wug.errors import InputError, UnknownName
from wug.formatting import format_estimate, headline_estimate
from wug.identity import OVERALL, Group
from wug.labels import short_names
from wug.outcomes import DATASET_KEY, Estimate, Result
from wug.patterns import matches
from wug.tables import ColumnType, Display, FormattedTable, RowTable
from wug.views.provenance import dataset_record

ALL_FIELDS = OVERALL
"""The name that selects every breakdown."""
MAX_DEFAULT_GROUPS = 24
"""Groups of a field by which results are broken down by default."""
COLUMNS = ("suite", "kind", "model", "metric", "group", "value", "n", "low", "high", "method", "signature")
NUMBERS: Mapping[str, ColumnType] = {"value": float, "n": int, "low": float, "high": float}
OWN_PROTOCOL = "wug"
"""The protocol of results that name no other."""
PROTOCOL_RULES = ("bos", "pll", "ties", "join", "leading_space", "normalise", "link", "tokens")
"""Fields of a signature that protocols set."""
PROTOCOL_COLUMNS = ("run", "suite", "model", "protocol", "rules", "metric", "value", "n", "shared_items", "changed")


def headline(result: Result) -> Result:
    """The result with its headline estimate only; one for each group if its metric has no mean over them."""
    group_estimates = tuple(estimate for estimate in result.headlines if result.metric(estimate.metric).split_by)
    return replace(result, estimates=group_estimates or (() if result.headline is None else (result.headline,)))


def with_effects(result: Result) -> Result:
    """The result with its effects and margins among the headlines."""
    return replace(
        result,
        metrics=tuple(replace(metric, headline=metric.headline or bool(metric.derived)) for metric in result.metrics),
    )


def fields(result: Result) -> dict[str, int]:
    """The fields that a result is broken down by, with their numbers of groups; those with one group are left out."""
    groups = dict.fromkeys(estimate.group for estimate in result.estimates if result.metric(estimate.metric).headline)
    counts = Counter(group.field for group in map(Group.parse, groups) if not group.is_overall)
    return {name: count for name, count in counts.items() if count > 1}


def default_field(result: Result) -> str | None:
    """The field that results are broken down by unless the user chooses."""
    small_fields = [name for name, count in fields(result).items() if count <= MAX_DEFAULT_GROUPS]
    preferred_fields = registry.family_traits(result.kind).breakdown
    return next((name for name in (*preferred_fields, *small_fields) if name in small_fields), None)


def break_down(results: Sequence[Result], by: Sequence[str]) -> list[Result]:
    """The results with their estimates over all items and over the groups of some fields."""
    fields = {Group.parse(estimate.group).field for result in results for estimate in result.estimates}
    known_fields = fields - {OVERALL}
    for name in by:
        if not known_fields:
            raise InputError(f"these results are not broken down by any field, so not by {name!r}")
        if name not in known_fields and name != ALL_FIELDS:
            raise UnknownName("field", name, known_fields | {ALL_FIELDS})
    if ALL_FIELDS in by:
        return list(results)
    selected_fields = {OVERALL, *by}
    return [
        replace(result, estimates=tuple(e for e in result.estimates if Group.parse(e.group).field in selected_fields))
        for result in results
    ]


def estimate_table(results: Sequence[Result], format: str = "") -> RowTable:
    """One row per estimate; as tsv, suites of one family have the family's own table if it has one."""
    kinds = {result.kind for result in results}
    make = registry.family_of(next(iter(kinds))).tsv if format == "tsv" and len(kinds) == 1 else None
    if make is not None:
        return RowTable(*make(results))
    return RowTable(
        COLUMNS,
        [
            (r.suite, r.kind, r.model, e.metric, e.group, e.value, e.n, e.low, e.high, e.method, str(r.signature))
            for r in results
            for e in r.estimates
        ],
        {name: NUMBERS.get(name, str) for name in COLUMNS},
        display=_display(results),
        document=[_document(result) for result in results],
    )


def wide_table(results: Sequence[Result], labels: Mapping[str, str] | None = None) -> RowTable:
    """The headlines of models (rows) on suites (columns), with the best value of each suite in bold.

    `labels` are names of models, by id or short name. A later result of a model and suite replaces an earlier one.
    """
    names = short_names(result.model for result in results)
    labels = labels or {}
    for name in labels:
        if name not in {*names, *names.values()}:
            raise UnknownName("model", name, {*names, *names.values()})
    suites = list(dict.fromkeys(result.suite for result in results))
    by_cell = {(result.model, result.suite): result for result in results if result.headline is not None}
    columns = [[by_cell.get((model, suite)) for model in names] for suite in suites]
    model_labels = [labels.get(model, labels.get(short_name, short_name)) for model, short_name in names.items()]
    bold = {(line, column) for column, column_results in enumerate(columns, 1) for line in _best(column_results)}
    headlines = [list(map(headline_estimate, column)) for column in columns]
    texts = [["" if estimate is None else estimate.text for estimate in column] for column in headlines]
    values = [[None if estimate is None else estimate.value for estimate in column] for column in headlines]
    head = ["model", *suites]
    rows = list(zip(model_labels, *texts, strict=True))
    text_table = FormattedTable(head, rows, "l" + "r" * len(suites), bold=frozenset(bold))
    kinds: dict[str, ColumnType] = {"model": str, **dict.fromkeys(suites, float)}
    return RowTable(head, list(zip(model_labels, *values, strict=True)), kinds, display=Display([text_table]))


def _best(results: Sequence[Result | None]) -> list[int]:
    """The positions of the best of several results with the same metric; empty if no value is better than another."""
    headlines = {line: (r, r.headline) for line, r in enumerate(results) if r is not None and r.headline is not None}
    metrics = {result.metric(estimate.metric) for result, estimate in headlines.values()}
    if len(headlines) < 2 or len(metrics) > 1 or (better := metrics.pop().better) == "neither":
        return []
    best = (max if better == "higher" else min)(estimate.value for _, estimate in headlines.values())
    return [line for line, (_, estimate) in headlines.items() if estimate.value == best]


def cells(result: Result, estimate: Estimate) -> tuple[str, str]:
    """The value and the interval of an estimate as text."""
    row = format_estimate(result, estimate)
    return row.text, row.interval


def _display(results: Sequence[Result]) -> Display:
    has_models = len({result.model for result in results}) > 1
    head = ["suite", *(["model"] if has_models else []), "metric", "group", "value", "95% interval", "n"]
    rows: list[tuple[str, ...]] = []
    rules = []
    for result in results:
        rules.append(len(rows))
        model = [result.model] if has_models else []
        rows += [(result.suite, *model, e.metric, e.group, *cells(result, e), str(e.n)) for e in result.estimates]
    align = "l" * (len(head) - 3) + "rcr"
    return Display([FormattedTable(head, rows, align, {}, [str(result.signature) for result in results], rules)])


def _document(result: Result) -> dict[str, object]:
    record = dataset_record(result)
    return {
        "suite": result.suite,
        "kind": result.kind,
        "model": result.model,
        "status": result.status,
        "signature": str(result.signature),
        "n": result.n,
        "estimates": [asdict(estimate) for estimate in result.estimates],
        "warnings": list(result.warnings),
        **({} if record is None else {DATASET_KEY: dict(record)}),
    }


def protocol_table(results: Sequence[tuple[int, Result]], suites: Sequence[str] = ()) -> RowTable:
    """One row per suite and run: the protocol, its rules, the score, and the judgements that it changes.

    Args:
        results: Results with the numbers of their runs; each is compared with the first of the same model and suite.
        suites: Patterns of suites; empty for all.

    Raises:
        InputError: If no model was run under two protocols.
    """
    selected_results = [(number, result) for number, result in results if matches(result.suite, suites)]
    protocols = {(result.model, _protocol(result)) for _, result in selected_results}
    if len(protocols) == len({model for model, _ in protocols}):
        raise InputError("these runs follow one protocol: run the suite again with --protocol NAME, and name both runs")
    model_suites = list(dict.fromkeys((result.model, result.suite) for _, result in selected_results))
    selected_results.sort(key=lambda numbered: model_suites.index((numbered[1].model, numbered[1].suite)))
    return RowTable(PROTOCOL_COLUMNS, list(_protocol_rows(selected_results)), units={"value": "share"})


def _protocol_rows(numbered_results: Sequence[tuple[int, Result]]) -> Iterator[tuple[object, ...]]:
    firsts: dict[tuple[str, str], dict[str, object]] = {}
    for number, result in numbered_results:
        metric = next((metric.name for metric in result.metrics if metric.headline), result.metrics[0].name)
        values = {outcome.item: outcome.value for outcome in result.outcomes if outcome.metric == metric}
        first_values = firsts.setdefault((result.model, result.suite), dict(values))
        shared_items = first_values.keys() & values.keys()
        changed_count = sum(first_values[item] != values[item] for item in shared_items)
        overall = next((e for e in result.estimates if (e.metric, e.group) == (metric, OVERALL)), None)
        settings = ((key, result.signature.get(key)) for key in PROTOCOL_RULES)
        rules = " ".join(f"{key}:{setting}" for key, setting in settings if setting is not None)
        yield (
            *(number, result.suite, result.model, _protocol(result), rules, metric),
            *((None, 0) if overall is None else (overall.value, overall.n)),
            *(len(shared_items), changed_count),
        )


def _protocol(result: Result) -> str:
    return result.signature.get("protocol") or OWN_PROTOCOL
