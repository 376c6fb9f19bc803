"""Runs that are kept, as Python reads them."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from wug.api.results import Results
from wug.arguments import members, public
from wug.errors import InputError
from wug.files import user_path
from wug.results.paths import default_db
from wug.results.reader import Run
from wug.results.store import Store as Kept
from wug.tables import Table


@members(public)
class Store:
    """A file of runs."""

    __slots__ = ("_kept", "path")

    def __init__(self, path: Path) -> None:
        if not isinstance(path, Path):
            raise InputError("wug.open_store(…) opens a store")
        self.path = path
        self._kept = Kept(path)

    def runs(self) -> Table:
        """One row a run, the latest first: its number, how it ended, the model, when."""
        names = [field.name for field in fields(Run)]
        found = self._kept.runs()
        kinds = {"id": int, "suites": int, "finished": str, "specification": str, "revision": str}
        return Table({name: [getattr(run, name) for run in found] for name in names}, kinds)

    def results(self, *numbers: int) -> Results:
        """The results of the runs of these numbers, or of all, in the order in which they were made."""
        wanted = list(dict.fromkeys(numbers)) or sorted(run.id for run in self._kept.runs())
        found = [result for number in wanted for result in self._kept.results(number)]
        return Results(found, runs=wanted, store=self.path)

    def __repr__(self) -> str:
        return f"<Store {self.path}: {len(self._kept.runs()):,} runs>"

    def _repr_html_(self) -> str:
        """The runs, for a notebook."""
        return self.runs()._repr_html_()


def open_store(path: str | Path | None = None) -> Store:
    """A store that exists; the one of the command line where no file is named."""
    place = user_path(path or os.environ.get("WUG_DB") or default_db())
    if not place.is_file():
        raise InputError("no such file. A store is made by wug.run(…, store=…) or by `wug run`", file=place)
    return Store(place)
