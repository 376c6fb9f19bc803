"""Special tokens of a model, and the rule for the next token in greedy decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import GenerationConfig, PreTrainedTokenizerBase

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
