"""External programs: one kept alive that maps lines to lines, or one run on a whole file."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from wug.errors import ModelError

TAIL_CHARACTERS = 2000
"""Characters of a program's error output in messages."""
EXIT_TIMEOUT_S = 5.0
"""Seconds for a program to exit after its input has ended."""
POLL_S = 0.2
"""Seconds between two checks of a program that works on a file."""


class LineProcess:
    """A program kept alive that writes one line per line."""

    def __init__(self, arguments: Sequence[str], timeout: float) -> None:
        self._arguments, self._timeout = arguments, timeout
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the program
        self._process = start(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True)
        reader.start()
        self.close = weakref.finalize(self, _end, self._process, reader, self._errors)
        """End the program; also done when the object is collected."""

    def send(self, lines: Sequence[str]) -> list[str]:
        """One line per line, in order."""
        if not self._lines.empty():
            early = self._lines.get()
            if early is None:
                self._fail("ended before it got a source", patience=EXIT_TIMEOUT_S)
            self._fail(f"printed a line that is not an answer: {_line_text(early)}")
        writer = threading.Thread(target=_write, args=(self._process.stdin, lines), daemon=True)
        writer.start()
        answers: list[str] = []
        try:
            while len(answers) < len(lines):
                answers.append(self._next(len(answers), len(lines)))
        except BaseException:  # also on interruption: the writer would wait forever
            kill(self._process)
            raise
        finally:
            writer.join(EXIT_TIMEOUT_S)
        return answers

    def _next(self, received: int, expected: int) -> str:
        try:
            line = self._lines.get(timeout=self._timeout)
        except queue.Empty:
            self._fail(
                f"gave {received} of {expected} answers and then nothing for {self._timeout:g} s. Does it flush its "
                "output after every line, and answer a line before it has read the next? If it is only slow: "
                "-M timeout=SECONDS. A program that wants all sources at once takes them as a file: {source}"
            )
        if line is None:
            self._fail(f"ended after {received} of {expected} answers", patience=EXIT_TIMEOUT_S)
        try:
            return line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            self._fail(f"gave an answer that is not UTF-8 text: {_line_text(line)}")

    def _fail(self, problem: str, patience: float = 0.0) -> NoReturn:
        exit_code = kill(self._process, after=patience)  # one that has closed its output is about to exit
        errors = tail(self._errors)
        self.close()
        raise failure(self._arguments, problem, exit_code, errors)


def run(arguments: Sequence[str], output: Path, timeout: float, watched: Sequence[Path] = ()) -> None:
    """Run a program with standard output in a file; `timeout` limits silence, in the `watched` files too."""
    with tempfile.TemporaryFile() as errors, output.open("wb") as stdout:
        process = start(arguments, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors)
        try:
            last_sizes: list[int] = []
            last_change = time.monotonic()
            while True:
                try:
                    exit_code = process.wait(timeout=min(POLL_S, timeout))
                    break
                except subprocess.TimeoutExpired:
                    pass
                sizes = [size(path) for path in (output, *watched)] + [os.fstat(errors.fileno()).st_size]
                if sizes != last_sizes:
                    last_sizes, last_change = sizes, time.monotonic()
                elif time.monotonic() - last_change > timeout:
                    silence = f"wrote nothing for {timeout:g} s. If it is only slow: -M timeout=SECONDS"
                    raise failure(arguments, silence, None, tail(errors))
        finally:
            kill(process)
        if exit_code:
            raise failure(arguments, "failed", exit_code, tail(errors))


def start(arguments: Sequence[str], **pipes: Any) -> subprocess.Popen[bytes]:
    """Start a program without a shell, in its own process group, so that its children end with it."""
    try:
        return subprocess.Popen(
            arguments,
            # Python programs then need not flush by themselves; for others this changes nothing.
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
            **pipes,
        )
    except FileNotFoundError:
        raise ModelError(f"command: there is no program {arguments[0]!r}") from None
    except OSError as error:
        raise ModelError(f"command: {arguments[0]!r} cannot be run: {error.strerror or error}") from None


def kill(process: subprocess.Popen[bytes], after: float = 0.0) -> int | None:
    """End a program and its children; returns the exit code if it ended by itself within `after` seconds."""
    try:
        return process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        return None


def failure(arguments: Sequence[str], problem: str, exit_code: int | None, errors: str) -> ModelError:
    """The error for a program, with its exit code and the end of its error output."""
    status = "" if exit_code is None else f" (exit code {exit_code})"
    ending = f"\nIts error output ends:\n{errors}" if errors else ""
    return ModelError(f"command: {' '.join(arguments)[:200]!r} {problem}{status}{ending}")


def tail(errors: IO[bytes]) -> str:
    """The end of a program's error output, indented."""
    length = os.fstat(errors.fileno()).st_size
    errors.seek(max(0, length - TAIL_CHARACTERS))
    text = errors.read().decode("utf-8", errors="replace").strip()
    return "\n".join(f"    {line}" for line in text.splitlines()[-15:])


def size(path: Path) -> int:
    """The size of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read(stdout: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    """Queue the program's lines, and None after the last."""
    for line in stdout:
        lines.put(line)
    lines.put(None)


def _write(stdin: IO[bytes], lines: Sequence[str]) -> None:
    # The reader reports a program that has ended.
    with contextlib.suppress(BrokenPipeError, ValueError):
        stdin.write("".join(f"{line}\n" for line in lines).encode())
        stdin.flush()


def _end(process: subprocess.Popen[bytes], reader: threading.Thread, errors: IO[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):  # unsent data for a program that is gone
        process.stdin.close()
    kill(process, after=EXIT_TIMEOUT_S)
    reader.join(EXIT_TIMEOUT_S)
    process.stdout.close()
    errors.close()


def _line_text(line: bytes) -> str:
    return repr(line.decode("utf-8", errors="backslashreplace").rstrip("\n")[:100])
