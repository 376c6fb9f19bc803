"""Any program that turns lines into lines: `command:"python my_filter.py"`."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wug.errors import InputError, ModelError
from wug.files import checksum, existing, read_lines
from wug.models.command.process import LineProcess, failure, run
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


class FilterCommand:
    """A program kept alive: one line in, one line out."""

    def __init__(self, spec: ModelSpec, arguments: list[str]) -> None:
        self._arguments = arguments
        self._timeout: float = spec.read(OPTIONS)["timeout"] or 60.0
        self._filter: LineProcess | None = None
        self.id, self.options = _identity(spec, arguments)
        self.chunk = 200

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
            raise failure(
                self._arguments,
                f"answered the same source {source!r} first with {once[:100]!r} and then with {again[:100]!r}. It has "
                "to print answers and nothing else, and the same answer to the same source",
                None,
                "",
            )


class BatchCommand:
    """A program run once on a file of sources."""

    def __init__(self, spec: ModelSpec, arguments: list[str]) -> None:
        self._arguments = arguments
        self._timeout: float = spec.read(OPTIONS)["timeout"] or 3600.0
        self.id, self.options = _identity(spec, arguments)
        self.chunk = 10_000_000  # starting the program is expensive

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
            run(arguments, printed, self._timeout, [output])
            answer_file = output if self._writes else printed
            if not answer_file.is_file():
                raise failure(self._arguments, f"ended without having written {OUTPUT}", None, "")
            try:
                return answers(read_lines(answer_file), len(sources))
            except InputError as error:
                origin = OUTPUT if self._writes else "its standard output"
                problem = f"gave no usable answers in {origin}: {error.message}"
                raise failure(self._arguments, problem, None, "") from None

    @property
    def _writes(self) -> bool:
        return any(OUTPUT in argument for argument in self._arguments)


def identify(spec: ModelSpec) -> Identity | None:
    """The identity of a command; None if its program is not installed."""
    spec.read(OPTIONS)
    arguments = _arguments(spec)
    return None if shutil.which(arguments[0]) is None else Identity(*_identity(spec, arguments), "text")


def load(spec: ModelSpec) -> FilterCommand | BatchCommand:
    """Prepare a command; the first request starts it."""
    spec.read(OPTIONS)
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
