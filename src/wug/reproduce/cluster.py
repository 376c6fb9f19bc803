"""Run steps on a Ray cluster: trainings and tests are sent with their files, and models are sent back.

The machines need not share a file system with this one. Ray restarts a training whose machine or process was lost; on
a machine that has its last checkpoint, it resumes.
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
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.files import checksum
from wug.reproduce.work import LocalRunner, StepCommand, locked

MAX_RETRIES = 5
"""How often Ray restarts a step whose process or machine was lost."""
UNSENT_FOLDERS = ("epochs", "best")
"""Folders of a trained model that no test needs."""


@dataclass(frozen=True, slots=True)
class RemoteStep:
    """A command with its files, to run on another machine."""

    name: str
    """The name of its folder there: the same for the same step, so that a retry finds the files of an earlier one."""
    command: tuple[str, ...]
    paths: Mapping[str, str]
    """Paths in the command, and where they are in the folder."""
    archive: bytes
    returned_folder: str
    """The folder to send back; empty for none."""


@dataclass(frozen=True, slots=True)
class RemoteResult:
    """The output and the files of a remote step."""

    exit_status: int
    stdout: bytes
    stderr: bytes
    archive: bytes
    runs: bytes


class RayRunner:
    """Runs trainings and tests on a cluster, several per GPU; data is made on this machine."""

    def __init__(self, ray: Any, jobs: int) -> None:
        self._ray, self._jobs = ray, jobs
        self._running: set[Any] = set()
        self._lock = threading.Lock()

    @property
    def parallel(self) -> int:
        """The number of commands that run at a time."""
        resources = self._ray.cluster_resources()
        return max(1, int(resources.get("GPU", 0)) * self._jobs or int(resources.get("CPU", 0)))

    def run(self, step_command: StepCommand) -> int:
        """Run a command and return its exit status."""
        if step_command.step.kind == "make":
            return LocalRunner(1).run(step_command)
        gpus = self._ray.cluster_resources().get("GPU", 0)
        needs = {"num_gpus": 1 / self._jobs, "num_cpus": 0} if gpus else {"num_cpus": 1}
        task = self._ray.remote(max_retries=MAX_RETRIES, **needs)(run_remote_step)
        with self._lock:
            pending = task.remote(remote_step(step_command))
            self._running.add(pending)
        try:
            result: RemoteResult = self._ray.get(pending)
        except self._ray.exceptions.RayError as error:
            with step_command.log.open("a", encoding="utf-8") as log:
                log.write(f"Ray failed: {str(error).strip().splitlines()[-1]}\n")
            return 1
        finally:
            with self._lock:
                self._running.discard(pending)
        return receive(step_command, result)

    def stop(self) -> None:
        """Stop all running commands."""
        with self._lock:
            for pending in self._running:
                self._ray.cancel(pending)


def remote_step(step_command: StepCommand) -> RemoteStep:
    """The command with all files that it reads."""
    folder = step_command.folder
    paths = {str(folder): "plan"}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for word in dict.fromkeys(step_command.command):
            path = Path(word)
            if path in (folder, folder / "runs") or not path.exists():
                continue
            if path.is_relative_to(folder):
                source_folder = path if path.is_dir() else path.parent
                _add_to_archive(tar, source_folder, f"plan/{source_folder.relative_to(folder)}")
            else:
                # A file with those that belong to it, such as targets of sources.
                paths[str(path.parent)] = archive_name = f"given-{len(paths)}"
                for companion in [path] if path.is_dir() else sorted(path.parent.glob(f"{path.name.split('.')[0]}*")):
                    _add_to_archive(tar, companion, f"{archive_name}/{companion.name}")
    trained = step_command.step.output.parent.parent if step_command.step.kind == "train" else None
    return RemoteStep(
        name=f"{step_command.step.name}-{checksum(str(folder.resolve()), *step_command.command)}",
        command=step_command.command,
        paths=paths,
        archive=archive.getvalue(),
        returned_folder="" if trained is None else f"plan/{trained.relative_to(folder)}",
    )


def run_remote_step(step: RemoteStep) -> RemoteResult:
    """Run a remote step on this machine."""
    from wug.results.reader import RunReader
    from wug.results.run_admin import write_bundle

    # Named after the user, since others may not write to it.
    root = Path(tempfile.gettempdir()) / f"wug-reproduce-{os.getuid() if hasattr(os, 'getuid') else ''}"
    scratch = root / step.name
    with locked(root / f"{step.name}.lock") as lock_files:
        if not (scratch / "sent").exists():
            shutil.rmtree(scratch, ignore_errors=True)
            _unpack(step.archive, scratch)
            (scratch / "sent").touch()
        command = [_relocated(word, step.paths, scratch) for word in step.command]
        process = subprocess.run(
            [sys.executable, "-m", "wug", *command],
            env={**os.environ, "WUG_CACHE": str(scratch / "cache.db")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=lock_files,
            check=False,
        )
        archive, store = io.BytesIO(), scratch / "plan" / "runs"
        if step.returned_folder and not process.returncode:
            with tarfile.open(fileobj=archive, mode="w") as tar:
                _add_to_archive(tar, scratch / step.returned_folder, ".", left_out=())
        runs = b""
        if store.exists():
            reader, bundle = RunReader(store), scratch / "runs.zip"
            write_bundle(reader, [run for run in reversed(reader.runs()) if run.status == "complete"], bundle)
            runs = bundle.read_bytes()
        if not process.returncode:
            shutil.rmtree(scratch, ignore_errors=True)
        return RemoteResult(process.returncode, process.stdout, process.stderr, archive.getvalue(), runs)


def receive(step_command: StepCommand, result: RemoteResult) -> int:
    """Put the files where the command would have written them; returns its exit status."""
    from wug.results.run_admin import add_bundle
    from wug.results.store import Store

    with step_command.log.open("ab") as log:
        log.write(result.stderr)
    step_command.stdout.write_bytes(result.stdout)
    if result.exit_status:
        return result.exit_status
    with tempfile.TemporaryDirectory(dir=step_command.folder) as temporary:
        if result.runs:
            (Path(temporary) / "runs.zip").write_bytes(result.runs)
            with closing(Store(step_command.folder / "runs")) as store:
                add_bundle(store, Path(temporary) / "runs.zip")
        if step_command.step.kind == "train":
            trained = step_command.step.output.parent.parent
            _unpack(result.archive, Path(temporary) / "model")
            shutil.rmtree(trained, ignore_errors=True)
            (Path(temporary) / "model").replace(trained)
    return 0


def _relocated(word: str, paths: Mapping[str, str], scratch: Path) -> str:
    """A word of the command; a path is moved to the folder of the remote step."""
    for path, target in sorted(paths.items(), key=lambda pair: -len(pair[0])):
        if word == path or word.startswith(f"{path}{os.sep}"):
            return str(scratch / target) + word[len(path) :]
    return word


def _add_to_archive(tar: tarfile.TarFile, path: Path, name: str, left_out: tuple[str, ...] = UNSENT_FOLDERS) -> None:
    tar.add(path, name, filter=lambda entry: None if Path(entry.name).name in left_out else entry)


def _unpack(archive: bytes, folder: Path) -> None:
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
