"""Runs a page of the documentation: writes its files, and executes its commands and Python in a new folder."""

from __future__ import annotations

import ast
import atexit
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch

from command_line import wug
from doc_blocks import ROOT, Block, Command, blocks, commands
from timeouts import PATIENCE

WIDTH = "110"
"""Columns of the terminal in which commands are run."""


@cache
def _answers() -> str:
    """The file of answers that the pages of one process share: what one page asked, the next need not ask again."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(Path(folder) / "answers.db")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command or a block of Python printed, and where the page shows what it should print."""

    block: Block
    what: str
    said: str
    """On both streams."""
    results: str
    """On stdout alone."""
    code: int
    expected_code: int
    shown: list[str]
    """The lines that the page shows; none: nothing is compared."""
    first: int
    """The line of the page on which these begin, from 1."""

    @property
    def fault(self) -> str | None:
        """What is wrong: another exit code, or another output than the page shows."""
        if self.code != self.expected_code:
            return f"{self.block.place}: {self.what}\nended with {self.code}, not {self.expected_code}:\n{self.said}"
        shown = "\n".join(self.shown)
        if self.shown and not alike(self.results, shown) and not alike(self.said, shown):
            return f"{self.block.place}: {self.what}\nprints\n{self.said}\nand the page shows\n{shown}"
        return None


@dataclass
class Session:
    """A folder in which a page is run, and the names that its Python made."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def environment(self) -> dict[str, str]:
        """The variables of a fresh user at a terminal of WIDTH columns, with `wug` and `python` on the path."""
        home, programs = self.folder.parent / "home", self.folder.parent / "programs"
        home.mkdir(exist_ok=True)
        if not programs.exists():
            programs.mkdir()
            for name, arguments in (("wug", "-m wug "), ("python", "")):
                (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
                (programs / name).chmod(0o755)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("WUG_", "XDG_"))}
        paths = {"PATH": f"{programs}{os.pathsep}{kept['PATH']}", "PYTHONPATH": str(ROOT / "src")}
        own = {"HOME": str(home), "WUG_STORE": str(home / "store"), "WUG_CACHE": _answers()}
        own |= {"WUG_DATA": str(home / "data"), "COLUMNS": WIDTH, "HF_HUB_OFFLINE": "1", "NO_COLOR": "1"}
        return {**kept, **paths, **own}

    def python(self, block: Block) -> tuple[str, int]:
        """What a block of Python prints, and 1 where it fails."""
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said):
            try:
                tree = ast.parse(block.body)
                exec(compile(tree, block.place, "exec"), self.names)
            except Exception:
                said.write(traceback.format_exc())
                return said.getvalue(), 1
        return said.getvalue(), 0

    def command(self, text: str) -> tuple[str, str, int]:
        """What a line of shell prints on both streams and on stdout alone, and how it ends.

        A stage of a pipe that is wug itself runs in this process, so that torch is imported once and not every time.
        """
        said, out, code = "", "", 0
        stages = re.split(r" \| (?=(?:[^']*'[^']*')*[^']*$)", text)
        for stage in stages if any(stage.startswith("wug ") for stage in stages) else [text]:
            said, out, code = self._stage(stage.strip(), out)
        return said, out, code

    def _stage(self, text: str, given: str) -> tuple[str, str, int]:
        plain, target = text, None
        if found := re.fullmatch(r"(.*?) > ([\w./-]+)", text):
            plain, target = found[1], found[2]
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", plain).partition(" # ")[0]
        if not plain.startswith("wug ") or re.search(r"[;&<]|\$\(", bare):
            done = subprocess.run(
                ["bash", "-c", text], input=given, capture_output=True, text=True, env=os.environ, timeout=PATIENCE
            )
            return done.stdout + done.stderr, done.stdout, done.returncode
        output = wug(*_words(plain), given=given)
        if target is not None:
            Path(target).write_text(output.out, encoding="utf-8")
            return "", "", output.code
        return output.screen, output.out, output.code


def run(page: Path, folder: Path) -> Iterator[Ran]:
    """What each command and each Python block of a page does, in order."""
    folder.mkdir(parents=True, exist_ok=True)
    session = Session(folder)
    found = blocks(page)
    with patch.dict(os.environ, session.environment(), clear=True), chdir(folder):
        for block, after in zip_longest(found, found[1:]):
            if block.title:
                Path(block.title).parent.mkdir(parents=True, exist_ok=True)
                Path(block.title).write_text(block.body + "\n", encoding="utf-8")
            elif block.reason:
                continue
            elif block.language == "python":
                said, code = session.python(block)
                follows = after is not None and after.follows and after.language == "text"
                shown = after.body.split("\n") if after and follows else []
                yield Ran(block, block.body, said, said, code, 0, shown, after.line if after else 0)
            elif block.language == "console":
                yield from _console(session, block)
            elif block.language == "setup":
                yield from _setup(session, block)


def _setup(session: Session, block: Block) -> Iterator[Ran]:
    """What is run unseen: commands, and Python in lines that begin with `>>> ` or `... `; REPOSITORY is this one."""
    lines = block.body.split("\n")
    code = "\n".join(line[4:] for line in lines if line.startswith((">>> ", "... ")))
    if code:
        said, status = Session(session.folder).python(Block(block.page, block.line, "python", code))
        yield Ran(block, code, said, said, status, 0, [], block.line)
    for line in (line for line in lines if not line.startswith((">>> ", "... "))):
        if line.strip():
            said, out, status = session.command(line.replace("REPOSITORY", str(ROOT)))
            yield Ran(block, line, said, out, status, 0, [], block.line)


def _console(session: Session, block: Block) -> Iterator[Ran]:
    given = commands(block)
    for command in given:
        said, out, code = session.command(command.text)
        last = command is given[-1]
        shown = command.shown if any(line.strip() for line in command.shown) else []
        yield Ran(block, command.text, said, out, code, block.exit if last else 0, shown, _first(block, command))


def _first(block: Block, command: Command) -> int:
    lines = block.body.split("\n")
    number = command.line
    while lines[number].endswith("\\"):
        number += 1
    return block.line + number + 1


def alike(said: str, shown: str) -> bool:
    """Whether an output is what a page shows; alignment and fingerprints do not count.

    `...` matches anything in a line, and any number of lines if it is a whole line.
    """
    lines = [
        r"(?:[^\n]*\n)*?" if line == "..." else "[^\n]*?".join(map(re.escape, line.split("..."))) + r"\n"
        for line in _plain(shown).split("\n")
    ]
    return re.fullmatch("".join(lines), _plain(said) + "\n") is not None


def _plain(text: str) -> str:
    """A text without what differs from machine to machine: fingerprints, versions, seconds, the width of columns."""
    text = re.sub(r"@[0-9a-f]{6,}", "@0", text)
    text = re.sub(r"wug:\d[\w.]*", "wug:0", text)
    text = re.sub(r"\b\d+(\.\d+)? (ms|s|seconds)\b", "0 s", text)
    text = re.sub(r"[─━═-]{3,}", "---", text)
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


def _words(command: str) -> Iterator[str]:
    for word in shlex.split(command, comments=True)[1:]:
        quoted = f"'{word}'" in command or f'"{word}"' in command
        fitting = sorted(map(str, Path().glob(word))) if "*" in word and not quoted else []
        yield from fitting or [word]
