"""The list of runs: filters, order, pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wug.labels import short_names
from wug.results.progress import in_words
from wug.results.reader import Run, Summary
from wug.web.pages.runs.grid import fingerprint
from wug.web.pages.runs.grid_query import GridQuery
from wug.web.site import page_count

RUNS_PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run in the list."""

    run: Run
    model: str
    """Short name of the model."""
    message: str
    """Progress of an unfinished run, or why it failed; empty for a complete one."""
    fingerprint: str
    """Changes with anything that the entry shows."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of the list."""

    entries: tuple[RunEntry, ...]
    total: int
    """Runs on all pages."""
    pages: int
    statuses: tuple[str, ...]
    """Choices of the filter."""
    fingerprint: str


def matching_results(results: Sequence[Summary], query: GridQuery) -> dict[int, list[Summary]]:
    """The results that match the family and suite of a query, by run."""
    found: dict[int, list[Summary]] = {}
    for kept in results:
        if (not query.kind or kept.kind == query.kind) and query.suite.lower() in kept.suite.lower():
            found.setdefault(kept.run, []).append(kept)
    return found


def matching_runs(runs: Sequence[Run], results: Mapping[int, Sequence[Summary]], query: GridQuery) -> list[Run]:
    """The runs that match a query, sorted; `results` are those that match it, by run."""
    found = [run for run in runs if _matches(run, {kept.suite for kept in results.get(run.id, ())}, query)]
    column, descending = query.sort.removeprefix("-"), query.sort.startswith("-")
    keys = {
        "name": lambda run: (not run.name, (run.name or "").lower(), run.id),
        "model": lambda run: (False, run.model.lower(), run.id),
        "status": lambda run: (False, run.status, -run.id),
        "suites": lambda run: (run.suites, "", run.id),
        "started": lambda run: (False, run.started, run.id),
    }
    if column not in keys:
        return sorted(found, key=lambda run: run.id, reverse=descending or column != "run")
    return sorted(found, key=keys[column], reverse=descending)


def run_page(runs: Sequence[Run], results: Sequence[Summary], query: GridQuery) -> RunPage:
    """The requested page of the list."""
    found = matching_runs(runs, matching_results(results, query), query)
    pages = page_count(len(found), RUNS_PER_PAGE)
    first = (min(query.page, pages) - 1) * RUNS_PER_PAGE
    names = short_names(run.model for run in runs)
    entries = tuple(run_entry(run, names) for run in found[first : first + RUNS_PER_PAGE])
    return RunPage(
        entries=entries,
        total=len(found),
        pages=pages,
        statuses=tuple(sorted({run.status for run in runs})),
        fingerprint=fingerprint([str(one.run.id) for one in entries] + [str(len(found))]),
    )


def run_entry(run: Run, names: Mapping[str, str]) -> RunEntry:
    """A run as the list shows it; `names` are short names by model id."""
    message = _message(run)
    shown = (run.status, run.finished, run.suites, run.name, run.note, run.removed, message)
    return RunEntry(run, names.get(run.model, run.model), message, fingerprint([str(part) for part in shown]))


def _message(run: Run) -> str:
    if run.status in ("running", "interrupted"):
        return "" if run.progress is None else in_words(run.progress, going=run.status == "running")
    return run.message or "" if run.status == "failed" else ""


def _matches(run: Run, suites: set[str], query: GridQuery) -> bool:
    if query.status and run.status != query.status:
        return False
    if query.model and query.model not in (run.model, f"sweep:{run.sweep}"):
        return False
    if (query.kind or query.suite) and not suites:
        return False
    text = query.text.lower()
    searched = (run.model, run.command, str(run.id), run.name or "", run.note or "", run.message or "", *suites)
    return not text or any(text in one.lower() for one in searched)
