"""What all campaigns share: numbered inputs, processes that may die, a report that can be repeated.

The input of a number depends on the campaign, the seed and the number alone. Inputs are handed to the program in
forked processes, which are replaced after a number of inputs; one that dies, hangs or grows is a finding, not the end.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import mmap
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

LONGEST = 10
"""Seconds of computing that one input may take."""
PATIENCE = 120
"""Seconds of waiting after which a process hangs, whatever it does; a busy machine needs some."""
LARGEST = 2**30
"""Bytes that a process may grow while it works on inputs."""


class Wrong(Exception):
    """The program answered, and the answer is not what it must be."""


@dataclass(frozen=True, slots=True)
class Case:
    """One input: a document, a request or a damaged file, as it is handed to the program."""

    label: str
    """What it was made from, such as the format or the backend."""
    files: Mapping[str, bytes]
    """What to keep of it where it is a finding; the first is the input itself."""
    aside: Any = None
    """What else the attempt needs to know."""


class Campaign(Protocol):
    """A kind of input and what the program must make of it."""

    name: str
    batch: int
    """Inputs that one process takes."""
    room: int
    """Bytes of address space that a process may take beyond what it has at first.

    Threads and script engines reserve far more than they use; memory that is used is measured as well.
    """

    def prepare(self, folder: Path) -> None:
        """Import what is needed and make what all inputs share; `folder` is in memory and empty."""

    def make(self, draw: random.Random) -> Case:
        """An input."""

    def attempt(self, case: Case, folder: Path) -> None:
        """Hand it to the program; anything but an error that is meant for the user is a finding."""


@dataclass(slots=True)
class Finding:
    """An error in the program, with its first input."""

    kind: str
    """internal error, wrong answer, too slow, too large, died."""
    what: str
    """The last line of the traceback and the place in the program."""
    label: str
    number: int
    folder: str
    """Where the input and the traceback are kept."""
    count: int = 1


@dataclass(slots=True)
class Report:
    """What a campaign came to."""

    campaign: str
    seed: int
    more: str = ""
    """Further arguments that a repetition needs."""
    inputs: int = 0
    different: int = 0
    """Distinct ones among the inputs."""
    refused: int = 0
    """Inputs at which the program ended with an error that is meant for the user."""
    seconds: float = 0.0
    peak: int = 0
    """Bytes of memory that the largest process had."""
    notes: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def text(self) -> str:
        """The report in lines, with the command that repeats each finding."""
        rate = self.inputs / self.seconds if self.seconds else 0.0
        lines = [
            f"{self.campaign}: seed {self.seed}, {self.inputs:,} inputs ({self.different:,} different, "
            f"{self.refused:,} refused) in {self.seconds:.0f} s ({rate:,.0f} a second), "
            f"{self.peak / 2**20:,.0f} MB at most, {len(self.findings)} findings"
        ]
        lines += [f"  {name}: {count:,}" for name, count in sorted(self.notes.items())]
        for found in self.findings:
            lines.append(f"- {found.kind} ({found.label}, {found.count:,} times): {found.what}")
            lines.append(f"  kept in {found.folder}")
            lines.append(
                f"  again: PYTHONPATH=tests:tests/helpers python -m fuzz {self.campaign} --seed {self.seed} "
                f"--number {found.number}{self.more}"
            )
        return "\n".join(lines)


def input_of(campaign: Campaign, seed: int, number: int) -> Case:
    """The input of a number."""
    return campaign.make(random.Random(f"{campaign.name}/{seed}/{number}"))


def run(
    campaign: Campaign,
    seed: int,
    *,
    count: int | None = None,
    seconds: float | None = None,
    first: int = 0,
    keep: Path | None = None,
    more: str = "",
) -> Report:
    """Give the program a number of inputs, or as many as it handles in a number of seconds."""
    report = Report(campaign.name, seed, more)
    kept = (keep or Path(tempfile.gettempdir()) / "wug-fuzz") / f"{campaign.name}-{seed}"
    began = time.monotonic()
    ends = None if seconds is None else began + seconds
    last = first + count if count is not None else sys.maxsize
    with scratch() as folder:
        (folder / "shared").mkdir()
        with _where(folder / "shared"):
            campaign.prepare(folder / "shared")
        number, seen = first, set[bytes]()
        while number < last and (ends is None or time.monotonic() < ends):
            number = _take(campaign, report, number, min(last, number + campaign.batch), folder, kept, ends, seen)
    report.different = len(seen)
    report.seconds = time.monotonic() - began
    return report


def apart(act: Callable[[], object], said: Path, kill: float | None = None) -> tuple[int, str]:
    """Do something in a forked process, and kill it after a number of seconds; returns its exit code and output.

    Libraries that start threads when they are used must not be used in a process that is forked afterwards.
    """
    gc.collect()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setsid()
            out = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            os.dup2(out, 1)
            os.dup2(out, 2)
            try:
                act()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    if kill is not None:
        time.sleep(kill)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    text = said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""
    return os.waitstatus_to_exitcode(status), text


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where there is such a thing, gone at the end."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="wug-fuzz-", dir=shared if os.access(shared, os.W_OK) else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _where(folder: Path) -> Iterator[None]:
    """Work in a folder, so that a name without a place cannot hit anything else."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _take(
    campaign: Campaign,
    report: Report,
    start: int,
    end: int,
    folder: Path,
    kept: Path,
    ends: float | None,
    seen: set[bytes],
) -> int:
    """Let one process handle the inputs from `start`; returns the number of the next input."""
    place = mmap.mmap(-1, 8)
    place[:] = struct.pack("<q", start)
    own = folder / "work"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir()
    log, said = folder / "log.jsonl", folder / "said.txt"
    log.unlink(missing_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: the libraries' own, which are idle
        pid = os.fork()
    if pid == 0:
        try:
            _work(campaign, report.seed, range(start, end), own, log, said, place, ends)
        except BaseException:
            said.write_text(traceback.format_exc(), encoding="utf-8", errors="replace")
            os._exit(98)
        os._exit(0)
    _, status, usage = os.wait4(pid, 0)
    report.peak = max(report.peak, usage.ru_maxrss * 1024)
    reached: int = struct.unpack("<q", place[:])[0]
    told = 0
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        entry = json.loads(line)
        if "kind" in entry:
            _add(campaign, report, kept, **entry)
        else:
            told += entry["inputs"]
            report.inputs += entry["inputs"]
            report.refused += entry["refused"]
            seen.update(map(bytes.fromhex, entry["seen"]))
            for name, count in entry["notes"].items():
                report.notes[name] = report.notes.get(name, 0) + count
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return reached
    untold = range(start + told, reached + 1)  # tried, and not summed up when the process died
    report.inputs += len(untold)
    seen.update(bytes.fromhex(_digest(input_of(campaign, report.seed, number))) for number in untold)
    text = said.read_text(encoding="utf-8", errors="replace") if said.exists() else ""
    if code == 98:
        raise RuntimeError(f"the campaign {campaign.name} itself failed at input {reached}\n{text}")
    kinds = {-signal.SIGPROF: "too slow", -signal.SIGALRM: "hangs"}
    what = f"{kinds.get(code, f'the process ended with {code}')}: {_first_own_frame(text)}"
    case = input_of(campaign, report.seed, reached)
    _add(campaign, report, kept, kinds.get(code, "died"), what, case.label, reached, text)
    return reached + 1


def _work(
    campaign: Campaign,
    seed: int,
    numbers: range,
    folder: Path,
    log: Path,
    said: Path,
    place: mmap.mmap,
    ends: float | None,
) -> None:
    """In a separate process: try one input after the other, and note what is wrong."""
    import click

    from wug.errors import WugError

    out = os.open(said, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(out, 1)
    os.dup2(out, 2)
    warnings.simplefilter("ignore")
    _limit(campaign.room, out)
    base = _memory()
    os.chdir(folder)
    notes: dict[str, int] = {}
    tried = refused = 0
    seen: list[str] = []
    with log.open("w", encoding="utf-8") as sink:

        def tell(**entry: object) -> None:
            sink.write(json.dumps(entry) + "\n")
            sink.flush()  # whole lines, for the case that this process dies

        def note(kind: str, what: str, case: Case, number: int, text: str) -> None:
            tell(kind=kind, what=what, label=case.label, number=number, text=text)

        for number in numbers:
            place[:] = struct.pack("<q", number)
            if tried % 50 == 0:
                tell(inputs=tried, refused=refused, seen=seen, notes=notes)
                tried = refused = 0
                seen, notes = [], {}
            case = input_of(campaign, seed, number)
            seen.append(_digest(case))
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            signal.setitimer(signal.ITIMER_REAL, getattr(campaign, "patience", PATIENCE))
            tried += 1
            try:
                campaign.attempt(case, folder)
            except (WugError, click.ClickException):
                refused += 1
            except Wrong as error:
                note("wrong answer", str(error)[:300], case, number, traceback.format_exc()[-20_000:])
            except BaseException as error:
                text = "".join(traceback.format_exception(error, limit=-60))[-20_000:]
                name = f"{type(error).__name__}: {str(error)[:160]!r} at {_own_place(error)}"
                note("internal error", name, case, number, text)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            for name, count in getattr(campaign, "notes", dict[str, int]()).items():
                notes[name] = notes.get(name, 0) + count
            getattr(campaign, "notes", {}).clear()
            if _memory() - base > LARGEST:
                note("too large", f"the process grew by {(_memory() - base) / 2**20:,.0f} MB", case, number, "")
                break
            if ends is not None and time.monotonic() > ends:
                break
        tell(inputs=tried, refused=refused, seen=seen, notes=notes)
    place[:] = struct.pack("<q", number + 1)


def _limit(room: int, out: int) -> None:
    """Die of what takes too long, with the place on record; fail at what takes too much memory."""
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
        faulthandler.register(number, file=out, chain=True)
    faulthandler.enable(file=out)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() if _linux() else 0
    if now:
        resource.setrlimit(resource.RLIMIT_AS, (now + room, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _linux() -> bool:
    return Path("/proc/self/statm").exists()


def _memory() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _digest(case: Case) -> str:
    import hashlib

    found = hashlib.blake2b(case.label.encode(errors="replace"), digest_size=8)
    for name, data in case.files.items():
        found.update(name.encode(errors="replace") + b"\0" + data + b"\0")
    return found.hexdigest()


def _own_place(error: BaseException) -> str:
    """The last frame of a traceback that is in the program."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/wug/" in frame.filename]
    if not frames:
        return "a place outside the program"
    last = frames[-1]
    return f"{last.filename.rpartition('/wug/')[2]}:{last.lineno} ({last.name})"


def _first_own_frame(text: str) -> str:
    """The same of what faulthandler wrote, which has the innermost first."""
    return next((line.strip() for line in text.splitlines() if "/wug/" in line), "a place that is not known")


def _add(
    campaign: Campaign, report: Report, kept: Path, kind: str, what: str, label: str, number: int, text: str
) -> None:
    """Note a finding; of those at the same place the first is kept, and the others are counted."""
    alike = _alike(kind, what, label)
    for other in report.findings:
        if _alike(other.kind, other.what, other.label) == alike:
            other.count += 1
            return
    folder = kept / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    case = input_of(campaign, report.seed, number)
    for name, data in case.files.items():
        target = folder / name.replace("/", "_")
        target.write_bytes(data)
    (folder / "finding.txt").write_text(f"{kind}: {what}\n{case.label}\n\n{text}", encoding="utf-8", errors="replace")
    report.findings.append(Finding(kind, what, label, number, str(folder)))


def _alike(kind: str, what: str, label: str) -> tuple[str, ...]:
    """What findings of the same error have in common: the exception and its place, or the call stack."""
    if kind == "internal error":
        return kind, what.partition(":")[0], what.rpartition(" at ")[2]
    return kind, label.partition(",")[0], " ".join(what.split()[:2])
