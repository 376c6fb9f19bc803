"""How an encoder–decoder chooses the next token when it writes greedily."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Choose = Callable[[Any], tuple[Any, Any]]
"""Given the logits (rows, 1, words): the token of each row, and the nats to the second best."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What settles the choice of a token beside the logits."""

    start: int
    """The token with which an answer begins, itself no part of it."""
    ends: Sequence[int]
    banned: Sequence[int] = ()
    """Tokens that are never written."""
    forced: int | None = None
    """The token that every answer has first."""

    @classmethod
    def of(cls, settings: Any, ends: Sequence[int]) -> Rules | None:
        """The rules of a model's generation settings; None where they have others."""
        start = settings.bos_token_id if settings.decoder_start_token_id is None else settings.decoder_start_token_id
        # As generate() has it, an end mark may be suppressed but is no bad word.
        bad = [words for words in settings.bad_words_ids or [] if words not in [[end] for end in ends]]
        if start is None or settings.begin_suppress_tokens or any(len(words) != 1 for words in bad):
            return None
        banned = [word for words in bad for word in words] + list(settings.suppress_tokens or [])
        return cls(start, ends, banned, settings.forced_bos_token_id)

    def chooser(self, device: Any) -> Choose:
        """The best token by the logits that is not banned."""
        import torch

        banned = torch.tensor(list(self.banned), dtype=torch.long, device=device)

        def choose(logits: Any) -> tuple[Any, Any]:
            scores = logits[:, -1].float().index_fill(1, banned, -torch.inf)
            best, token = scores.max(-1)
            second = scores.scatter(1, token[:, None], -torch.inf).amax(-1)
            return token, best - second

        return choose
