"""The fenced blocks of a Markdown page, and what its comments say about running them.

```console                  lines that begin with `$ ` are run, what follows each is what it prints
```python                   is run; all blocks of a page share their names
```text                     right behind a Python block: what that block prints
```toml title="mine.toml"   a file with a title is written where the page's commands run
<!-- not run: a GPU -->     before a block: why it cannot be run (one of REASONS)
<!-- exit 1 -->             before a block of commands: how the last of them ends
<!-- setup: … -->           commands, one a line, that are run unseen; Python in lines that begin with `>>> `
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "plugin" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))

RUN = ("console", "python")
SHOWN = ("text", "json", "toml", "tsv", "csv", "r", "bibtex", "yaml")
"""Languages of blocks that are data, output, or for another program."""
REASONS = ("a GPU", "the Hugging Face Hub", "the network", "a long computation", "another program", "a server")
"""What a page may name as the reason why a block is not run; words may follow."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<language>[\w-]*)(?P<rest>[^`\n]*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_COMMENT = re.compile(r"<!-- (?P<what>not run|setup|exit)(?::| )\s*(?P<text>.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, or commands in a comment."""

    page: Path
    line: int
    """The number of its first line, from 1."""
    language: str
    body: str
    title: str | None = None
    reason: str | None = None
    """Why it is not run."""
    exit: int = 0
    """How the last command ends."""
    follows: bool = False
    """Whether it directly follows the previous block."""

    @property
    def place(self) -> str:
        """Its page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block, and what the page shows behind it."""

    text: str
    line: int
    """Of the block, from 0."""
    shown: list[str]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    return list(_walk(page, page.read_text(encoding="utf-8").split("\n")))


def commands(block: Block) -> list[Command]:
    """The commands of a block; a backslash at the end of a line continues it."""
    found: list[Command] = []
    goes_on = False
    for number, line in enumerate(block.body.split("\n")):
        if goes_on:
            found[-1] = Command(found[-1].text[:-1] + line.strip(), found[-1].line, found[-1].shown)
        elif line.startswith("$ "):
            found.append(Command(line[2:], number, []))
        elif found:
            found[-1].shown.append(line)
        elif line:
            raise ValueError(f"{block.place}: a console block begins with a command: $ wug …")
        goes_on = bool(found) and not found[-1].shown and found[-1].text.endswith("\\")
    return found


def _walk(page: Path, lines: list[str]) -> Iterator[Block]:
    number, reason, code, close = 0, None, 0, False
    while number < len(lines):
        line = lines[number]
        if "<!-- " in line and line.lstrip().startswith("<!-- "):
            end = next(n for n in range(number, len(lines)) if "-->" in lines[n])
            if found := _COMMENT.search("\n".join(lines[number : end + 1])):
                reason = found["text"] if found["what"] == "not run" else reason
                code = int(found["text"]) if found["what"] == "exit" else code
                if found["what"] == "setup":
                    yield Block(page, number + 1, "setup", found["text"])
            number, close = end + 1, False
        elif opened := _FENCE.match(line):
            indent, marks = opened["indent"], opened["marks"]
            end = next((n for n in range(number + 1, len(lines)) if lines[n].strip() == marks), 0)
            if not end:
                raise ValueError(f"{page}:{number + 1}: a fence without its end")
            body = "\n".join(text.removeprefix(indent) for text in lines[number + 1 : end])
            title = _TITLE.search(opened["rest"])
            yield Block(page, number + 2, opened["language"], body, title[1] if title else None, reason, code, close)
            number, reason, code, close = end + 1, None, 0, True
        else:
            if line.strip():
                reason, code, close = None, 0, False
            number += 1
