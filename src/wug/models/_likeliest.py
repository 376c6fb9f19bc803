"""The tokens that a model finds most probable at a place."""

from __future__ import annotations

from typing import Any

from wug.types import Token


def likeliest(logits: Any, tokenizer: Any, start: int, most: int) -> list[Token]:
    """The `most` most probable tokens by the logits of a place, the most probable first; they begin at `start`.

    A token is written as it would stand in a text, with its space; one that is no whole character by its own name.
    """
    import torch

    values, ids = torch.log_softmax(logits.float(), dim=-1).topk(min(most, logits.shape[-1]))
    texts = [_written(tokenizer, index) for index in ids.tolist()]
    return [Token(text, start, start, value) for text, value in zip(texts, values.tolist(), strict=True)]


def _written(tokenizer: Any, index: int) -> str:
    text: str = tokenizer.decode([index], clean_up_tokenization_spaces=False)
    name: str | None = tokenizer.convert_ids_to_tokens(index)
    return text if text and "\ufffd" not in text else name or f"token {index}"
