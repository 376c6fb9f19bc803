"""Taking the steps of a plan: side by side, each once, from where a kill left them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError
from wug.files import read_text, write_text
from wug.reproduce.launch import Launch, Launcher, alone
from wug.reproduce.plan import Plan, Step

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that could not be taken."""

    step: Step
    why: str


def take(plan: Plan, *, launcher: Launcher, tell: Tell) -> list[Failure]:
    """Take all steps that are not done; those that failed, with what they said.

    What a failed step was needed for is left out; the rest is done.
    """
    for step in plan.steps:
        _require_same(plan.folder, step)
    failures = [Failure(step, f"not on this machine: wug {' '.join(step.command)}") for step in plan.absent]
    waiting = {step.name: step for step in plan.steps if not step.done and step.kind != "data"}
    total = len(waiting)
    running: dict[Future[str], Step] = {}
    with ThreadPoolExecutor(launcher.places) as pool:
        try:
            while waiting or running:
                for step in _ready(waiting, running.values(), failures)[: max(0, launcher.places - len(running))]:
                    del waiting[step.name]
                    tell(f"{total - len(waiting)} of {total}: {step.kind} {step.name}")
                    running[pool.submit(_taken, plan.folder, step, launcher)] = step
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    step, why = running.pop(future), future.result()
                    if why:
                        failures.append(Failure(step, why))
                        tell(f"failed: {step.kind} {step.name}")
        except BaseException:
            launcher.stop()
            raise
    return failures


def _ready(waiting: dict[str, Step], running: Iterable[Step], failures: Sequence[Failure]) -> list[Step]:
    """The steps whose needs are done; those that need a failed one are dropped."""
    lost = {failure.step.name for failure in failures}
    for step in [step for step in waiting.values() if lost & set(step.needs)]:
        del waiting[step.name]
        lost.add(step.name)
    busy = {step.name for step in running} | set(waiting)
    return [step for step in waiting.values() if not busy & set(step.needs)]


def _taken(folder: Path, step: Step, launcher: Launcher) -> str:
    """What went wrong; nothing if the step is done."""
    with alone(folder / "locks" / step.name) as held:
        if step.done:  # by one that was at work when this began
            return ""
        _note(folder, step)
        log = folder / "logs" / f"{step.name}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        step.made.parent.mkdir(parents=True, exist_ok=True)
        beside = step.made.with_name(f".{step.made.name}.part")
        command = tuple(str(beside) if word == str(step.made) else word for word in step.command)
        if step.kind == "make":
            shutil.rmtree(beside, ignore_errors=True)
        out = beside if step.kind == "test" else Path(os.devnull)
        code = launcher.run(Launch(folder, step, command, out, log, held))
        if code:
            return f"{_last_line(log)} ({log})"
        if step.kind != "train":  # a training says itself when it is done
            beside.replace(step.made)
        return "" if step.done else f"it left no {step.made}"


def _require_same(folder: Path, step: Step) -> None:
    """An error where a step was begun with another command."""
    note = _noted(folder, step)
    if note.exists() and json.loads(read_text(note)) != list(step.command):
        begun = " ".join(json.loads(read_text(note)))
        raise InputError(
            f"holds the step {step.name} of another command:\n    wug {begun}\nnow\n    wug {' '.join(step.command)}\n"
            "Give the same options to go on, or another --folder to begin anew",
            file=folder,
        )


def _note(folder: Path, step: Step) -> None:
    write_text(_noted(folder, step), json.dumps(list(step.command)) + "\n")


def _noted(folder: Path, step: Step) -> Path:
    return folder / "commands" / f"{step.name}.json"


def _last_line(log: Path) -> str:
    lines = [line for line in read_text(log).splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
