"""Texts after something that is not scored, and generated answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wug.arrays import Floats
from wug.errors import ModelError
from wug.models.tokenization.chat_templates import RenderedText
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.tokens import tokenizer_errors
from wug.requests import Request, Scored, TextScoring
from wug.scores import Scores

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from wug.models.causal.forward import CausalEngine


class RequestKind(NamedTuple):
    """What requests that are computed together have in common."""

    scoring: TextScoring | None
    bos: int | None
    """The token before each text; None for none."""
    after: bool = False
    """Whether something is read before the text that is not scored."""
    writes: bool = False
    separate_word: bool = False
    """Whether words are tokenized separately from their contexts."""


def texts_alone(requests: Sequence[Request], rendered: Sequence[RenderedText], scores: Scores) -> Scores:
    """The scores of texts without the tokens before them; no tokens where one crosses the beginning of the text."""
    sizes = np.diff(scores.offsets)
    before = [size if text.crossing else text.tokens_before for text, size in zip(rendered, sizes, strict=True)]
    counts = np.maximum(sizes - np.array(before), 0)
    offsets = np.append(0, np.cumsum(counts))
    tokens = np.arange(offsets[-1]) + np.repeat(scores.offsets[1:] - counts - offsets[:-1], counts)
    shift = np.repeat(np.array([text.start for text in rendered], dtype=np.int32), counts)
    return Scores(
        [request.text for request in requests],
        offsets,
        scores.starts[tokens] - shift,
        scores.ends[tokens] - shift,
        scores.logprobs[tokens],
        {index: names[int(before[index]) :] for index, names in scores.token_names.items()},
        scores.notices,
    )


def last_tokens(engine: CausalEngine, sequences: Ragged) -> Floats:
    """The log-probability of the last token of each sequence; NaN for one without another token."""
    from wug.models.causal.forward import queried_only

    last = sequences.starts + sequences.lengths - 1
    where = np.full(len(sequences.flat), -1)
    where[last] = 0
    pending = engine.start([queried_only(batch, where) for batch in engine.plan(sequences)])
    logprobs: Floats = engine.collect(pending, len(where))[last]
    return logprobs


class TextWriter:
    """Generates a few tokens greedily."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, limit: int | None) -> None:
        from wug.models.decoding.generation import Decoder

        if model.generation_config.eos_token_id is None:
            model.generation_config.eos_token_id = tokenizer.eos_token_id
        self._decoder = Decoder(model)
        self._tokenizer, self._limit = tokenizer, limit

    @tokenizer_errors()
    def write(self, requests: Sequence[Request], texts: Sequence[str], bos: int | None) -> Scores:
        """What the model writes after each text."""
        encoded = self._tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
        sequences = [[*([] if bos is None else [bos]), *encoding.ids] for encoding in encoded]
        for request, sequence in zip(requests, sequences, strict=True):
            if self._limit is not None and len(sequence) + request.generate > self._limit:
                raise ModelError(
                    f"a prompt of {len(sequence):,} tokens with an answer of {request.generate} is longer than the "
                    f"model's context of {self._limit:,}"
                )
        decoded = self._decoder.decode(sequences, [request.generate for request in requests])
        outputs = []
        for request, output in zip(requests, decoded, strict=True):
            answer = self._tokenizer.decode(output.tokens, skip_special_tokens=True)
            end = len(request.text)
            outputs.append(Scored(request.text, (end,), (end,), (None,), (answer,)))
        return Scores.of(outputs)
