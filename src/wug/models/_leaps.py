"""Letting an encoder–decoder write many long answers at once, with the next tokens of each guessed.

Few answers go on for long, and those repeat themselves or their source for most of their length (`_ahead.py`, which
does the same for one answer at a time). Here each pass checks as many guesses for every answer, in one shape of batch
that a GPU records. Answers advance by as many tokens as were guessed right, so they come to be of different length:
keys and values are moved to the left by as much, and all answers stay aligned at their ends. A model does not notice
where positions are told by distances alone; others are not written like this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wug.models._graph import recorded
from wug.models._token_rules import Choose
from wug.models._unfinished import Layer, State, read_sources, room_for, static_cache, table

TOKENS = 32
"""Tokens of each answer in a pass: the last that is known, and guesses."""
ROWS = (8, 32, 128, 256)
"""Answers that are written together."""
ORDER = 4
"""Tokens that must have stood together before, at most, for the next ones to be guessed."""
PASSES = 4
"""Passes between two looks at what has come to its end: looking is waiting for the GPU."""


def tells_distances(config: Any) -> bool:
    """Whether a model knows of positions only how far they are from each other."""
    return hasattr(config, "relative_attention_num_buckets")


@dataclass(frozen=True, slots=True)
class Long:
    """Answers as far as they are written, a row each, aligned at their ends."""

    places: list[int]
    """Which answer a row writes."""
    mask: Any
    """(rows, 1, 1, width), as in a State."""
    text: Any
    """(rows, width + room): each source, up to the column `width`, and the answer from there on."""
    count: Any
    """Tokens that are written."""
    bounds: Any
    nearest: Any
    kept: Sequence[Layer]

    @classmethod
    def of(cls, state: State, sources: Sequence[Sequence[int]], most: int) -> Long:
        """Answers that may have up to `most` tokens, to these sources; as much is written of all."""
        import torch

        written, width = state.tokens.shape[1], state.width
        text = torch.full((len(sources), width + most + TOKENS), -1, device=state.tokens.device)
        text[:, :width] = table(sources, width, -1, right=True).to(text.device)
        text[:, width : width + written] = state.tokens
        count = torch.full_like(state.bounds, written)
        return cls(state.places, state.mask, text, count, state.bounds, state.nearest, state.kept)

    def rows(self, some: Any) -> Long:
        """Some of the answers."""
        places = [self.places[row] for row in some.tolist()]
        kept = [(k[some], v[some], sk[some], sv[some]) for k, v, sk, sv in self.kept]
        columns = (self.mask[some], self.text[some], self.count[some], self.bounds[some], self.nearest[some])
        return Long(places, *columns, kept)


@dataclass(frozen=True, slots=True)
class LongShape:
    """Of the memory that a pass works in."""

    rows: int
    width: int
    """Tokens of a source."""
    most: int
    """Tokens of an answer."""

    @property
    def length(self) -> int:
        """Tokens of an answer, and those of a pass."""
        return self.most + TOKENS


def write_on(answers: Long, most: int, stage: Any) -> Iterator[tuple[int, list[int], float]]:
    """Answers as they come to their end: place, tokens with whatever follows the end, how close two tokens came.

    `stage` gives the memory for so many rows, a source's width and `most` tokens.
    """
    import torch

    while answers.places:
        rows = next((rows for rows in ROWS if rows >= len(answers.places)), ROWS[-1])
        here: Leaping = stage(LongShape(rows, int(answers.mask.shape[-1]), most), answers)
        here.load(answers)
        here.run(until=max((fewer for fewer in ROWS if fewer < len(answers.places)), default=0))
        yield from here.ended()
        answers = here.all().rows(torch.nonzero(~here.done[: len(answers.places)])[:, 0])


class Leaping:
    """Memory of one shape, and the pass that works in it."""

    def __init__(self, shape: LongShape, model: Any, choose: Choose, ends: Any, memory: Any, like: Long) -> None:
        import torch

        self._shape, self._model, self._choose, self._ends = shape, model, choose, ends
        self._kept = room_for(memory, like.kept, shape.rows, shape.length, shape.width)
        self._cache, self._sizes = static_cache(self._kept)
        new = like.text.new_zeros
        self._mask = like.mask.new_zeros(shape.rows, 1, 1, shape.width)
        self._least = torch.finfo(like.mask.dtype).min
        self._source = read_sources(like.mask, shape.rows, shape.width, model)
        self._text = new(shape.rows, shape.width + shape.length)
        self._count, self._bounds = torch.ones_like(new(shape.rows)), new(shape.rows)
        self._nearest = like.nearest.new_zeros(shape.rows)
        self.done = torch.ones_like(self._bounds, dtype=torch.bool)
        self._steps = torch.arange(TOKENS, device=like.text.device)
        self._columns = torch.arange(self._text.shape[1], device=like.text.device)
        self._places: list[int] = []
        self._graph: Any = None

    def load(self, answers: Long) -> None:
        """Take answers over; what other rows compute is read by nobody."""
        rows = len(answers.places)
        self._places = answers.places
        size, end = answers.kept[0][0].shape[2], self._shape.most
        for mine, theirs in zip(self._kept, answers.kept, strict=True):
            for memory, tensor in zip(mine[:2], theirs[:2], strict=True):
                memory[:rows, :, end - size : end] = tensor
            for memory, tensor in zip(mine[2:], theirs[2:], strict=True):
                memory[:rows] = tensor
        for column, theirs in zip(
            (self._mask, self._text, self._count, self._bounds, self._nearest),
            (answers.mask, answers.text, answers.count, answers.bounds, answers.nearest),
            strict=True,
        ):
            column[:rows] = theirs
        self.done.fill_(True)
        last = self._text.gather(1, self._shape.width + self._count[:, None] - 1)[:rows]
        self.done[:rows] = self._are_ends(last)[:, 0] | (answers.bounds <= answers.count)

    def run(self, until: int) -> None:
        """Write on until at most `until` answers are left."""
        while int((~self.done).sum()) > until:
            for _ in range(PASSES):
                if self._graph is None:
                    self._pass()
                else:
                    self._graph.replay()

    def ended(self) -> Iterator[tuple[int, list[int], float]]:
        """The answers that are whole: place, tokens, and how close two tokens came."""
        width, rows = self._shape.width, len(self._places)
        columns = (self.done[:rows], self._text[:rows, width:], self._count[:rows], self._nearest[:rows])
        for place, done, tokens, count, nearest in zip(self._places, *(c.tolist() for c in columns), strict=True):
            if done:
                yield place, tokens[:count], nearest

    def all(self) -> Long:
        """The answers as they are now; their memory is that of this stage."""
        rows, most = len(self._places), self._shape.most
        kept = [(k[:rows, :, :most], v[:rows, :, :most], sk[:rows], sv[:rows]) for k, v, sk, sv in self._kept]
        columns = (self._mask[:rows], self._text[:rows], self._count[:rows], self._bounds[:rows], self._nearest[:rows])
        return Long(self._places, *columns, kept)

    def record(self, pool: Any) -> None:
        """Have a pass recorded."""
        self._graph = recorded(self._pass, pool)

    def _pass(self) -> None:
        """Write on every answer that is not done, by one token at least."""
        import torch

        end = self._shape.width + self._count[:, None]
        guessed = self._guesses(end)
        asked = torch.cat([self._text.gather(1, end - 1), guessed], dim=1)
        for size in self._sizes:
            size.fill_(self._shape.most)
        # A mask of four dimensions is taken as it is.
        found = self._model(
            encoder_outputs=self._source,
            attention_mask=self._mask,
            decoder_input_ids=asked,
            decoder_attention_mask=self._visible(),
            past_key_values=self._cache,
            use_cache=True,
        )
        tokens, margins = (
            value.view(self._shape.rows, TOKENS) for value in self._choose(found.logits.flatten(0, 1)[:, None])
        )
        ends = self._are_ends(tokens)
        right = (guessed == tokens[:, :-1]).long().cumprod(1).sum(1) + 1
        until_end = torch.where(ends, self._steps, TOKENS).amin(1) + 1
        taken = torch.minimum(torch.minimum(right, until_end), self._bounds - self._count).masked_fill(self.done, 0)
        inside = self._steps < taken[:, None]
        nearest = torch.where(inside, margins, torch.inf).amin(1)
        self._nearest.copy_(torch.minimum(self._nearest, nearest))
        self._text.scatter_(1, end + self._steps, tokens)
        self._count.add_(taken)
        self.done.logical_or_((ends & inside).any(1)).logical_or_(self._count >= self._bounds)
        self._move(taken)

    def _guesses(self, end: Any) -> Any:
        """What followed the last tokens of each text when they stood in it before, over and over."""
        import torch

        text = self._text
        before = torch.nn.functional.pad(text, (ORDER, 0), value=-2)
        alike = self._columns < end
        size = torch.zeros_like(text)
        for back in range(1, ORDER + 1):
            there = before[:, ORDER - back : ORDER - back + text.shape[1]]
            alike = alike & (there == text.gather(1, (end - back).clamp(min=0)))
            size += alike
        # The longest that is alike, of these the last; where there is none, the last token once more.
        place = torch.where(size > 0, size * text.shape[1] + self._columns, -1).max(1, keepdim=True)
        first = torch.where(place.values < 0, end - 1, place.indices)
        return text.gather(1, first + self._steps[:-1] % (end - first)).clamp(min=0)

    def _visible(self) -> Any:
        """The mask of the answers: what is written of each, and of this pass what is not behind a token."""
        import torch

        columns = self._columns[: self._shape.length]
        written = columns >= self._shape.most - self._count[:, None]
        behind = columns[None] > self._shape.most + self._steps[:, None]
        hidden = ~written[:, None, None, :] | behind
        return torch.zeros_like(hidden, dtype=self._mask.dtype).masked_fill_(hidden, self._least)

    def _move(self, taken: Any) -> None:
        """Bring the ends of all answers to the same column."""
        columns = (self._columns[: self._shape.most] + taken[:, None])[:, None, :, None]
        for keys, values, _, _ in self._kept:
            for memory in (keys, values):
                index = columns.expand(-1, memory.shape[1], -1, memory.shape[3])
                memory[:, :, : self._shape.most] = memory.gather(2, index)

    def _are_ends(self, tokens: Any) -> Any:
        return (tokens[..., None] == self._ends).any(-1)
