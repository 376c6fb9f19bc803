"""Steps on a Ray cluster: trainings and tests go to its machines with what they need, and their models come back.

The machines need not share a file system with this one. A training whose machine or process was lost is begun anew by
Ray; on a machine that has its last checkpoint it goes on from there.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.files import checksum
from wug.reproduce.launch import Here, Launch, alone

RETRIES = 5
"""How often Ray starts a step anew whose process or machine was lost."""
UNSENT = ("epochs", "best")
"""Folders of a trained model that no test looks at."""


@dataclass(frozen=True, slots=True)
class Errand:
    """A command that is sent to a machine, and what it is sent with."""

    name: str
    """Of the folder in which it is done: the same for the same step, so that a later try finds what an earlier left."""
    command: tuple[str, ...]
    places: Mapping[str, str]
    """Paths that words of the command begin with, and where they lie in the folder."""
    parcel: bytes
    """What lies there, as a tar archive."""
    fetched: str
    """What is to come back of it; empty for nothing but what was printed."""
    store: str
    """Where in the folder runs are kept."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What came of an errand."""

    code: int
    out: bytes
    said: bytes
    parcel: bytes
    store: bytes


class OnRay:
    """Runs trainings and tests on a cluster, some side by side on each GPU; materials are made here."""

    def __init__(self, ray: Any, jobs: int) -> None:
        self._ray, self._jobs = ray, jobs
        self._under_way: set[Any] = set()
        self._lock = threading.Lock()

    @property
    def places(self) -> int:
        """How many commands run at a time."""
        there = self._ray.cluster_resources()
        return max(1, int(there.get("GPU", 0)) * self._jobs or int(there.get("CPU", 0)))

    def run(self, launch: Launch) -> int:
        """Run a command to its end; its exit status."""
        if launch.step.kind == "make":
            return Here(1).run(launch)
        gpus = self._ray.cluster_resources().get("GPU", 0)
        needs = {"num_gpus": 1 / self._jobs, "num_cpus": 0} if gpus else {"num_cpus": 1}
        task = self._ray.remote(max_retries=RETRIES, **needs)(do)
        with self._lock:
            pending = task.remote(errand(launch))
            self._under_way.add(pending)
        try:
            returned: Returned = self._ray.get(pending)
        except self._ray.exceptions.RayError as error:
            with launch.log.open("a", encoding="utf-8") as log:
                log.write(f"Ray gave it up: {str(error).strip().splitlines()[-1]}\n")
            return 1
        finally:
            with self._lock:
                self._under_way.discard(pending)
        return receive(launch, returned)

    def stop(self) -> None:
        """End all that is under way."""
        with self._lock:
            for pending in self._under_way:
                self._ray.cancel(pending)


def errand(launch: Launch) -> Errand:
    """The command with all that it reads."""
    folder = launch.folder
    places = {str(folder): "plan"}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for word in dict.fromkeys(launch.command):
            path = Path(word)
            if path == folder or path.suffix == ".db" or not path.exists():
                continue
            if path.is_relative_to(folder):
                within = path if path.is_dir() else path.parent
                _pack(tar, within, f"plan/{within.relative_to(folder)}")
            else:
                # A file with those that belong to it: targets stand beside their sources.
                places[str(path.parent)] = place = f"given-{len(places)}"
                for beside in [path] if path.is_dir() else sorted(path.parent.glob(f"{path.name.split('.')[0]}*")):
                    _pack(tar, beside, f"{place}/{beside.name}")
    trained = launch.step.made.parent.parent if launch.step.kind == "train" else None
    return Errand(
        name=f"{launch.step.name}-{checksum(str(folder.resolve()), *launch.command)}",
        command=launch.command,
        places=places,
        parcel=archive.getvalue(),
        fetched="" if trained is None else f"plan/{trained.relative_to(folder)}",
        store="plan/runs.db",
    )


def do(asked: Errand) -> Returned:
    """Do an errand on the machine that this runs on."""
    from wug.results.store import Store

    # Named after the user, since nobody else may write into it.
    root = Path(tempfile.gettempdir()) / f"wug-reproduce-{os.getuid() if hasattr(os, 'getuid') else ''}"
    scratch = root / asked.name
    with alone(root / f"{asked.name}.lock") as held:
        if not (scratch / "sent").exists():
            shutil.rmtree(scratch, ignore_errors=True)
            _unpack(asked.parcel, scratch)
            (scratch / "sent").touch()
        command = [_moved(word, asked.places, scratch) for word in asked.command]
        done = subprocess.run(
            [sys.executable, "-m", "wug", *command],
            env={**os.environ, "WUG_CACHE": str(scratch / "cache.db")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=held,
            check=False,
        )
        archive, store = io.BytesIO(), scratch / asked.store
        if asked.fetched and not done.returncode:
            with tarfile.open(fileobj=archive, mode="w") as tar:
                _pack(tar, scratch / asked.fetched, ".", left_out=())
        runs = b""
        if store.exists():
            Store(store).close()  # which brings all that was written into the one file
            runs = store.read_bytes()
        if not done.returncode:
            shutil.rmtree(scratch, ignore_errors=True)
        return Returned(done.returncode, done.stdout, done.stderr, archive.getvalue(), runs)


def receive(launch: Launch, returned: Returned) -> int:
    """Put what came back where the command would have left it; its exit status."""
    from wug.results.run_admin import merge

    with launch.log.open("ab") as log:
        log.write(returned.said)
    launch.out.write_bytes(returned.out)
    if returned.code:
        return returned.code
    with tempfile.TemporaryDirectory(dir=launch.folder) as aside:
        if returned.store:
            (Path(aside) / "runs.db").write_bytes(returned.store)
            merge(Path(aside) / "runs.db", launch.folder / "runs.db")
        if launch.step.kind == "train":
            trained = launch.step.made.parent.parent
            _unpack(returned.parcel, Path(aside) / "model")
            shutil.rmtree(trained, ignore_errors=True)
            (Path(aside) / "model").replace(trained)
    return 0


def _moved(word: str, places: Mapping[str, str], scratch: Path) -> str:
    """A word of the command, where it is a path the same thing in the folder of the errand."""
    for path, place in sorted(places.items(), key=lambda pair: -len(pair[0])):
        if word == path or word.startswith(f"{path}{os.sep}"):
            return str(scratch / place) + word[len(path) :]
    return word


def _pack(tar: tarfile.TarFile, path: Path, name: str, left_out: tuple[str, ...] = UNSENT) -> None:
    tar.add(path, name, filter=lambda entry: None if Path(entry.name).name in left_out else entry)


def _unpack(parcel: bytes, folder: Path) -> None:
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(parcel)) as tar:
        tar.extractall(folder, filter="data")
