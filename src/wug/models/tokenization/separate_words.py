"""Words that are tokenized apart from their context, token by token: as BabyLM's pipeline scores reading times.

The text before each token is the context with the decoded tokens before it, tokenized again. The token is the first
one of its decoded text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wug.models.tokenization.ragged import Ints, Ragged
from wug.models.tokenization.tokens import Span, no_panic
from wug.scores import Scores, texts_of
from wug.types import Request

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class SeparateWords:
    """The tokens of the words of some requests, each with the text that comes before it."""

    requests: Sequence[Request]
    counts: list[int]
    """The number of tokens of each request."""
    contexts: list[str]
    targets: Ints
    spans: list[Span]
    """Where each token is in the text of its request."""

    @classmethod
    @no_panic()
    def of(cls, hf: PreTrainedTokenizerBase, requests: Sequence[Request]) -> SeparateWords:
        """From requests that say where their word begins (`Request.apart`)."""
        encode = hf.backend_tokenizer.encode
        counts, contexts, targets, spans = [], [], [], []
        for request in requests:
            start = request.apart or 0
            context, before = request.text[:start], ""
            word = encode(request.text[start:], add_special_tokens=False)
            for place, (index, (low, high)) in enumerate(zip(word.ids, word.offsets, strict=True)):
                context += before
                before = hf.decode([index])
                again = encode(before, add_special_tokens=False).ids if place else []
                contexts.append(context)
                targets.append(again[0] if again else index)
                spans.append((start + low, start + high))
            counts.append(len(word.ids))
        return cls(requests, counts, contexts, np.array(targets, dtype=np.int64), spans)

    def after(self, contexts: Ragged) -> Ragged:
        """Each token after the tokens of its context."""
        ends = contexts.starts + contexts.lengths
        return Ragged(np.insert(contexts.flat, ends, self.targets), contexts.lengths + 1)

    def scores(self, logprobs: npt.NDArray[np.float64]) -> Scores:
        """The outputs, from the log-probability of each token."""
        bounds = np.append(0, np.cumsum(self.counts))
        starts, ends = np.array(self.spans, dtype=np.int32).reshape(-1, 2).T
        return Scores(texts_of(self.requests), bounds, starts, ends, logprobs)
