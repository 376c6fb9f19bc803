"""Run the steps of a plan: in parallel, each once, resuming after a kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wug.errors import InputError
from wug.files import read_text, write_text
from wug.reproduce.plan import PlanStep, ReproductionPlan

if TYPE_CHECKING:
    from wug.reproduce.cluster import RayRunner


@dataclass(frozen=True, slots=True)
class StepCommand:
    """The command of a step, ready to run."""

    folder: Path
    step: PlanStep
    command: tuple[str, ...]
    """Without `wug`."""
    stdout: Path
    log: Path
    """The file to which its standard error is appended."""
    lock_files: tuple[int, ...] = ()
    """File descriptors of its lock, which child processes inherit."""


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Runs each command in a process on this machine."""

    parallel: int
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set, init=False, compare=False)

    def run(self, step_command: StepCommand) -> int:
        """Run a command and return its exit status."""
        with step_command.log.open("ab") as stderr, step_command.stdout.open("wb") as stdout:
            process = subprocess.Popen(
                [sys.executable, "-m", "wug", *step_command.command],
                stdout=stdout,
                stderr=stderr,
                stdin=subprocess.DEVNULL,
                pass_fds=step_command.lock_files,
            )
            self._running.add(process)
            try:
                return process.wait()
            finally:
                self._running.discard(process)

    def stop(self) -> None:
        """Stop all running commands."""
        for process in list(self._running):
            process.terminate()


@contextmanager
def locked(path: Path) -> Iterator[tuple[int, ...]]:
    """Wait for the lock at `path`, and yield its file descriptor.

    A child process that inherits it keeps the lock even if we are killed, so a training that outlives its parent is not
    started a second time.
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        yield ()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield (lock.fileno(),)


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that failed, and why."""

    step: PlanStep
    reason: str


def run_steps(
    plan: ReproductionPlan,
    *,
    runner: LocalRunner | RayRunner,
    notify: Callable[[str], None],
    fail: Callable[[PlanStep], None],
) -> list[FailedStep]:
    """Run all steps that are not done, and return those that failed.

    Steps that need a failed one are skipped. `notify` gets a line for each step that begins, `fail` each that fails.
    """
    for step in plan.steps:
        _require_same(plan.folder, step)
    failures = [FailedStep(step, f"not on this machine: wug {' '.join(step.command)}") for step in plan.missing_sets]
    waiting = {step.name: step for step in plan.steps if not step.done and step.kind != "data"}
    total = len(waiting)
    running: dict[Future[str], PlanStep] = {}
    with ThreadPoolExecutor(runner.parallel) as pool:
        try:
            while waiting or running:
                for step in _ready(waiting, running.values(), failures)[: max(0, runner.parallel - len(running))]:
                    del waiting[step.name]
                    notify(f"{total - len(waiting)} of {total}: {step.kind} {step.name}")
                    running[pool.submit(_run_step, plan.folder, step, runner)] = step
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    step, reason = running.pop(future), future.result()
                    if reason:
                        failures.append(FailedStep(step, reason))
                        fail(step)
        except BaseException:
            runner.stop()
            raise
    return failures


def _ready(waiting: dict[str, PlanStep], running: Iterable[PlanStep], failures: Sequence[FailedStep]) -> list[PlanStep]:
    """The steps whose requirements are done; those that need a failed one are dropped."""
    failed = {failure.step.name for failure in failures}
    for step in [step for step in waiting.values() if failed & set(step.needs)]:
        del waiting[step.name]
        failed.add(step.name)
    unfinished = {step.name for step in running} | set(waiting)
    return [step for step in waiting.values() if not unfinished & set(step.needs)]


def _run_step(folder: Path, step: PlanStep, runner: LocalRunner | RayRunner) -> str:
    with locked(folder / "locks" / step.name) as lock_files:
        if step.done:  # by another process in the meantime
            return ""
        write_text(_command_file(folder, step), json.dumps(list(step.command)) + "\n")
        log = folder / "logs" / f"{step.name}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        step.output.parent.mkdir(parents=True, exist_ok=True)
        partial = step.output.with_name(f".{step.output.name}.part")
        command = tuple(str(partial) if word == str(step.output) else word for word in step.command)
        if step.kind == "make":
            shutil.rmtree(partial, ignore_errors=True)
        stdout = partial if step.kind == "test" else Path(os.devnull)
        exit_status = runner.run(StepCommand(folder, step, command, stdout, log, lock_files))
        if exit_status:
            lines = [line for line in read_text(log).splitlines() if line.strip()]
            return f"{lines[-1] if lines else 'no message'} ({log})"
        if step.kind != "train":  # a training marks itself as complete
            partial.replace(step.output)
        return "" if step.done else f"it did not write {step.output}"


def _require_same(folder: Path, step: PlanStep) -> None:
    command_file = _command_file(folder, step)
    earlier = json.loads(read_text(command_file)) if command_file.exists() else list(step.command)
    if earlier != list(step.command):
        raise InputError(
            f"contains the step {step.name} of another command:\n    wug {' '.join(earlier)}\n"
            f"now\n    wug {' '.join(step.command)}\n"
            "Use the same options to resume, or another --folder",
            file=folder,
        )


def _command_file(folder: Path, step: PlanStep) -> Path:
    return folder / "commands" / f"{step.name}.json"
