"""Letting an encoder–decoder write greedily with its next tokens guessed, so that one pass checks many of them.

An answer that never ends repeats itself, or its source, for most of its length. What followed the last tokens when
they stood there before is guessed to follow again, all guesses are computed in one pass, and those that are the
model's own choices are kept, with the choice that proved the next one wrong. The answer is the one that is written
token by token, up to the rounding of passes of another shape; by how much each choice was the best is told with it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from wug.models._hardware import threads
from wug.models._passes import Passes

ORDER = 4
"""Tokens that must have stood together before, at most, for the next ones to be guessed."""
LEAST, MOST = 8, 256
"""Tokens that are guessed at a time: half as many again as were right the last time, within these bounds."""
CLEAR = 1e-5
"""By how much the best logit must exceed the second for PyTorch to choose it in passes of any shape."""

Asked = tuple[int, Sequence[int], int, Sequence[int]]
"""Place, source, bound and first guess of an answer."""


@dataclass(frozen=True, slots=True)
class Rival:
    """A token that was nearly chosen in the place of another."""

    place: int
    token: int
    margin: float
    """By how much its logit is below that of the choice."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer, its end mark included, and the second choice wherever that came near."""

    tokens: list[int]
    rivals: list[Rival]

    @property
    def doubtful(self) -> bool:
        """Whether a pass of another shape might choose otherwise."""
        return any(not rival.margin > CLEAR for rival in self.rivals)


@dataclass(slots=True)
class Guesses:
    """What followed the last tokens of a text when they stood in it before."""

    text: list[int] = field(default_factory=list)
    _next: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Tokens that stood together, and the place behind them, where they stood last."""

    def add(self, tokens: Sequence[int]) -> None:
        """More of the text."""
        for token in tokens:
            end = len(self.text)
            for size in range(1, min(ORDER, end) + 1):
                self._next[tuple(self.text[end - size :])] = end
            self.text.append(token)

    def guess(self, most: int) -> list[int]:
        """The next tokens, so many at most; none where the last one is new."""
        end = len(self.text)
        for size in range(min(ORDER, end), 0, -1):
            place = self._next.get(tuple(self.text[end - size :]))
            if place is not None:
                again = self.text[place:]
                return [again[number % len(again)] for number in range(most)]
        return []


@dataclass(slots=True)
class Writing:
    """An answer on its way."""

    bound: int
    memory: Any
    """As the model's passes keep it."""
    guesses: Guesses
    guessed: list[int]
    """What is thought to follow."""
    written: list[int] = field(default_factory=list)
    rivals: list[Rival] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ahead:
    """A model that writes greedily, many tokens in a pass."""

    passes: Passes
    start: int
    """The token with which an answer begins, itself no part of it."""
    ends: Container[int]
    near: float = 1e-4
    """Margin below which a second choice is told."""

    def write(self, source: Sequence[int], bound: int, begun: Sequence[int] = ()) -> Checked:
        """What the model writes for a source, `bound` tokens at most; `begun` is a first guess at it."""
        found: dict[int, Checked] = {}
        self._write(iter([(0, source, bound, begun)]), found, 1)
        return found[0]

    def write_all(
        self, sources: Sequence[Sequence[int]], bounds: Sequence[int], begun: Sequence[Sequence[int]]
    ) -> list[Checked]:
        """What the model writes for each source, with a thread for each core: one pass keeps no more than one busy."""
        import torch

        def alone() -> None:
            torch.set_num_threads(1)

        found: dict[int, Checked] = {}
        asked = iter([*zip(range(len(sources)), sources, bounds, begun, strict=True)])
        # Half of a thread's share: nobody knows how long an answer takes, and the rest goes to who is done first.
        rows = max(1, min(self.passes.rows, -(-len(sources) // (2 * threads()))))
        with ThreadPoolExecutor(threads(), initializer=alone) as pool:
            for done in [pool.submit(self._write, asked, found, rows) for _ in range(threads())]:
                done.result()
        return [found[place] for place in range(len(sources))]

    def _write(self, asked: Iterator[Asked], found: dict[int, Checked], rows: int) -> None:
        """Write answers, `rows` of them at a time, for as long as there is one to begin with."""
        import torch

        going: dict[int, Writing] = {}
        with torch.inference_mode():
            while True:
                for place, source, bound, begun in islice(asked, rows - len(going)):
                    going[place] = self._begin(source, bound, begun)
                if not going:
                    return
                some = [*going.items()]
                last = (answer.written[-1] if answer.written else self.start for _, answer in some)
                tokens = [[token, *answer.guessed] for token, (_, answer) in zip(last, some, strict=True)]
                logits = self.passes.logits([answer.memory for _, answer in some], tokens)
                for (place, answer), shown in zip(some, logits, strict=True):
                    if self._is_done(answer, shown):
                        found[place] = Checked(answer.written, answer.rivals)
                        del going[place]

    def _begin(self, source: Sequence[int], bound: int, begun: Sequence[int]) -> Writing:
        guesses = Guesses()
        guesses.add(source)
        return Writing(bound, self.passes.begin(source, bound), guesses, list(begun[: bound - 1]))

    def _is_done(self, answer: Writing, logits: Any) -> bool:
        """Take over what a pass has shown, and guess what follows; whether nothing does."""
        guessed, best = answer.guessed, logits.argmax(-1).tolist()
        right = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(guessed, best, strict=False)))
        chosen = [*until(best[: right + 1], self.ends)]
        answer.rivals += self._rivals(logits[: len(chosen)], chosen, len(answer.written))
        answer.written += chosen
        if chosen[-1] in self.ends or len(answer.written) == answer.bound:
            return True
        if right < len(guessed):
            self.passes.forget(answer.memory, len(guessed) - right)
        answer.guesses.add(chosen)
        left = answer.bound - len(answer.written) - 1
        answer.guessed = answer.guesses.guess(min(MOST, max(LEAST, 3 * right // 2), left))
        return False

    def _rivals(self, logits: Any, chosen: Sequence[int], first: int) -> list[Rival]:
        """The second choices that came near, of tokens from the place `first` on."""
        two = logits.topk(2)
        margins = (two.values[:, 0] - two.values[:, 1]).tolist()
        # Said so that it holds for what is no number, too.
        close = [place for place, margin in enumerate(margins) if not margin >= self.near]
        found = []
        for place in close:
            one, other = two.indices[place].tolist()
            found.append(Rival(first + place, other if one == chosen[place] else one, margins[place]))
        return found


def until(tokens: Sequence[int], ends: Container[int]) -> Iterator[int]:
    """Tokens up to the first end mark, which is the last."""
    for token in tokens:
        yield token
        if token in ends:
            return
