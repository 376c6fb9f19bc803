"""Greedy decoding with an encoder–decoder: the rule for the next token, and a loop that drops finished rows.

Most outputs are short and some never end. `generate` computes all rows until the last one is done, which costs several
times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase

ChooseToken = Callable[[Any], tuple[Any, Any]]
"""Given logits (rows, 1, vocabulary): the best token of each row, and the nats to the second best."""
SHRINK_BELOW = 0.8
"""Drop finished rows when at most this proportion is unfinished: copying the others has a cost too."""
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


def leaves_tokens_alone(settings: GenerationConfig) -> bool:
    """Whether generation settings leave every choice to the highest logit."""
    return all(getattr(settings, name, None) is None for name in TOKEN_SETTINGS)


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


def decode(
    model: PreTrainedModel, ids: torch.Tensor, present: torch.Tensor, *, start: int, ends: Container[int], limit: int
) -> list[list[int]]:
    """Decode a batch of sources; each output ends with its end token, or after `limit` tokens."""
    import torch

    encoded = model.get_encoder()(input_ids=ids, attention_mask=present)
    outputs: list[list[int]] = [[] for _ in range(len(ids))]
    rows: Sequence[int | None] = range(len(ids))
    """Which output each row of the batch writes; None if that is finished."""
    last = torch.full((len(ids), 1), start, device=ids.device)
    cache = None
    for _ in range(limit):
        output = model(
            encoder_outputs=encoded,
            attention_mask=present,
            decoder_input_ids=last,
            past_key_values=cache,
            use_cache=True,
        )
        cache = output.past_key_values
        last = output.logits[:, -1:].argmax(-1)
        unfinished: list[int | None] = []
        for row, token in zip(rows, last[:, 0].tolist(), strict=True):
            if row is not None:
                outputs[row].append(token)
            unfinished.append(None if row is None or token in ends else row)
        rows = unfinished
        kept_rows = [index for index, row in enumerate(rows) if row is not None]
        if not kept_rows:
            break
        if len(kept_rows) <= SHRINK_BELOW * len(rows):
            selected = torch.tensor(kept_rows, device=ids.device)
            cache.batch_select_indices(selected)
            encoded.last_hidden_state = encoded.last_hidden_state[selected]
            present, last = present[selected], last[selected]
            rows = [rows[index] for index in kept_rows]
    return outputs
