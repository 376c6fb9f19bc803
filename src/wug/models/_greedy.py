"""Letting an encoder–decoder write greedily, with the rows that came to their end taken out of the batch.

Most answers are short and some never end. `generate` computes all rows until the last one is done, which
costs several times as much.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

WORTH = 0.8
"""Rows are taken out when no more than this share of them goes on: moving the rest costs something too."""
SPECIAL = ("forced_bos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens")
"""Settings that interfere with single tokens: `generate` knows them, this does not."""


def plain(settings: Any) -> bool:
    """Whether the settings that a model brings along leave every choice to the greatest logit."""
    return all(getattr(settings, name, None) is None for name in SPECIAL)


def write(model: Any, ids: Any, present: Any, *, start: int, ends: Container[int], bound: int) -> list[list[int]]:
    """The tokens that follow each row of `ids`, up to its end mark, which is the last; at most `bound` of them."""
    import torch

    encoded = model.get_encoder()(input_ids=ids, attention_mask=present)
    written: list[list[int]] = [[] for _ in range(len(ids))]
    rows: Sequence[int | None] = range(len(ids))
    """Which answer a row of the batch writes; None where that is done."""
    last = torch.full((len(ids), 1), start, device=ids.device)
    cache = None
    for _ in range(bound):
        found = model(
            encoder_outputs=encoded,
            attention_mask=present,
            decoder_input_ids=last,
            past_key_values=cache,
            use_cache=True,
        )
        cache = found.past_key_values
        last = found.logits[:, -1:].argmax(-1)
        going: list[int | None] = []
        for row, token in zip(rows, last[:, 0].tolist(), strict=True):
            if row is not None:
                written[row].append(token)
            going.append(None if row is None or token in ends else row)
        rows = going
        kept = [place for place, row in enumerate(rows) if row is not None]
        if not kept:
            break
        if len(kept) <= WORTH * len(rows):
            chosen = torch.tensor(kept, device=ids.device)
            cache.batch_select_indices(chosen)
            encoded.last_hidden_state = encoded.last_hidden_state[chosen]
            present, last, rows = present[chosen], last[chosen], [rows[place] for place in kept]
    return written
