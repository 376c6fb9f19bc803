"""The process that asks models: `python -m wug.web.jobs.worker`, started by the server and talked to through pipes.

Models need memory and may crash: the server stays small and alive, and can end this process at any moment. It
does one thing at a time, keeps a few models loaded, and ends when the server is gone.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, TypeAlias

from wug.errors import WugError
from wug.runs.opening import open_model
from wug.web.jobs.messages import Ended, Progress, Question, Stop, Stopped

Load: TypeAlias = Callable[[str], Any]

LOADED = 2
"""Models kept in memory."""
OFTEN = 0.1
"""Seconds between two words about how far a job is."""
GRACE = 1.0
"""Seconds in which a job may end by itself when the server is gone."""

_log = logging.getLogger("wug")


def main(load: Load = open_model) -> None:
    """Answer questions until the server closes the pipe."""
    given, said = _pipes()
    Answering(given, said, load).run()
    os._exit(0)  # every job closes its files, and taking down what models have loaded can take seconds


class Answering:
    """A loop that answers questions, and a thread beside it that hears of stops and of the server's end."""

    def __init__(self, given: IO[bytes], said: IO[bytes], load: Load) -> None:
        self._given, self._said, self._load = given, said, load
        self._questions: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        self._stopped: set[str] = set()
        self._gone = threading.Event()
        """The server is."""
        self._loaded: OrderedDict[str, Any] = OrderedDict()

    def run(self) -> None:
        """Answer until the server is gone."""
        threading.Thread(target=self._listen, name="listen", daemon=True).start()
        while (question := self._questions.get()) is not None:
            ended = self._answer(question)
            try:
                self._say(ended)
            except Stopped:
                return

    def _answer(self, question: Question) -> Ended:
        last = 0.0

        def tell(done: int, total: int) -> None:
            nonlocal last
            self._heed(question)
            now = time.monotonic()
            if done == total or now - last >= OFTEN:
                last = now
                self._say(Progress("asking", done, total))

        try:
            model = self._model(question)
            self._heed(question)
            self._say(Progress("asking"))
            return Ended("done", question.work(model, tell))
        except Stopped:
            return Ended("stopped")
        except WugError as error:
            return Ended("failed", error=str(error))
        except Exception as error:  # whatever a model's own code raises: the page says so, the next question is taken
            _log.exception("%s failed", question.model)
            return Ended("failed", error=f"{question.model} failed: {type(error).__name__}: {error}")

    def _model(self, question: Question) -> Any:
        name = question.model
        if name not in self._loaded:
            self._heed(question)
            self._say(Progress("loading"))
            while len(self._loaded) >= LOADED:  # before the next one needs the room
                self._loaded.popitem(last=False)
            self._loaded[name] = self._load(name)
        self._loaded.move_to_end(name)
        return self._loaded[name]

    def _heed(self, question: Question) -> None:
        if self._gone.is_set() or question.job in self._stopped:
            raise Stopped

    def _say(self, message: Progress | Ended) -> None:
        try:
            self._said.write(pickle.dumps(message))
            self._said.flush()
        except OSError:  # nobody listens any more
            raise Stopped from None

    def _listen(self) -> None:
        try:
            while True:
                message = pickle.load(self._given)
                if isinstance(message, Stop):
                    self._stopped.add(message.job)
                else:
                    self._questions.put(message)
        except (EOFError, pickle.UnpicklingError):
            pass  # the server is gone, perhaps in the middle of a word
        except Exception:
            _log.exception("a question cannot be read")
        self._gone.set()
        self._questions.put(None)
        time.sleep(GRACE)
        os._exit(1)  # the job did not stop by itself


def _pipes() -> tuple[IO[bytes], IO[bytes]]:
    """What the server sends and what it hears; whatever else is printed here goes to its error output."""
    given, said = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return given, said


if __name__ == "__main__":
    main()
