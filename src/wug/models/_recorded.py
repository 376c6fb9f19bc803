"""Letting an encoder–decoder write greedily in few shapes of batches, each with a step that a GPU records.

A step of a small model is a hundred little kernels, and a GPU waits for each to be launched. Recorded once for a
shape, a step is a single launch. Keys and values stand in memory of a fixed size, so that the shape does not change
from step to step: it changes when an answer outgrows it, or when so many answers came to their end that a smaller
batch is enough. Nothing here needs a GPU but the recording; elsewhere the same steps are taken one by one.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from wug.models._asking import Written, until_end
from wug.models._graph import recorded
from wug.models._leaps import ROWS as LEAPING
from wug.models._leaps import TOKENS, Leaping, Long, LongShape, write_on
from wug.models._token_rules import Choose, Rules
from wug.models._unfinished import State, fitting, joined, read_sources, room_for, static_cache, table, width_for

ROWS = (16, 64, 256, 1024, 4096)
"""Answers that are written together. Each shape is recorded once, which takes as long as twenty steps."""
LENGTHS = (32, 64, 256, 1024)
"""Tokens for which there is room, more whenever an answer outgrows that: a step looks at all of it."""
LONG = 64
"""Tokens after which an answer is written by leaps, where a model can."""
WIDE = (144, 1152)
"""Widths for the sources of long answers: few, so that most are written together; what is wider than the first is long.
"""
STEPS = 8
"""Steps between two looks at what has come to its end: looking is waiting for the GPU."""
PLACES = 1 << 20
"""Tokens, of sources or of answers, for whose keys and values there is room; less where memory is short."""
SHARE = 0.25
"""Of the free memory, how much keys and values may take."""
ENCODED = 1 << 26
"""Attention weights of a head that are computed at a time when sources are read."""
NEAR = 1e-4
"""Nats between the two best tokens below which rounding could have chosen, in float32."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Shape:
    """Of the memory that a step works in."""

    rows: int
    width: int
    """Tokens of a source."""
    length: int
    """Tokens of an answer."""


class Recorded:
    """An encoder–decoder that writes in few shapes; `places` shrinks when memory runs out."""

    def __init__(self, model: Any, rules: Rules, pad: int) -> None:
        import torch

        self._model, self._rules, self._pad = model, rules, pad
        self.steps: int | None = None
        """Tokens after which answers are written by leaps; None: never."""
        self._near = NEAR if model.dtype == torch.float32 else 0.0
        self._choose = rules.chooser(model.device)
        self._ends = torch.tensor(list(rules.ends), device=model.device)
        self._stages: dict[Shape, Stage] = {}
        self._leaping: dict[LongShape, Leaping] = {}
        self._memory: list[tuple[Any, ...]] = []
        self._pool = torch.cuda.graph_pool_handle() if model.device.type == "cuda" else None
        self.places = PLACES

    def write(self, sequences: Sequence[Sequence[int]], bounds: Sequence[int]) -> list[Written]:
        """What the model writes for each sequence, at most as many tokens as its bound says."""
        import torch

        answers: dict[int, Written] = {}
        waiting = sorted(range(len(sequences)), key=lambda place: len(sequences[place]))
        going: list[State] = []
        with torch.inference_mode():
            while waiting or going:
                long = [state for state in going if self._is_long(state)]
                if waiting and sum(state.size for state in going) <= self.places:
                    # The longest first: shorter ones go with them as long as there is room, and so do their steps.
                    width, wide = (fit(len(sequences[waiting[-1]])) for fit in (width_for, _wide))
                    size = max(1, min(ROWS[-1], self.places // max(width, LENGTHS[0])))
                    size = sum(_wide(len(sequences[place])) == wide for place in waiting[-size:])
                    waiting, batch = waiting[:-size], waiting[-size:]
                    state = self._opened(batch, [sequences[n] for n in batch], [bounds[n] for n in batch], width)
                    found = self._continued(state, going)
                elif long:
                    going = [state for state in going if not self._is_long(state)]
                    found = self._leapt(long, sequences)
                else:
                    state, going = self._gathered(going)
                    found = self._continued(state, going)
                for place, tokens, nearest in found:
                    answers[place] = replace(until_end(tokens, self._rules.ends), near_tie=nearest < self._near)
        return [answers[place] for place in range(len(sequences))]

    def smaller(self) -> Recorded | None:
        """The same with half the memory, what this one has given back; None where that is too little."""
        import torch

        self._stages.clear()
        self._leaping.clear()
        self._memory = []
        torch.cuda.empty_cache()
        if self.places < 2 * ROWS[0] * LENGTHS[0]:
            return None
        log.warning("memory ran out: going on with %s tokens at a time", f"{self.places // 2:,}")
        found = Recorded(self._model, self._rules, self._pad)
        found.places, found.steps = self.places // 2, self.steps
        return found

    def _is_long(self, state: State) -> bool:
        """Whether answers are to be written on by leaps, for which there is memory."""
        if self.steps is None or LEAPING[0] * max(state.width, int(state.bounds.max()) + TOKENS) > self.places:
            return False
        # Answers to long sources are long, and mostly what stands in the source.
        return state.tokens.shape[1] >= self.steps or state.width > WIDE[0]

    def _leapt(
        self, long: Sequence[State], sequences: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, list[int], float]]:
        """Long answers as they come to their end; of sources of like width together."""

        def alike(state: State) -> tuple[int, int]:
            return state.tokens.shape[1], _wide(state.width)

        for (_, width), same in groupby(sorted(long, key=alike, reverse=True), key=alike):
            state = joined(list(same), width)
            most = int(state.bounds.max())
            size = max(state.width, most + TOKENS)
            rows = next(rows for rows in reversed(LEAPING) if rows * size <= self.places)
            for first in range(0, len(state.places), rows):
                part = state.rows(slice(first, first + rows))
                answers = Long.of(part, [sequences[place] for place in part.places], most)
                yield from write_on(answers, most, self._room_to_leap)

    def _room_to_leap(self, shape: LongShape, like: Long) -> Leaping:
        """The memory of a shape, with its pass recorded on a GPU."""
        if shape not in self._leaping:
            self._leaping[shape] = Leaping(shape, self._model, self._choose, self._ends, self._memory, like)
            if self._pool is not None:
                self._leaping[shape].record(self._pool)
        return self._leaping[shape]

    def _gathered(self, going: Sequence[State]) -> tuple[State, list[State]]:
        """Answers to go on with, and the others: of the shortest, which then go on with longer ones.

        A few long answers are left over of every batch. One by one each batch would take as many steps as its longest.
        """
        shortest = min(state.tokens.shape[1] for state in going)
        those = [state for state in going if state.tokens.shape[1] == shortest]
        others = [state for state in going if state.tokens.shape[1] != shortest]
        those.sort(key=lambda state: state.width, reverse=True)
        size = max(_length(shortest), those[0].width)
        chosen = [state for state in those if state.width == those[0].width]
        those = those[len(chosen) :]
        count = sum(len(state.places) for state in chosen)
        room = self._rows(count, size)
        for state in [*those]:
            if count + len(state.places) <= room:  # rows that are computed in any case
                count += len(state.places)
                chosen.append(state)
                those.remove(state)
        state = joined(chosen, chosen[0].width)
        if len(state.places) > room:
            those.append(state.rows(slice(room, None)))
            state = state.rows(slice(room))
        return state, [*others, *those]

    def _continued(self, state: State, going: list[State]) -> Iterator[tuple[int, list[int], float]]:
        """Answers as they come to their end; those that need more room, or find none, are added to those `going` on."""
        self._allocate(state)
        if self._is_long(state):
            going.append(state.narrowed())
            return
        length, width = _length(state.tokens.shape[1]), state.width
        while state.places:
            if state.tokens.shape[1] == length:
                going.append(state.narrowed())
                return
            shape = Shape(self._rows(len(state.places), max(length, width)), width, length)
            if len(state.places) > shape.rows:
                going.append(state.rows(slice(shape.rows, None)).narrowed())
            if shape not in self._stages:
                self._stages[shape] = Stage(shape, self._model, self._choose, self._ends, self._memory, state)
            stage = self._stages[shape]
            stage.load(state, self._pool)
            stage.run(until=next((rows for rows in reversed(ROWS) if rows < shape.rows), 0))
            yield from stage.ended()
            state = stage.going()

    def _rows(self, wanted: int, size: int) -> int:
        """Rows of a shape for so many answers, as far as there is room."""
        fitting = [rows for rows in ROWS if rows * size <= self.places] or [max(1, self.places // size)]
        return next((rows for rows in fitting if rows >= wanted), fitting[-1])

    def _allocate(self, state: State) -> None:
        """Memory for keys and values, once, for all shapes."""
        import torch

        if self._memory:
            return
        if self._pool is not None:
            tensors = [tensor for layer in state.kept for tensor in layer]
            each = sum(tensor.shape[1] * tensor.shape[3] * tensor.element_size() for tensor in tensors)
            free, _ = torch.cuda.mem_get_info(self._model.device)
            self.places = min(self.places, int(SHARE * free / each))
        # What is masked must still be a number.
        self._memory = [
            tuple(tensor.new_zeros(self.places * tensor.shape[1] * tensor.shape[3]) for tensor in layer)
            for layer in state.kept
        ]

    def _opened(
        self, places: list[int], sequences: Sequence[Sequence[int]], bounds: Sequence[int], width: int
    ) -> State:
        """The sources read, and the first token of each answer."""
        import torch
        from transformers import DynamicCache, EncoderDecoderCache
        from transformers.modeling_outputs import BaseModelOutput

        device, dtype = self._model.device, self._model.dtype
        lengths = torch.tensor([len(sequence) for sequence in sequences], device=device)
        absent = torch.arange(width, device=device) >= lengths[:, None]
        mask = torch.zeros(absent.shape, device=device, dtype=dtype)
        mask = mask.masked_fill_(absent, torch.finfo(dtype).min)[:, None, None]
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        found = self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=self._encoded(sequences, width)),
            attention_mask=mask,
            decoder_input_ids=torch.full((len(places), 1), self._rules.start, device=device),
            past_key_values=cache,
            use_cache=True,
        )
        token, margin = self._choose(found.logits)
        if self._rules.forced is not None:
            token, margin = torch.full_like(token, self._rules.forced), torch.full_like(margin, torch.inf)
        kept = [
            (mine.keys, mine.values, theirs.keys, theirs.values)
            for mine, theirs in zip(cache.self_attention_cache.layers, cache.cross_attention_cache.layers, strict=True)
        ]
        return State(places, mask, token[:, None], torch.tensor(bounds, device=device), margin, kept)

    def _encoded(self, sequences: Sequence[Sequence[int]], width: int) -> Any:
        """What the encoder makes of sources of ascending length, some at a time: attention grows with the square."""
        import torch

        device, encoder = self._model.device, self._model.get_encoder()
        parts: list[Any] = []
        low = 0
        while low < len(sequences):
            high = len(sequences)
            while high > low + 1 and (high - low) * _read(len(sequences[high - 1])) ** 2 > ENCODED:
                high = (low + high) // 2
            wide = min(width, _read(len(sequences[high - 1])))
            ids = table(sequences[low:high], wide, self._pad)
            present = table([[1] * len(sequence) for sequence in sequences[low:high]], wide, 0)
            found = encoder(input_ids=ids.to(device), attention_mask=present.to(device)).last_hidden_state
            parts.append(torch.nn.functional.pad(found, (0, 0, 0, width - wide)))
            low = high
        return torch.cat(parts)


class Stage:
    """Memory of one shape, and the step that works in it."""

    def __init__(
        self, shape: Shape, model: Any, choose: Choose, ends: Any, memory: Sequence[tuple[Any, ...]], like: State
    ) -> None:
        import torch

        self._shape, self._model, self._choose, self._ends = shape, model, choose, ends
        self._kept = room_for(memory, like.kept, shape.rows, shape.length, shape.width)
        self._cache, self._sizes = static_cache(self._kept)
        new = like.tokens.new_zeros
        self._mask = like.mask.new_zeros(shape.rows, 1, 1, shape.width)
        self._least = torch.finfo(like.mask.dtype).min
        self._source = read_sources(like.mask, shape.rows, shape.width, model)
        self._columns = torch.arange(shape.length, device=like.tokens.device)
        self._tokens, self._last = new(shape.rows, shape.length), new(shape.rows, 1)
        self._bounds, self._position = new(shape.rows), new(1)
        self._nearest = like.nearest.new_zeros(shape.rows)
        self._done = torch.ones_like(self._bounds, dtype=torch.bool)
        self._places: list[int] = []
        self._size = 0
        self._graph: Any = None

    def load(self, state: State, pool: Any) -> None:
        """Take over answers, as many as there are rows; what other rows compute is read by nobody."""
        if pool is not None and self._graph is None:
            self._set_position(1)
            self._graph = recorded(self._step, pool)
        count, size = min(len(state.places), self._shape.rows), state.tokens.shape[1]
        self._places, self._size = state.places[:count], size
        for mine, theirs in zip(self._kept, state.kept, strict=True):
            for memory, tensor in zip(mine, theirs, strict=True):
                memory[:count, :, : tensor.shape[2]] = tensor[:count]
        self._mask[:count], self._tokens[:count, :size] = state.mask[:count], state.tokens[:count]
        self._bounds[:count], self._nearest[:count] = state.bounds[:count], state.nearest[:count]
        self._last[:count] = state.tokens[:count, -1:]
        self._done.fill_(True)
        self._done[:count] = self._is_end(state.tokens[:count, -1]) | (state.bounds[:count] <= size)
        self._set_position(size)

    def run(self, until: int) -> None:
        """Write on until the room is used up, or at most `until` answers are left."""
        while self._size < self._shape.length and int((~self._done).sum()) > until:
            steps = min(STEPS, self._shape.length - self._size)
            for _ in range(steps):
                if self._graph is None:
                    self._step()
                else:
                    self._graph.replay()
            self._size += steps

    def ended(self) -> Iterator[tuple[int, list[int], float]]:
        """The answers that are whole: place, tokens with whatever follows the end, and how close two tokens came."""
        import torch

        count = len(self._places)
        rows = torch.nonzero(self._done[:count])[:, 0]
        columns = (rows, self._tokens[rows, : self._size], self._bounds[rows], self._nearest[rows])
        for row, tokens, bound, nearest in zip(*(column.tolist() for column in columns), strict=True):
            yield self._places[row], tokens[:bound], nearest

    def going(self) -> State:
        """The answers that are not."""
        import torch

        count, size = len(self._places), self._size
        rows = torch.nonzero(~self._done[:count])[:, 0]
        kept = [
            (keys[rows, :, :size], values[rows, :, :size], source_keys[rows], source_values[rows])
            for keys, values, source_keys, source_values in self._kept
        ]
        places = [self._places[row] for row in rows.tolist()]
        columns = (self._mask[rows], self._tokens[rows, :size], self._bounds[rows], self._nearest[rows])
        return State(places, *columns, kept)

    def _step(self) -> None:
        """Write one more token of every answer."""
        import torch

        hidden = self._columns > self._position
        mask = torch.zeros_like(hidden, dtype=self._mask.dtype).masked_fill_(hidden, self._least)
        # A mask of four dimensions is taken as it is; of any other, models make one in ways that cannot be recorded.
        found = self._model(
            encoder_outputs=self._source,
            attention_mask=self._mask,
            decoder_input_ids=self._last,
            decoder_attention_mask=mask[None, None, None].expand(self._shape.rows, 1, 1, -1),
            past_key_values=self._cache,
            use_cache=True,
        )
        token, margin = self._choose(found.logits)
        self._tokens.index_copy_(1, self._position, token[:, None])
        self._last.copy_(token[:, None])
        self._position.add_(1)
        self._nearest.copy_(torch.where(self._done, self._nearest, torch.minimum(self._nearest, margin)))
        self._done.logical_or_(self._is_end(token)).logical_or_(self._position >= self._bounds)

    def _is_end(self, tokens: Any) -> Any:
        return (tokens[:, None] == self._ends).any(1)

    def _set_position(self, size: int) -> None:
        """So many tokens are written; keys and values are there of the first mark and of all of them but the last."""
        for position in (self._position, *self._sizes):
            position.fill_(size)


def _length(written: int) -> int:
    """The length for an answer of so many tokens that goes on."""
    return fitting(LENGTHS, written + 1)


def _wide(size: int) -> int:
    """The width for sources of like length, which are read and written on together."""
    return fitting(WIDE, size)


def _read(size: int) -> int:
    """Room in which a source of so many tokens is read: reading is not recorded, and may take more shapes."""
    return max(16, 1 << (size - 1).bit_length()) if size <= 128 else 128 * math.ceil(size / 128)
