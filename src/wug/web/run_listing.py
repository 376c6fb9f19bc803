"""The list of runs: one entry per run, or per sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from wug.formatting import plural
from wug.labels import short_names
from wug.results.progress import duration, in_words
from wug.results.records import Run, Summary
from wug.web.result_grid import cell_of, fingerprint
from wug.web.run_query import RunQuery
from wug.web.site import page_count

RUNS_PER_PAGE = 50
MAX_NAMED_SUITES = 3
"""Suites that a row of the list names."""


class RunEntry(NamedTuple):
    """A run in the list."""

    run: Run
    model: str
    """Short name of the model."""
    message: str
    """Progress of an unfinished run, or why it failed; empty for a complete one."""
    fingerprint: str
    """Changes with anything that the entry shows."""
    suites: str = ""
    """Names of its suites."""
    headline: str = ""
    """The value of a single suite, or the range of several."""
    sweep: tuple[int, ...] = ()
    """The runs of a sweep that the entry represents, newest first."""

    @property
    def took(self) -> str:
        """How long the run took, such as `2 min`; empty if it has not finished."""
        try:
            start, end = (datetime.fromisoformat(text or "") for text in (self.run.started, self.run.finished))
        except ValueError:
            return ""
        return duration((end - start).total_seconds())


class RunPage(NamedTuple):
    """One page of the list."""

    entries: tuple[RunEntry, ...]
    total: int
    """Runs on all pages."""
    pages: int
    statuses: tuple[str, ...]
    """Choices of the filter."""
    fingerprint: str


def matching_results(results: Sequence[Summary], query: RunQuery) -> dict[int, list[Summary]]:
    """The results that match the family and suite of a query, by run."""
    by_run: dict[int, list[Summary]] = {}
    for summary in results:
        if (not query.kind or summary.kind == query.kind) and query.suite.lower() in summary.suite.lower():
            by_run.setdefault(summary.run, []).append(summary)
    return by_run


def matching_runs(runs: Sequence[Run], results: Mapping[int, Sequence[Summary]], query: RunQuery) -> list[Run]:
    """The runs that match a query, sorted; `results` are those that match it, by run."""
    matching = [run for run in runs if _matches(run, {summary.suite for summary in results.get(run.id, ())}, query)]
    column, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    keys = {
        "name": lambda run: (not run.name, (run.name or "").lower(), run.id),
        "model": lambda run: (False, run.model.lower(), run.id),
        "status": lambda run: (False, run.status, -run.id),
        "suites": lambda run: (run.suites, "", run.id),
        "started": lambda run: (False, run.started, run.id),
    }
    if column not in keys:
        return sorted(matching, key=lambda run: run.id, reverse=descending or column != "run")
    return sorted(matching, key=keys[column], reverse=descending)


def run_page(
    runs: Sequence[Run],
    results: Sequence[Summary],
    query: RunQuery,
    sweeps: Mapping[int, str] | None = None,
) -> RunPage:
    """The requested page of the list; the runs of a sweep are one entry unless the list is of that sweep."""
    by_run = matching_results(results, query)
    matching_runs_of_page = matching_runs(runs, by_run, query)
    by_entry: dict[str, list[Run]] = {}
    for run in matching_runs_of_page:
        of_sweep = run.sweep in (sweeps or {}) and not query.model and not run.removed
        by_entry.setdefault(f"sweep:{run.sweep}" if of_sweep else str(run.id), []).append(run)
    pages = page_count(len(by_entry), RUNS_PER_PAGE)
    start = (min(query.page, pages) - 1) * RUNS_PER_PAGE
    names = short_names(run.model for run in runs)
    entries = tuple(
        _sweep_entry(group, (sweeps or {})[group[0].sweep or 0], by_run)
        if key.startswith("sweep:")
        else run_entry(group[0], names, by_run.get(group[0].id, ()))
        for key, group in list(by_entry.items())[start : start + RUNS_PER_PAGE]
    )
    return RunPage(
        entries=entries,
        total=len(matching_runs_of_page),
        pages=pages,
        statuses=tuple(sorted({run.status for run in runs})),
        fingerprint=fingerprint([str(entry.run.id) for entry in entries] + [str(len(matching_runs_of_page))]),
    )


def run_entry(run: Run, names: Mapping[str, str], results: Sequence[Summary] = ()) -> RunEntry:
    """A run as the list shows it; `names` are short names by model id."""
    message = _message(run)
    fields = (run.status, run.finished, run.suites, run.name, run.note, run.removed, message, len(results))
    return RunEntry(
        *(run, names.get(run.model, run.model), message, fingerprint([str(part) for part in fields])),
        *(_suite_names(results), _headline(results)),
    )


def _sweep_entry(runs: Sequence[Run], name: str, results: Mapping[int, Sequence[Summary]]) -> RunEntry:
    statuses = Counter(run.status for run in runs)
    first_run, last_run = min(runs, key=lambda run: run.started), max(runs, key=lambda run: run.finished or "")
    example = next((member for member in runs if member.status != "complete"), runs[0])
    finish_time = None if statuses["running"] else last_run.finished
    run = replace(runs[0], status=example.status, started=first_run.started, finished=finish_time, name=None, note=None)
    message = ", ".join(f"{count:,} {word}" for word, count in statuses.items()) if len(statuses) > 1 else ""
    ids = tuple(member.id for member in runs)
    summaries = [summary for id in ids for summary in results.get(id, ())]
    entry_fingerprint = fingerprint(
        [name, str(finish_time), *(f"{member.id} {member.status} {member.suites}" for member in runs)]
    )
    label = f"{name} ({plural(len(runs), 'model')})"
    return RunEntry(run, label, message, entry_fingerprint, _suite_names(summaries), _headline(summaries), ids)


def _suite_names(results: Sequence[Summary]) -> str:
    suites = list(dict.fromkeys(summary.suite for summary in results))
    further_count = len(suites) - MAX_NAMED_SUITES
    return ", ".join(suites[:MAX_NAMED_SUITES]) + (f" and {further_count} more" if further_count > 0 else "")


def _headline(results: Sequence[Summary]) -> str:
    """The value of a single result, or the range of several proportions; those that mean nothing are left out."""
    cells = [cell_of(summary) for summary in results if not summary.error]
    headlines = [cell.headline for cell in cells if cell.headline is not None and cell.text != "–"]
    if cells and not headlines:
        return "not measurable"
    if len({row.text for row in headlines}) == 1:
        return headlines[0].text
    shares = sorted((row for row in headlines if row.share), key=lambda row: row.value)
    return f"{shares[0].text.rstrip('%')}–{shares[-1].text}" if len(shares) > 1 else ""


def _message(run: Run) -> str:
    if run.status in ("running", "interrupted"):
        return "" if run.progress is None else in_words(run.progress, running=run.status == "running")
    return run.message or "" if run.status == "failed" else ""


def _matches(run: Run, suites: set[str], query: RunQuery) -> bool:
    if query.status and run.status != query.status:
        return False
    if query.model and query.model not in (run.model, f"sweep:{run.sweep}"):
        return False
    if (query.kind or query.suite) and not suites:
        return False
    text = query.text.lower()
    search_fields = (run.model, run.command, str(run.id), run.name or "", run.note or "", run.message or "", *suites)
    return not text or any(text in field.lower() for field in search_fields)
