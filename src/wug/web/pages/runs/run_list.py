"""The list of runs: which are shown, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wug.brief import short_names
from wug.runs.progress import in_words
from wug.runs.shelf import Run, Summary
from wug.web.pages.runs.grid import digest
from wug.web.pages.runs.grid_query import Wanted

ROWS = 50
"""Runs on a page."""
SORTS = ("run", "name", "model", "status", "suites", "started")


@dataclass(frozen=True, slots=True)
class Entry:
    """A run in the list."""

    run: Run
    model: str
    """What its model is called."""
    news: str
    """How far it is, or why it failed; empty of one that is complete."""
    mark: str
    """Changes with anything that the entry shows."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list."""

    entries: tuple[Entry, ...]
    total: int
    """Of all pages."""
    pages: int
    statuses: tuple[str, ...]
    mark: str


def fitting(runs: Sequence[Run], results: Sequence[Summary], wanted: Wanted) -> list[Run]:
    """The runs that are wanted, in their order."""
    suites: dict[int, set[str]] = {}
    for kept in results:
        if (not wanted.kind or kept.kind == wanted.kind) and wanted.suite.lower() in kept.suite.lower():
            suites.setdefault(kept.run, set()).add(kept.suite)
    found = [run for run in runs if _fits(run, suites, wanted)]
    column, falls = wanted.sort.removeprefix("-"), wanted.sort.startswith("-")
    keys = {
        "name": lambda run: (not run.name, (run.name or "").lower(), run.id),
        "model": lambda run: (False, run.model.lower(), run.id),
        "status": lambda run: (False, run.status, -run.id),
        "suites": lambda run: (run.suites, "", run.id),
        "started": lambda run: (False, run.started, run.id),
    }
    if column not in keys:
        return sorted(found, key=lambda run: run.id, reverse=falls or column != "run")
    return sorted(found, key=keys[column], reverse=falls)


def listing(runs: Sequence[Run], results: Sequence[Summary], wanted: Wanted) -> Listing:
    """The page of the list that is wanted."""
    found = fitting(runs, results, wanted)
    pages = max(1, -(-len(found) // ROWS))
    first = (min(wanted.page, pages) - 1) * ROWS
    names = short_names(run.model for run in runs)
    entries = tuple(entry(run, names) for run in found[first : first + ROWS])
    return Listing(
        entries=entries,
        total=len(found),
        pages=pages,
        statuses=tuple(sorted({run.status for run in runs})),
        mark=digest([str(one.run.id) for one in entries] + [str(len(found))]),
    )


def entry(run: Run, names: Mapping[str, str]) -> Entry:
    """A run as the list shows it."""
    news = news_of(run)
    said = (run.status, run.finished, run.suites, run.name, run.note, run.removed, news)
    return Entry(run, names.get(run.model, run.model), news, digest([str(part) for part in said]))


def news_of(run: Run) -> str:
    """How far a run is that goes on or was broken off, or why it failed; empty of one that is complete."""
    if run.status in ("running", "interrupted"):
        return "" if run.progress is None else in_words(run.progress, going=run.status == "running")
    return run.message or "" if run.status == "failed" else ""


def _fits(run: Run, suites: Mapping[int, set[str]], wanted: Wanted) -> bool:
    if wanted.status and run.status != wanted.status:
        return False
    if wanted.model and wanted.model not in (run.model, f"sweep:{run.sweep}"):
        return False
    own = suites.get(run.id, set())
    if (wanted.kind or wanted.suite) and not own:
        return False
    text = wanted.text.lower()
    said = (run.model, run.command, str(run.id), run.name or "", run.note or "", run.message or "", *own)
    return not text or any(text in one.lower() for one in said)
