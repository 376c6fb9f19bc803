"""What models of text share in training: the tokens on their device, rows of them, attention masks, saving."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wug.errors import ModelError
from wug.train.corpus import Rows
from wug.train.lesson import Batch
from wug.train.shape import Shape
from wug.train.tokens import save_tokenizer


class TextLesson:
    """A model with a stream of tokens, all of which lies on the model's device."""

    recordable = True
    shares: Mapping[str, float] = {}

    def __init__(self, tokenizer: Any, bos: int, model: Any, *, rows: Rows, device: str, bfloat16: bool) -> None:
        import torch

        self.tokenizer, self.bos, self.rows = tokenizer, bos, rows
        self.model = model.to(device)
        self._bfloat16 = bfloat16
        # One bos more at the end: what the last token of the last row has to predict.
        self._stream = torch.from_numpy(np.append(rows.stream.ids, bos).astype("int32")).to(device)

    @property
    def steps_an_epoch(self) -> int:
        """Steps in which as many tokens are seen as there are."""
        return self.rows.steps_an_epoch

    def batch(self, step: int) -> Batch:
        """Where the rows of a step begin."""
        import torch

        return {"starts": torch.from_numpy(self.rows.starts(step))}

    def rows_of(self, starts: Any, length: int) -> Any:
        """The tokens of some rows."""
        import torch

        places = torch.arange(length, device=starts.device)
        return self._stream[starts[:, None] + places].long()

    def mask_dtype(self) -> Any:
        """The number format of masks: attention wants that of its queries."""
        import torch

        return torch.bfloat16 if self._bfloat16 else torch.float32

    def save(self, folder: Path, dtype: str) -> None:
        """In the Hugging Face layout."""
        self.model.config.training_context = self.rows.unit
        save_model(self.model, self.tokenizer, folder, dtype)


def rotary_sizes(tokenizer: Any, shape: Shape) -> dict[str, Any]:
    """The sizes of a network with rotary positions, as Hugging Face configurations call them."""
    shape.require_pairs()
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": shape.embedding_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.inner,
        "max_position_embeddings": 1024,
        "attention_dropout": shape.dropout,
    }


def block_mask(tokens: Any, bos: int, *, causal: bool, dtype: Any) -> Any:
    """An additive attention mask: tokens see those of their own sentence, which a bos opens."""
    import torch

    sentence = (tokens == bos).cumsum(1)
    seen = sentence[:, None, :, None] == sentence[:, None, None, :]
    if causal:
        place = torch.arange(tokens.shape[1], device=tokens.device)
        seen = seen & (place[:, None] >= place)
    return torch.zeros(seen.shape, dtype=dtype, device=tokens.device).masked_fill(~seen, torch.finfo(dtype).min)


def save_model(model: Any, tokenizer: Any, folder: Path, dtype: str) -> None:
    """Write a model in the Hugging Face layout, its weights in `dtype`; the model itself stays as it is."""
    import torch
    from transformers import logging

    logging.disable_progress_bar()
    kind = getattr(torch, dtype)
    # Tied weights are one tensor, and must stay one, so that they are written once.
    copies: dict[int, Any] = {}
    weights = {n: copies.setdefault(t.data_ptr(), t.to(kind)) for n, t in model.state_dict().items()}
    before = model.config.dtype
    model.config.dtype = kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Beside, and then in its place: a full disk must not leave half of the weights.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as aside:
            model.save_pretrained(aside, state_dict=weights)
            save_tokenizer(tokenizer, Path(aside))
            for file in sorted(Path(aside).iterdir(), reverse=True):  # config.json, which makes it a model, late
                file.replace(folder / file.name)
    except Exception as error:  # safetensors and tokenizers have errors of their own for a full disk
        why = str(error).strip().split("\n")[0] or type(error).__name__
        raise ModelError(
            f"{folder}: the model cannot be written: {why}. Make room, and give the same command"
        ) from error
    finally:
        model.config.dtype = before
