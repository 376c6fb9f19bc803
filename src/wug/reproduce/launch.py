"""Where the command of a step runs: in a process of its own on this machine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from wug.reproduce.plan import Step


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that is about to run."""

    folder: Path
    """Where all of the plan goes."""
    step: Step
    command: tuple[str, ...]
    """Without `wug`."""
    out: Path
    """Where its standard output goes."""
    log: Path
    """Where its standard error goes, behind what is there."""
    held: tuple[int, ...] = ()
    """Open files that hold the step: whoever inherits them goes on holding it."""


class Launcher(Protocol):
    """Runs commands, some side by side."""

    @property
    def places(self) -> int:
        """How many commands run at a time."""

    def run(self, launch: Launch) -> int:
        """Run a command to its end; its exit status."""

    def stop(self) -> None:
        """End all that is under way."""


@dataclass(frozen=True, slots=True)
class Here:
    """Runs commands on this machine."""

    places: int
    _under_way: set[subprocess.Popen[bytes]] = field(default_factory=set, init=False, compare=False)

    def run(self, launch: Launch) -> int:
        """Run a command to its end; its exit status."""
        with launch.log.open("ab") as said, launch.out.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "wug", *launch.command],
                stdout=out,
                stderr=said,
                stdin=subprocess.DEVNULL,
                pass_fds=launch.held,
            )
            self._under_way.add(process)
            try:
                return process.wait()
            finally:
                self._under_way.discard(process)

    def stop(self) -> None:
        """End all that is under way."""
        for process in list(self._under_way):
            process.terminate()


@contextmanager
def alone(path: Path) -> Iterator[tuple[int, ...]]:
    """Waits until no other process has the lock at `path`.

    Whoever inherits what is yielded holds it on, even when we are killed: so a training that outlives its parent is
    waited for, not started a second time.
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
