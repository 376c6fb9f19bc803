"""Any program that turns lines into lines: `command:"python my_filter.py"`.

It is kept alive and maps one line to one line, or it is run once on a whole file.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from wug.errors import InputError, ModelError
from wug.files import checksum, existing, read_lines
from wug.models.decoding import outputs
from wug.models.spec import Identity, ModelSpec
from wug.models.weights.fingerprints import MAX_FILES, TooManyFiles, content, fingerprint
from wug.options import Option
from wug.record_tables import best_hypotheses
from wug.traits import BackendTraits

TRAITS = BackendTraits(returns="text", verbatim_names=True)
OPTIONS = (
    Option(
        "timeout",
        float,
        None,
        "timeout in seconds without output; default: 60, and 3600 for a program with {source}",
        least=0.001,
        most=1e7,
    ),
    Option(
        "id", str, None, "a version that you choose, for a program that changes while the command and its files do not"
    ),
)
SOURCE, OUTPUT = "{source}", "{output}"
TAIL_CHARACTERS = 2000
"""Characters of a program's error output in messages."""
EXIT_TIMEOUT_S = 5.0
"""Seconds for a program to exit after its input has ended."""
POLL_S = 0.2
"""Seconds between two checks of a program that works on a file."""


class FilterCommand:
    """A program kept alive: one line in, one line out."""

    chunk = 200

    def __init__(self, spec: ModelSpec, arguments: list[str]) -> None:
        self._arguments = arguments
        self._timeout: float = spec.read(OPTIONS)["timeout"] or 60.0
        self._filter: LineProcess | None = None
        self.id, self.options = _identity(spec, arguments)

    def generate(self, sources: Sequence[str]) -> list[str]:
        """One answer per source, in order."""
        _refuse_breaks(sources)
        return outputs.map_distinct(sources, self._run)

    def close(self) -> None:
        """End the program; the next request starts it again."""
        if self._filter is not None:
            self._filter.close()
            self._filter = None

    def _run(self, sources: list[str]) -> list[str]:
        try:
            if self._filter is None:
                self._filter = LineProcess(self._arguments, self._timeout)
                self._check_filter(self._filter, sources[0])
            return self._filter.send(sources)
        except BaseException:
            self.close()
            raise

    def _check_filter(self, process: LineProcess, source: str) -> None:
        """Send a source twice: a greeting, or any other extra line, would shift all answers by one."""
        once, again = process.send([source, source])
        if once != again:
            raise _failure(
                self._arguments,
                f"answered the same source {source!r} first with {once[:100]!r} and then with {again[:100]!r}. It has "
                "to print answers and nothing else, and the same answer to the same source",
            )


class BatchCommand:
    """A program run once on a file of sources."""

    chunk = 10_000_000  # starting the program is expensive

    def __init__(self, spec: ModelSpec, arguments: list[str]) -> None:
        self._arguments = arguments
        self._timeout: float = spec.read(OPTIONS)["timeout"] or 3600.0
        self.id, self.options = _identity(spec, arguments)

    def generate(self, sources: Sequence[str]) -> list[str]:
        """One answer per source, in order."""
        _refuse_breaks(sources)
        return outputs.map_distinct(sources, self._run)

    def _run(self, sources: list[str]) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="wug-") as folder:
            source, output, printed = (Path(folder, name) for name in ("source.txt", "output.txt", "printed.txt"))
            source.write_text("".join(f"{line}\n" for line in sources), encoding="utf-8", newline="")
            arguments = [
                argument.replace(SOURCE, str(source)).replace(OUTPUT, str(output)) for argument in self._arguments
            ]
            _run(arguments, printed, self._timeout, [output])
            writes_file = any(OUTPUT in argument for argument in self._arguments)
            answer_file = output if writes_file else printed
            if not answer_file.is_file():
                raise _failure(self._arguments, f"ended without having written {OUTPUT}")
            try:
                return answers(read_lines(answer_file), len(sources))
            except InputError as error:
                origin = OUTPUT if writes_file else "its standard output"
                problem = f"gave no usable answers in {origin}: {error.message}"
                raise _failure(self._arguments, problem) from None


def identify(spec: ModelSpec) -> Identity | None:
    """The identity of a command; None if its program is not installed."""
    arguments = _arguments(spec)
    return None if shutil.which(arguments[0]) is None else Identity(*_identity(spec, arguments), "text")


def load(spec: ModelSpec) -> FilterCommand | BatchCommand:
    """Prepare a command; the first request starts it."""
    arguments = _arguments(spec)
    if shutil.which(arguments[0]) is None:
        raise ModelError(f"{spec}: there is no program {arguments[0]!r}. A command runs without a shell: no |, > or *")
    return BatchCommand(spec, arguments) if _takes_file(arguments) else FilterCommand(spec, arguments)


def answers(lines: Sequence[str], count: int) -> list[str]:
    """`count` answers: the `H-` lines of fairseq in numerical order, or all lines if there are none."""
    hypotheses = best_hypotheses(lines, count)
    if hypotheses is not None:
        return [text for _, text in hypotheses]
    if len(lines) != count:
        first = f"; the first line is {lines[0][:60]!r}" if lines else ""
        raise InputError(f"{len(lines):,} lines for {count:,} sources{first}")
    return list(lines)


def _arguments(spec: ModelSpec) -> list[str]:
    spec.read(OPTIONS)
    try:
        arguments = shlex.split(spec.name)
    except ValueError as error:
        raise InputError(f"command {spec.name!r} cannot be taken apart: {error}") from None
    if not arguments:
        raise InputError('command: is empty. Write it as command:"program argument …"')
    if not _takes_file(arguments) and any(OUTPUT in argument for argument in arguments):
        raise InputError(f"command {spec.name!r} has {OUTPUT} without {SOURCE}")
    return arguments


def _takes_file(arguments: Sequence[str]) -> bool:
    return any(SOURCE in argument for argument in arguments)


def _identity(spec: ModelSpec, arguments: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    contents = [spec.name]
    for path in dict.fromkeys(path for argument in arguments for path in _paths_in(argument)):
        if path.is_file():
            contents.append(content(path))
        elif path.is_dir() and path.resolve() not in (Path.cwd(), *Path.cwd().parents):
            try:
                contents.append(fingerprint(path))
            except TooManyFiles:
                if "id" not in spec.options:
                    raise InputError(
                        f"command: the folder {path} has more than {MAX_FILES:,} files, too many to fingerprint. Name "
                        "the version yourself: -M id=1, and another id whenever the program changes"
                    ) from None
    id_option = {"id": spec.options["id"]} if "id" in spec.options else {}
    return f"command/{Path(arguments[0]).name}@{checksum(*contents)}", {"command": spec.name, **id_option}


def _paths_in(argument: str) -> Iterator[Path]:
    """The paths that an argument may name: itself, the part after =, and its words."""
    for text in dict.fromkeys((argument, argument.partition("=")[2], *_SEPARATORS.split(argument))):
        if text and (path := existing(text)):
            yield path


_SEPARATORS = re.compile(r"""[\s,:;="']+""")


def _refuse_breaks(sources: Sequence[str]) -> None:
    for source in sources:
        if "\n" in source or "\r" in source:
            raise ModelError(f"command: a source with a line break cannot be sent as a line: {source[:100]!r}")


class LineProcess:
    """A program kept alive that writes one line per line."""

    def __init__(self, arguments: Sequence[str], timeout: float) -> None:
        self._arguments, self._timeout = arguments, timeout
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the program
        self._process = _start(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors)
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
            _kill(self._process)
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
        exit_code = _kill(self._process, after=patience)  # one that has closed its output is about to exit
        errors = _tail(self._errors)
        self.close()
        raise _failure(self._arguments, problem, exit_code, errors)


def _run(arguments: Sequence[str], output: Path, timeout: float, watched: Sequence[Path] = ()) -> None:
    """Run a program with standard output in a file; `timeout` limits silence, in the `watched` files too."""
    with tempfile.TemporaryFile() as errors, output.open("wb") as stdout:
        process = _start(arguments, stdin=subprocess.DEVNULL, stdout=stdout, stderr=errors)
        try:
            last_sizes: list[int] = []
            last_change = time.monotonic()
            while True:
                try:
                    exit_code = process.wait(timeout=min(POLL_S, timeout))
                    break
                except subprocess.TimeoutExpired:
                    pass
                files = [output, *(path for path in watched if path.exists())]
                sizes = [*(path.stat().st_size for path in files), os.fstat(errors.fileno()).st_size]
                if sizes != last_sizes:
                    last_sizes, last_change = sizes, time.monotonic()
                elif time.monotonic() - last_change > timeout:
                    silence = f"wrote nothing for {timeout:g} s. If it is only slow: -M timeout=SECONDS"
                    raise _failure(arguments, silence, None, _tail(errors))
        finally:
            _kill(process)
        if exit_code:
            raise _failure(arguments, "failed", exit_code, _tail(errors))


def _start(arguments: Sequence[str], **pipes: Any) -> subprocess.Popen[bytes]:
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


def _kill(process: subprocess.Popen[bytes], after: float = 0.0) -> int | None:
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


def _failure(arguments: Sequence[str], problem: str, exit_code: int | None = None, errors: str = "") -> ModelError:
    """The error for a program, with its exit code and the end of its error output."""
    status = "" if exit_code is None else f" (exit code {exit_code})"
    ending = f"\nIts error output ends:\n{errors}" if errors else ""
    return ModelError(f"command: {' '.join(arguments)[:200]!r} {problem}{status}{ending}")


def _tail(errors: IO[bytes]) -> str:
    """The end of a program's error output, indented."""
    length = os.fstat(errors.fileno()).st_size
    errors.seek(max(0, length - TAIL_CHARACTERS))
    text = errors.read().decode("utf-8", errors="replace").strip()
    return "\n".join(f"    {line}" for line in text.splitlines()[-15:])


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
    _kill(process, after=EXIT_TIMEOUT_S)
    reader.join(EXIT_TIMEOUT_S)
    process.stdout.close()
    errors.close()


def _line_text(line: bytes) -> str:
    return repr(line.decode("utf-8", errors="backslashreplace").rstrip("\n")[:100])
