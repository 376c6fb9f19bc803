"""A worker whose models are toys: `python stand_in_worker.py LOG`, where LOG gets the name of each model it loads."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from wug.errors import ModelError
from wug.evaluation.handle import ModelHandle
from wug.requests import Request, Scored, Token
from wug.web.worker import main


class Words:
    """A scorer that gives each word as many nats as it has letters."""

    id = "words/test@0"
    options: ClassVar[dict[str, str]] = {}
    chunk = 2
    ordered = False

    def __init__(self, name: str) -> None:
        self.kind, _, self.place = name.partition(":")

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        return [Scored.of(r.text, _tokens(r.text)) for r in requests]

    def tell(self) -> None:
        """Write the number of this process to a named pipe, once."""
        if self.place:
            Path(self.place).write_text(str(os.getpid()))
            self.place = ""


class Number(Words):
    """Says which process it is in."""

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        return [Scored(r.text, (), (), (), notices=(str(os.getpid()),)) for r in requests]


class Slow(Words):
    """Takes its time, a sentence at a time."""

    chunk = 1

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        self.tell()
        threading.Event().wait(0.005)
        return super().score(requests)


class Stuck(Words):
    """Never answers."""

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        self.tell()
        threading.Event().wait()
        raise AssertionError


class Held(Words):
    """Answers when the named pipe is read."""

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        self.tell()
        return super().score(requests)


class Faulty(Words):
    def score(self, requests: Sequence[Request]) -> list[Scored]:
        raise RuntimeError("a tensor of the wrong shape")


class Leaving(Words):
    def score(self, requests: Sequence[Request]) -> list[Scored]:
        os._exit(3)


class Talking(Words):
    """Prints and reads, as models' own code may."""

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        print("loading 100 %", flush=True)
        os.write(1, b"\x80\x04garbage")
        assert os.read(0, 10) == b""
        return super().score(requests)


class Echo:
    id = "echo/test@0"
    options: ClassVar[dict[str, str]] = {}
    chunk = 2

    def __init__(self, name: str) -> None:
        pass

    def generate(self, sources: Sequence[str]) -> list[str]:
        return list(sources)


KINDS: dict[str, Any] = {
    "number": Number, "slow": Slow, "stuck": Stuck, "held": Held, "faulty": Faulty, "leaving": Leaving,
    "talking": Talking, "echo": Echo,
}  # fmt: skip


def load(name: str) -> ModelHandle:
    with Path(sys.argv[1]).open("a") as log:
        log.write(f"{name}\n")
    if name == "missing":
        raise ModelError("no such model 'missing'")
    return ModelHandle.from_loaded(KINDS.get(name.partition(":")[0], Words)(name))


def _tokens(text: str) -> list[Token]:
    tokens, start = [], 0
    for word in text.split():
        start = text.index(word, start)
        tokens.append(Token(word, start, start + len(word), -float(len(word))))
        start += len(word)
    return tokens


if __name__ == "__main__":
    main(load)
