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
from wug.models._fingerprint import MOST, TooMany, content, fingerprint
from wug.models._spec import Identity, ModelSpec
from wug.models.command.process import Filter, failure, run
from wug.models.decoding import outputs
from wug.options import Option
from wug.types import Traits

TRAITS = Traits(returns="text", verbatim_names=True)
OPTIONS = (
    Option(
        "timeout",
        float,
        None,
        "seconds without a sign of life after which a program is given up; by default 60, and 3600 for one with "
        "{source}",
        least=0.001,
        most=1e7,
    ),
    Option(
        "id", str, None, "a version of your own, for a program that changes without the command and its files changing"
    ),
)
SOURCE, OUTPUT = "{source}", "{output}"
HYPOTHESIS = re.compile(r"H-(\d{1,12})\t[^\t]*(?:\t(.*))?")
"""An answer as fairseq prints it, with the number of its source and its score."""


class FilterCommand:
    """A program kept alive: one line in, one line out."""

    __slots__ = ("_arguments", "_filter", "_timeout", "chunk", "id", "options")

    def __init__(self, spec: ModelSpec, arguments: list[str]) -> None:
        self._arguments = arguments
        self._timeout: float = spec.read(OPTIONS)["timeout"] or 60.0
        self._filter: Filter | None = None
        self.id, self.options = _identity(spec, arguments)
        self.chunk = 200

    def generate(self, sources: Sequence[str]) -> list[str]:
        """One answer for each source, in order."""
        _refuse_breaks(sources)
        return outputs.map_distinct(sources, self._ask)

    def close(self) -> None:
        """End the program; it is started again when something is asked."""
        if self._filter is not None:
            self._filter.close()
            self._filter = None

    def _ask(self, sources: list[str]) -> list[str]:
        try:
            if self._filter is None:
                self._filter = Filter(self._arguments, self._timeout)
                self._try_out(self._filter, sources[0])
            return self._filter.ask(sources)
        except BaseException:
            self.close()
            raise

    def _try_out(self, filter: Filter, source: str) -> None:
        """Ask something twice: a greeting, or any line that is no answer, would shift all answers by one."""
        once, again = filter.ask([source, source])
        if once != again:
            raise failure(
                self._arguments,
                f"answered the same source {source!r} first with {once[:100]!r} and then with {again[:100]!r}. It has "
                "to print answers and nothing else, and the same answer to the same question",
                None,
                "",
            )


class BatchCommand:
    """A program run once on a file of sources."""

    __slots__ = ("_arguments", "_timeout", "chunk", "id", "options")

    def __init__(self, spec: ModelSpec, arguments: list[str]) -> None:
        self._arguments = arguments
        self._timeout: float = spec.read(OPTIONS)["timeout"] or 3600.0
        self.id, self.options = _identity(spec, arguments)
        self.chunk = 10_000_000  # to start the program is what costs

    def generate(self, sources: Sequence[str]) -> list[str]:
        """One answer for each source, in order."""
        _refuse_breaks(sources)
        return outputs.map_distinct(sources, self._ask)

    def _ask(self, sources: list[str]) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="wug-") as folder:
            source, output, printed = (Path(folder, name) for name in ("source.txt", "output.txt", "printed.txt"))
            source.write_text("".join(f"{line}\n" for line in sources), encoding="utf-8", newline="")
            arguments = [
                argument.replace(SOURCE, str(source)).replace(OUTPUT, str(output)) for argument in self._arguments
            ]
            run(arguments, printed, self._timeout, [output])
            wanted = output if self._writes else printed
            if not wanted.is_file():
                raise failure(self._arguments, f"ended without having written {OUTPUT}", None, "")
            try:
                return answers(read_lines(wanted), len(sources))
            except InputError as error:
                where = OUTPUT if self._writes else "its standard output"
                what = f"gave no usable answers in {where}: {error.message}"
                raise failure(self._arguments, what, None, "") from None

    @property
    def _writes(self) -> bool:
        return any(OUTPUT in argument for argument in self._arguments)


def identify(spec: ModelSpec) -> Identity | None:
    """What the command is; None where its program is not on this machine."""
    spec.read(OPTIONS)
    arguments = _arguments(spec)
    return None if shutil.which(arguments[0]) is None else Identity(*_identity(spec, arguments), "text")


def load(spec: ModelSpec) -> FilterCommand | BatchCommand:
    """The command that `spec` has; it is started when something is asked."""
    spec.read(OPTIONS)
    arguments = _arguments(spec)
    if shutil.which(arguments[0]) is None:
        raise ModelError(f"{spec}: there is no program {arguments[0]!r}. A command runs without a shell: no |, > or *")
    return BatchCommand(spec, arguments) if _takes_file(arguments) else FilterCommand(spec, arguments)


def answers(lines: Sequence[str], count: int) -> list[str]:
    """`count` answers: the `H-` lines of fairseq in the order of their numbers, or every line where there is none."""
    found = [match for line in lines if (match := HYPOTHESIS.fullmatch(line))]
    if not found:
        if len(lines) != count:
            first = f"; the first line is {lines[0][:60]!r}" if lines else ""
            raise InputError(f"{len(lines):,} lines for {count:,} sources{first}")
        return list(lines)
    numbered: dict[int, str] = {}
    for match in found:
        numbered.setdefault(int(match[1]), match[2] or "")  # of several guesses the best stands first
    missing = [number for number in range(count) if number not in numbered]
    if missing:
        raise InputError(f"{len(missing):,} of {count:,} sources have no H- line, the first of them H-{missing[0]}")
    if len(numbered) > count:
        raise InputError(f"there is a line H-{max(numbered)}, and the sources end with number {count - 1}")
    return [numbered[number] for number in range(count)]


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
    """What the answers depend on, as far as can be seen: the command and the files and folders that it names."""
    parts = [spec.name]
    for path in dict.fromkeys(path for argument in arguments for path in _named(argument)):
        if path.is_file():
            parts.append(content(path))
        elif path.is_dir() and path.resolve() not in (Path.cwd(), *Path.cwd().parents):
            try:
                parts.append(fingerprint(path))
            except TooMany:
                if "id" not in spec.options:
                    raise InputError(
                        f"command: it names the folder {path}, which has more than {MOST:,} files, too many to tell "
                        "whether the answers are still those of the same program. Say which version it is: -M id=1, "
                        "and another whenever it changes"
                    ) from None
    named = {"id": spec.options["id"]} if "id" in spec.options else {}
    return f"command/{Path(arguments[0]).name}@{checksum(*parts)}", {"command": spec.name, **named}


def _named(argument: str) -> Iterator[Path]:
    """What an argument may name: itself, what stands behind =, and the words of a command or list in it."""
    for text in dict.fromkeys((argument, argument.partition("=")[2], *_PARTS.split(argument))):
        if text and (path := existing(text)):
            yield path


_PARTS = re.compile(r"""[\s,:;="']+""")


def _refuse_breaks(sources: Sequence[str]) -> None:
    for source in sources:
        if "\n" in source or "\r" in source:
            raise ModelError(f"command: a source with a line break cannot be asked as a line: {source[:100]!r}")
