"""Many questions at once, by a bounded number of threads that end when one fails or the user interrupts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def at_once(
    questions: Sequence[Question],
    ask: Callable[[Question], Answer],
    *,
    threads: int,
    break_off: Callable[[], None],
) -> list[Answer]:
    """One answer for each question, in order; the first error is raised when all threads have ended.

    `break_off` makes what is under way fail. The threads are daemons: an interruption never waits for a server.
    """
    answers: dict[int, Answer] = {}
    errors: list[BaseException] = []
    waiting = iter(range(len(questions)))
    turn = threading.Lock()

    def work() -> None:
        while not errors:
            with turn:
                place = next(waiting, None)
            if place is None:
                return
            try:
                answers[place] = ask(questions[place])
            except BaseException as error:  # raised again by whoever asked for the answers
                errors.append(error)
                break_off()

    if threads == 1 or len(questions) == 1:
        return [ask(question) for question in questions]
    crew = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(questions)))]
    try:
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
    except BaseException:
        errors.append(KeyboardInterrupt())
        break_off()
        raise
    if errors:
        raise errors[0]
    return [answers[place] for place in range(len(questions))]
