"""Batched prompt-lookup speculative decoding, for long outputs of an encoder–decoder.

Long outputs mostly repeat themselves or their source. The next tokens of each are drafted from what followed its last
tokens earlier (Saxena 2023, https://github.com/apoorvumang/prompt-lookup-decoding), and one pass of the model over all
outputs verifies the drafts. Outputs advance by different numbers of tokens; their keys and values are shifted to the
left accordingly, so that all stay aligned at their ends. That is exact for models with relative positions, and only
those are decoded like this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PretrainedConfig

from wug.models.decoding.static_batch import GreedyModel, LayerCache, PartialOutputs, StaticBatch, pad_rows

PASS_TOKENS = 32
"""Tokens of each output per pass: the last known one, and drafts."""
BATCH_ROWS = (8, 32, 128, 256)
"""Outputs per batch."""
MAX_NGRAM = 4
"""Longest run of last tokens that is looked up."""
PASSES_PER_SYNC = 4
"""Passes between two checks for finished outputs, each of which waits for the GPU."""


def has_relative_positions(config: PretrainedConfig) -> bool:
    """Whether a model sees only the distances between tokens."""
    return hasattr(config, "relative_attention_num_buckets")


@dataclass(frozen=True, slots=True)
class LookupOutputs:
    """Outputs decoded so far, of different lengths, one row each; keys and values are aligned at their ends."""

    indices: list[int]
    """Which output each row continues."""
    source_mask: torch.Tensor
    """(rows, 1, 1, width), as in `PartialOutputs`."""
    text: torch.Tensor
    """(rows, width + room): each source, up to the column `width`, then the output."""
    counts: torch.Tensor
    """Tokens of each output so far."""
    limits: torch.Tensor
    margins: torch.Tensor
    layers: Sequence[LayerCache]

    @classmethod
    def of(cls, outputs: PartialOutputs, sources: Sequence[Sequence[int]], max_tokens: int) -> LookupOutputs:
        """Outputs of up to `max_tokens` tokens, with their sources."""
        width = outputs.width
        text = torch.full((len(sources), width + max_tokens + PASS_TOKENS), -1, device=outputs.tokens.device)
        text[:, :width] = pad_rows(sources, width, -1, right=True).to(text.device)
        text[:, width : width + outputs.length] = outputs.tokens
        counts = torch.full_like(outputs.limits, outputs.length)
        return cls(outputs.indices, outputs.source_mask, text, counts, outputs.limits, outputs.margins, outputs.layers)


@dataclass(frozen=True, slots=True)
class LookupShape:
    """The shape of a batch."""

    rows: int
    width: int
    """Padded source length."""
    max_tokens: int


def decode(
    outputs: LookupOutputs, max_tokens: int, batch_for: Callable[[LookupShape, LookupOutputs], LookupBatch]
) -> Iterator[tuple[int, list[int], float]]:
    """Continue outputs to their ends: index, tokens up to the end token, and smallest margin of each.

    `batch_for` gives the batch of a shape. Batches shrink as outputs are finished.
    """
    width = int(outputs.source_mask.shape[-1])
    while outputs.indices:
        count = len(outputs.indices)
        rows = next((rows for rows in BATCH_ROWS if rows >= count), BATCH_ROWS[-1])
        batch = batch_for(LookupShape(rows, width, max_tokens), outputs)
        batch.load(outputs)
        batch.run(until=max((fewer for fewer in BATCH_ROWS if fewer < count), default=0))
        yield from batch.finished()
        outputs = batch.unfinished()


class LookupBatch(StaticBatch):
    """A batch of one shape, each step of which verifies drafts for all outputs."""

    def __init__(
        self, shape: LookupShape, model: GreedyModel, memory: Sequence[Sequence[Any]], like: LookupOutputs
    ) -> None:
        super().__init__(model, memory, like, shape.rows, shape.max_tokens + PASS_TOKENS, shape.width)
        self._width, self._max_tokens = shape.width, shape.max_tokens
        self._text = like.text.new_zeros(shape.rows, shape.width + shape.max_tokens + PASS_TOKENS)
        self._counts = torch.ones_like(self._limits)
        self._pass_columns = torch.arange(PASS_TOKENS, device=like.text.device)
        self._columns = torch.arange(self._text.shape[1], device=like.text.device)

    def load(self, outputs: LookupOutputs) -> None:
        """Take over outputs; other rows compute something that nobody reads."""
        rows = len(outputs.indices)
        self.indices = outputs.indices
        size = outputs.layers[0][0].shape[2]
        for target, source in zip(self._layers, outputs.layers, strict=True):
            for memory, tensor in zip(target[:2], source[:2], strict=True):
                memory[:rows, :, self._max_tokens - size : self._max_tokens] = tensor
            for memory, tensor in zip(target[2:], source[2:], strict=True):
                memory[:rows] = tensor
        self._source_mask[:rows], self._text[:rows] = outputs.source_mask, outputs.text
        self._counts[:rows], self._limits[:rows] = outputs.counts, outputs.limits
        self._margins[:rows] = outputs.margins
        self.done.fill_(True)
        last = self._text.gather(1, self._width + self._counts[:, None] - 1)[:rows, 0]
        self.done[:rows] = self._are_ends(last) | (outputs.limits <= outputs.counts)

    def run(self, until: int) -> None:
        """Decode until at most `until` outputs are left."""
        while int((~self.done).sum()) > until:
            self._advance(PASSES_PER_SYNC)

    def finished(self) -> Iterator[tuple[int, list[int], float]]:
        """Index, tokens and margin of the outputs that are done."""
        return self._finished(self._text[:, self._width :], self._counts)

    def unfinished(self) -> LookupOutputs:
        """The other outputs."""
        indices, rows = self._unfinished()
        size = self._max_tokens
        layers = [(k[rows, :, :size], v[rows, :, :size], sk[rows], sv[rows]) for k, v, sk, sv in self._layers]
        columns = (self._text[rows], self._counts[rows], self._limits[rows], self._margins[rows])
        return LookupOutputs(indices, self._source_mask[rows], *columns, layers)

    def _step(self) -> None:
        """Advance every output that is not done by at least one token."""
        end = self._width + self._counts[:, None]
        drafts = self._drafts(end)
        self._set_cached_tokens(self._max_tokens)
        tokens, margins = self._forward(torch.cat([self._text.gather(1, end - 1), drafts], dim=1), self._hidden())
        ends = self._are_ends(tokens)
        accepted = (drafts == tokens[:, :-1]).long().cumprod(1).sum(1) + 1
        until_end = torch.where(ends, self._pass_columns, PASS_TOKENS).amin(1) + 1
        advances = torch.minimum(torch.minimum(accepted, until_end), self._limits - self._counts)
        advances = advances.masked_fill(self.done, 0)
        is_accepted = self._pass_columns < advances[:, None]
        self._margins.copy_(torch.minimum(self._margins, torch.where(is_accepted, margins, torch.inf).amin(1)))
        self._text.scatter_(1, end + self._pass_columns, tokens)
        self._counts.add_(advances)
        self.done.logical_or_((ends & is_accepted).any(1)).logical_or_(self._counts >= self._limits)
        self._shift(advances)

    def _drafts(self, end: torch.Tensor) -> Any:
        """What followed the last tokens of each text, before the column `end`, where they occurred earlier."""
        text = self._text
        padded = torch.nn.functional.pad(text, (MAX_NGRAM, 0), value=-2)
        matches = self._columns < end
        length = torch.zeros_like(text)
        for distance in range(1, MAX_NGRAM + 1):
            earlier = padded[:, MAX_NGRAM - distance : MAX_NGRAM - distance + text.shape[1]]
            matches = matches & (earlier == text.gather(1, (end - distance).clamp(min=0)))
            length += matches
        # The longest match, of these the last, repeated as often as needed. Without a match, the last token.
        best = torch.where(length > 0, length * text.shape[1] + self._columns, -1).max(1, keepdim=True)
        first = torch.where(best.values < 0, end - 1, best.indices)
        return text.gather(1, first + self._pass_columns[:-1] % (end - first)).clamp(min=0)

    def _hidden(self) -> Any:
        """What the tokens of a pass must not see: empty columns, and tokens after themselves."""
        columns = self._columns[: self._max_tokens + PASS_TOKENS]
        empty = columns < self._max_tokens - self._counts[:, None]
        later = columns[None] > self._max_tokens + self._pass_columns[:, None]
        return empty[:, None, None, :] | later

    def _shift(self, advances: torch.Tensor) -> None:
        columns = (self._columns[: self._max_tokens] + advances[:, None])[:, None, :, None]
        for keys, values, _, _ in self._layers:
            for memory in (keys, values):
                index = columns.expand(-1, memory.shape[1], -1, memory.shape[3])
                memory[:, :, : self._max_tokens] = memory.gather(2, index)
