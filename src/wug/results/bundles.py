"""Bundles: runs with their results and outcomes in one zip file, to move them between stores."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from wug.errors import InputError, StoreError
from wug.results.outcome_folder import NAME
from wug.results.reader import RunReader
from wug.results.records import Run
from wug.results.run_admin import missing_runs
from wug.results.schema import INDEX, OUTCOMES
from wug.results.store import Store

MAX_RATIO = 200
"""How many times larger the content of a bundle may be than the bundle: a real one is compressed already."""


def write_bundle(reader: RunReader, runs: Sequence[Run], path: Path) -> None:
    """Write runs to a zip file: a store with these runs only."""
    with tempfile.TemporaryDirectory(prefix="wug-bundle-") as folder:
        with closing(Store(Path(folder) / "store")) as store:
            store.copy_runs(reader, runs)
        members = [store.path / INDEX, *sorted((store.path / OUTCOMES).iterdir())]
        partial = path.with_name(f"{path.name}.part")
        try:
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as bundle:
                for member in members:
                    bundle.write(member, member.relative_to(store.path).as_posix())
            partial.replace(path)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=path) from None
        finally:
            partial.unlink(missing_ok=True)


def add_bundle(store: Store, path: Path) -> tuple[list[int], int]:
    """Add the runs of a bundle, all or none; returns their numbers, and how many the store had already."""
    with opened_bundle(path) as reader:
        there = reader.runs()
        new = missing_runs(reader, store)
        return store.copy_runs(reader, new), len(there) - len(new)


@contextmanager
def opened_bundle(path: Path) -> Iterator[RunReader]:
    """The runs of a bundle, extracted to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="wug-bundle-") as folder:
        try:
            with zipfile.ZipFile(path) as bundle:
                _require_bundle(bundle, path)
                bundle.extractall(folder)
        except (OSError, zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
            raise InputError(f"is not a bundle of runs, or is damaged: {error}", file=path) from None
        try:
            with closing(Store(Path(folder))) as store:
                yield store.reader
        except StoreError as error:
            raise StoreError(f"{path}: {error}") from None


def _require_bundle(bundle: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive with other names than those of a store, or with far more content than it should have."""
    members = bundle.infolist()
    names = [member.filename for member in members]
    allowed = {INDEX, *(name for name in names if NAME.fullmatch(name.removeprefix(f"{OUTCOMES}/")))}
    strange = next((name for name in names if name not in allowed or names.count(name) > 1), None)
    if INDEX not in names or strange is not None:
        what = f"it has no {INDEX}" if strange is None else f"unexpected content {strange!r}"
        raise InputError(f"is not a bundle of runs: {what}", file=path)
    if sum(member.file_size for member in members) > MAX_RATIO * max(1, path.stat().st_size):
        raise InputError("is not a bundle of runs: its content is too large", file=path)
