"""What all generating backends share: one output per distinct source, limits on its length, and notices about it.

The limit of an output depends on its own source alone. If it depended on the batch, so would the output.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from wug.requests import Answer

if TYPE_CHECKING:
    import torch
    from transformers import GenerationConfig, PreTrainedTokenizerBase


MIN_LIMIT_TOKENS, MAX_LIMIT_TOKENS, LIMIT_PER_SOURCE_TOKEN = 128, 1024, 8
"""Default limit of an output in tokens: at least, at most, and for each token of its source.

Of the 56,806 distinct published PCFG SET sources, one has a target that is longer than this, word by word.
"""
NEAR_TIE_NATS = 1e-4
"""Nats between the two best tokens below which rounding may decide: ten times the usual error of float32."""
Item = TypeVar("Item", bound=Hashable)
Output = TypeVar("Output")
CUT_OFF = "were cut off before the model ended them; the option max_length=N allows longer ones"
BEYOND = "were stopped where they were longer than any right answer"
NEAR_TIE = "have a near tie: two tokens are equally probable up to rounding, and another batch may give the other one"
UNKNOWN_WORDS = "are to sources with words that the model does not know"


@dataclass(frozen=True, slots=True)
class Decoded:
    """The tokens of an output, without its end token."""

    tokens: tuple[int, ...]
    ended: bool
    near_tie: bool = False
    """Whether two tokens were equally probable up to rounding."""


def map_distinct(sources: Sequence[Item], generate: Callable[[list[Item]], list[Output]]) -> list[Output]:
    """One output per source, in order; `generate` gets each distinct source once."""
    distinct = list(dict.fromkeys(sources))
    outputs = dict(zip(distinct, generate(distinct) if distinct else [], strict=True))
    return [outputs[source] for source in sources]


def token_limit(source_tokens: int, max_length: int | None = None) -> int:
    """Tokens that an output may have: `max_length`, or a power of two that depends on the length of its source."""
    if max_length is not None:
        return max_length
    limit = MIN_LIMIT_TOKENS
    while limit < min(LIMIT_PER_SOURCE_TOKEN * source_tokens, MAX_LIMIT_TOKENS):
        limit *= 2
    return limit


def plan_batches(
    lengths: Sequence[int], limits: Sequence[int], *, tokens: int, padded: bool = True
) -> Iterator[list[int]]:
    """Indices of sources that share a batch: similar length, the same limit, at most `tokens` tokens in total.

    Without `padded`, only sources of exactly the same length share a batch. A source that is too long for `tokens` has
    a separate batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: (limits[index], lengths[index], index))
    batch: list[int] = []
    for index in order:
        width = lengths[index] + limits[index]
        first = batch[0] if batch else index
        differs = limits[first] != limits[index] or (not padded and lengths[first] != lengths[index])
        if batch and (differs or (len(batch) + 1) * width > tokens):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def trim_at_end(tokens: Sequence[int], ends: Sequence[int]) -> Decoded:
    """The tokens before the first end token."""
    for index, token in enumerate(tokens):
        if token in ends:
            return Decoded(tuple(tokens[:index]), ended=True)
    return Decoded(tuple(tokens), ended=False)


def make_answer(text: str, *, ended: bool, source_known: bool = True, near_tie: bool = False) -> Answer:
    """An answer with its notices; `source_known` says whether the model knows all words of the source."""
    notices = ((UNKNOWN_WORDS, not source_known), (CUT_OFF, not ended), (NEAR_TIE, near_tie))
    return Answer(text, tuple(notice for notice, holds in notices if holds))


def truncate(answer: Answer, max_words: int | None) -> Answer:
    """An answer cut one word after the longest that can be correct (`Source.max_words`).

    An answer that `max_length` cut off before that keeps its notice: it could have become correct.
    """
    if max_words is None or len(words := answer.text.split()) <= max_words + 1:
        return answer
    notices = (*(notice for notice in answer.notices if notice != CUT_OFF), BEYOND)
    return Answer(" ".join(words[: max_words + 1]), notices)


def source_too_long(limit: int) -> Answer:
    """The empty answer to a source that exceeds the model's limit."""
    return Answer("", (f"are empty because their sources have more than the {limit:,} tokens that the model takes",))


ChooseToken = Callable[[Any], tuple[Any, Any]]
"""Given logits (rows, 1, vocabulary): the best token of each row, and the nats to the second best."""
TOKEN_SETTINGS = ("forced_bos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens")
"""Generation settings that force or forbid tokens."""


def end_tokens(settings: GenerationConfig) -> list[int]:
    """The end tokens of generation settings."""
    return token_list(settings.eos_token_id)


def token_list(value: int | list[int] | tuple[int, ...] | None) -> list[int]:
    """One token or several, as transformers stores them."""
    if value is None:
        return []
    return [int(token) for token in value] if isinstance(value, list | tuple) else [int(value)]


def unknown_token(tokenizer: PreTrainedTokenizerBase) -> int | None:
    """The token of an unknown word; None if there is none, or if it has another meaning too."""
    unknown: int | None = tokenizer.unk_token_id
    special_tokens = (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id)
    return None if unknown in special_tokens else unknown


def start_token(settings: GenerationConfig) -> int | None:
    """The token before the first of an output; None if the settings have none."""
    start: int | None = settings.decoder_start_token_id
    return settings.bos_token_id if start is None else start


def forbidden_sequences(settings: GenerationConfig) -> list[list[int]]:
    """Token sequences that are never written."""
    # As in generate(), an end token may be suppressed, but is not a bad word.
    ends = [[end] for end in end_tokens(settings)]
    bad = [list(words) for words in settings.bad_words_ids or [] if list(words) not in ends]
    return [*bad, *([token] for token in settings.suppress_tokens or [])]


@dataclass(frozen=True, slots=True)
class TokenRules:
    """What decides the next token, besides the logits."""

    start: int
    ends: Sequence[int]
    forbidden: Sequence[int] = ()
    forced_first: int | None = None
    """The first token of every output."""

    @classmethod
    def of(cls, settings: GenerationConfig) -> TokenRules | None:
        """The rules in generation settings; None if they contain others."""
        start, forbidden = start_token(settings), forbidden_sequences(settings)
        if start is None or settings.begin_suppress_tokens or any(len(tokens) != 1 for tokens in forbidden):
            return None
        tokens = [token for (token,) in forbidden]
        return cls(start, end_tokens(settings), tokens, settings.forced_bos_token_id)

    def chooser(self, device: torch.device) -> ChooseToken:
        """Choose the token with the highest logit that is not forbidden."""
        import torch

        forbidden = torch.tensor(list(self.forbidden), dtype=torch.long, device=device)

        def choose(logits: torch.Tensor) -> tuple[Any, Any]:
            scores = logits[:, -1].float().index_fill(1, forbidden, -torch.inf)
            best, token = scores.max(-1)
            second = scores.scatter(1, token[:, None], -torch.inf).amax(-1)
            return token, best - second

        return choose
