"""Training a causal language model of Llama's shape on text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wug.train._text import TextLesson, block_mask, save_model
from wug.train.lesson import Batch
from wug.train.shape import Shape


class CausalLesson(TextLesson):
    """Each token from those before it in its sentence; sentences of one row do not see each other."""

    def __init__(self, tokenizer: Any, shape: Shape, **material: Any) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        shape.require_pairs()
        mark = tokenizer.bos_token_id
        config = LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.embedding_size,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            intermediate_size=shape.inner,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
            bos_token_id=mark,
            eos_token_id=mark,
            attention_dropout=shape.dropout,
        )
        super().__init__(tokenizer, mark, LlamaForCausalLM(config), **material)

    def loss(self, batch: Batch) -> Any:
        """Nats a token."""
        import torch

        tokens = self.rows_of(batch["starts"], self.rows.length + 1)
        seen, wanted = tokens[:, :-1], tokens[:, 1:]
        mask = block_mask(seen, self.mark, causal=True, dtype=self.mask_dtype())
        logits = self.model(input_ids=seen, attention_mask=mask, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())

    def save(self, folder: Path, dtype: str) -> None:
        """In the Hugging Face layout."""
        save_model(self.model, self.tokenizer, folder, dtype)
