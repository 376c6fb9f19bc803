"""A run that can be killed: a slow scorer that writes every question it gets into a file.

python killable.py ASKED DB CACHE PAUSE
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from wug.evaluation import models
from wug.evaluation.handle import ModelHandle
from wug.models.spec import ModelSpec
from wug.requests import Request, Scored


class SlowScorer:
    """Surprisal by hash, a few requests at a time, with a pause before each answer."""

    id, chunk, ordered = "slow/model@1", 7, False

    def __init__(self, asked: Path, pause: float) -> None:
        self.options: dict[str, str] = {}
        self._asked, self._pause = asked, pause

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        with self._asked.open("a", encoding="utf-8") as out:
            for request in requests:
                out.write(request.text + "\n")
        time.sleep(self._pause)
        return [self._one(request.text) for request in requests]

    def _one(self, text: str) -> Scored:
        starts = [i for i in range(len(text)) if text[i] != " " and (i == 0 or text[i - 1] == " ")]
        ends = [text.find(" ", start) if " " in text[start:] else len(text) for start in starts]
        logprobs = tuple(-(sum(map(ord, text[:end])) % 97) / 7 for end in ends)
        return Scored(text, tuple(starts), tuple(ends), logprobs)


def main() -> None:
    asked, db, cache, pause = sys.argv[1:]
    models.model_spec = lambda text, options=None, device=None: ModelSpec("oracle", "slow")
    models.open_model = lambda named, options=None: ModelHandle.from_loaded(SlowScorer(Path(asked), float(pause)))
    from wug.cli.main import main as wug

    sys.argv = ["wug", "run", "wug_agreement_pp", "wug_reflexive", "--model", "slow:model", "--format", "json"]
    sys.argv += ["--store", db, "--cache", cache]
    wug()


if __name__ == "__main__":
    main()
