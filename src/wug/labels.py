"""Short forms of models, results and suites: names, a line for a prompt, a table for a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from wug import registry
from wug.formatting import interval_text, metric_label, plural, value_text
from wug.identity import IMPORTED, ModelId

if TYPE_CHECKING:
    from wug.interfaces import Suite
    from wug.outcomes import Estimate, Result

MAX_NOTEBOOK_ROWS = 200
MAX_CAPTION_NAMES = 4
"""Suites or models that the caption of a figure names; more are counted."""
HEAD = ("suite", "model", "metric", "value", "95% interval", "n")


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Short names of models by model id, unique among these.

    `causal/EleutherAI/pythia-70m@607a30d` is called `pythia-70m`. If others have the same name, the owner, the backend
    or the beginning of the fingerprint is added, whichever is the first to make it unique.
    """
    unique_models = list(dict.fromkeys(models))
    marks = [ModelId.parse(model).fingerprint for model in unique_models]
    length = next((n for n in range(4, 12) if len({mark[:n] for mark in marks}) == len(set(marks))), 12)
    names = {model: _names(model, length) for model in unique_models}
    level = dict.fromkeys(unique_models, 0)
    while True:
        candidates = {model: names[model][level[model]] for model in unique_models}
        counts = Counter(candidates.values())
        ambiguous = [
            model for model in unique_models if counts[candidates[model]] > 1 and level[model] + 1 < len(names[model])
        ]
        if not ambiguous:
            return candidates
        for model in ambiguous:
            level[model] += 1


def _names(model: str, length: int) -> list[str]:
    """Possible names of a model, shortest first; `length` is that of a fingerprint."""
    model_id = ModelId.parse(model)
    kind, name, mark = model_id.backend, model_id.name, model_id.fingerprint
    if registry.traits(kind).shows_backend:
        name = f"{kind}:{name}"
    if kind == IMPORTED:
        return [str(ModelId(kind, name.rpartition("/")[2], mark)), model]
    base_name = name.rstrip("/").rsplit("/", 1)[-1] or name
    with_fingerprint = (
        [f"{base_name}@{mark[:length]}", f"{name}@{mark[:length]}", f"{kind}/{name}@{mark[:length]}"] if mark else []
    )
    return list(dict.fromkeys([base_name, name, *([f"{kind}/{name}"] if kind else []), *with_fingerprint, model]))


def distinguishing_options(results: Sequence[Result]) -> list[str]:
    """What tells results of one suite and model apart: the first option in which all differ; empty if there is none."""
    signatures = [dict(result.signature.without("wug", "suite", "model").fields) for result in results]
    for key in signatures[0]:
        if len({signature.get(key) for signature in signatures} - {None}) == len(signatures):
            return [f"{key}={signature[key]}" for signature in signatures]
    return []


def label_repeats(results: Sequence[Result]) -> list[Result]:
    """The results, with suites named by their options as well if there are several of one suite and model."""
    by_suite: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        by_suite.setdefault((result.kind, result.suite, result.model), []).append(result)
    names = {
        id(result): f"{result.suite} ({label})"
        for group in by_suite.values()
        if len(group) > 1
        for result, label in zip(group, distinguishing_options(group), strict=False)
    }
    return [replace(result, suite=names[id(result)]) if id(result) in names else result for result in results]


def caption(suites: Iterable[str], models: Iterable[str], n: int | None = None) -> str:
    """What a figure shows: suites, short names of models and, if it is the same for all, the number of items."""
    kinds = [(list(dict.fromkeys(suites)), "suites"), (list(dict.fromkeys(models)), "models")]
    parts = [", ".join(names) if len(names) <= MAX_CAPTION_NAMES else f"{len(names)} {noun}" for names, noun in kinds]
    return " · ".join(filter(None, [*parts, "" if n is None else f"n = {n:,}"]))


def result_line(result: Result, names: Mapping[str, str] | None = None) -> str:
    """Suite, model and headline of a result; `names` are short names by model id."""
    headline = "" if result.headline is None else f" · {' '.join(filter(None, _cells(result, result.headline)))}"
    state = "" if result.status == "complete" else f" · {result.status}"
    model = (names or short_names([result.model]))[result.model]
    return f"{result.suite} · {model}{headline} · {plural(result.n, 'item')}{state}"


def suite_line(suite: Suite) -> str:
    """Name, family and number of items of a suite."""
    return f"<Suite {suite.name} · {suite.kind} · {plural(len(suite), 'item')}>"


def html(results: Sequence[Result]) -> str:
    """The headlines with their intervals as an HTML table, then incomplete results and warnings."""
    from wug.tables import Display, FormattedTable, RowTable, render_table

    results = label_repeats(results)
    names = short_names(result.model for result in results)
    rows = [
        (result.suite, names[result.model], *_cells(result, estimate), f"{estimate.n:,}")
        for result in results
        for estimate in result.headlines
    ]
    display = Display([FormattedTable(HEAD, rows[:MAX_NOTEBOOK_ROWS], "lllrrr")])
    remainder = f"<p>and {len(rows) - MAX_NOTEBOOK_ROWS:,} more</p>" if len(rows) > MAX_NOTEBOOK_ROWS else ""
    table = render_table(RowTable(HEAD, (), display=display), "html")
    return f"{table}{remainder}{''.join(_remarks(results, names))}"


def _remarks(results: Sequence[Result], names: Mapping[str, str]) -> Iterator[str]:
    for result in results:
        if result.status != "complete":
            yield f"<p><b>{escape(result.suite)} · {escape(names[result.model])}: {result.status}</b></p>"
    warnings = [f"{result.suite} · {names[result.model]}: {text}" for result in results for text in result.warnings]
    if warnings:
        warning_items = "".join(f"<li>{escape(text)}</li>" for text in dict.fromkeys(warnings[:MAX_NOTEBOOK_ROWS]))
        yield f"<details><summary>{plural(len(warnings), 'warning')}</summary><ul>{warning_items}</ul></details>"


def _cells(result: Result, estimate: Estimate) -> tuple[str, str, str]:
    unit = result.metric(estimate.metric).unit
    share = unit == "share"
    return (
        metric_label(estimate.metric, result.kind),
        value_text(estimate.value, share=share, unit=unit),
        interval_text(estimate.low, estimate.high, estimate.method, share=share),
    )
