"""Data of BabyLM that is in no repository: the archive of the challenge, copied once its sizes are checked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from wug.errors import InputError
from wug.families.babylm.tasks import TASKS, counts_of, read_task, size_warnings
from wug.files import writing

VERSIONS = ("full_eval", "fast_eval")


def adopt(source: Path, target: Path) -> list[str]:
    """Copy the task folders of evaluation_data, or of one of its versions; one line per folder, none if there is none.

    Raises:
        InputError: If a folder has another number of items than the challenge.
    """
    if not source.is_dir():
        raise InputError("no such folder", file=source)
    found = list(_folders(source))
    lines = []
    for name, version, folder in found:
        items = read_task(name, folder)
        if wrong := size_warnings(name, folder.name, counts_of(items)):
            raise InputError(wrong[0], file=folder)
        lines.append(f"{version}/{folder.name}: {len(items):,} items")
    for _, version, folder in found:
        place = target / version / folder.name
        with writing(place):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(folder, place)
    return lines


def _folders(source: Path) -> Iterator[tuple[str, str, Path]]:
    """Task, version and path of each folder of a task."""
    for version in VERSIONS:
        inside = source if source.name == version else source / version
        for name, task in TASKS.items():
            for folder in task.folders:
                if (inside / folder).is_dir():
                    yield name, version, inside / folder
