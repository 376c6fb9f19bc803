"""Training a masked language model of ModernBERT's shape on text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wug.train._text import TextLesson, block_mask, save_model
from wug.train.lesson import Batch
from wug.train.shape import Shape

HIDDEN = 0.25
"""The share of tokens that are to be guessed: more than BERT's 15 %, since small models learn faster so."""
SHOWN_AS_MASK, SHOWN_AS_OTHER = 0.8, 0.1
"""Of those, how many show the mask and how many another token; the rest show themselves (Devlin et al. 2019)."""
MARKS = 5
"""The first tokens of the vocabulary, which stand for no text."""


class MaskedLesson(TextLesson):
    """Hidden tokens from the others of their sentence; sentences of one row do not see each other."""

    def __init__(self, tokenizer: Any, shape: Shape, **material: Any) -> None:
        from transformers import ModernBertConfig, ModernBertForMaskedLM

        shape.require_pairs()
        opening = tokenizer.cls_token_id
        config = ModernBertConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.embedding_size,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            intermediate_size=shape.inner,
            max_position_embeddings=1024,
            attention_dropout=shape.dropout,
            embedding_dropout=shape.dropout,
            mlp_dropout=shape.dropout,
            global_attn_every_n_layers=1,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=opening,
            eos_token_id=tokenizer.sep_token_id,
            cls_token_id=opening,
            sep_token_id=tokenizer.sep_token_id,
            attn_implementation="sdpa",
        )
        super().__init__(tokenizer, opening, ModernBertForMaskedLM(config), **material)

    def loss(self, batch: Batch) -> Any:
        """Nats a hidden token."""
        import torch

        tokens = self.rows_of(batch["starts"], self.rows.length)
        mask = block_mask(tokens, self.mark, causal=False, dtype=self.mask_dtype())
        hidden, wanted, read = self.hide(tokens)
        layers = {"full_attention": mask, "sliding_attention": mask}
        states = self.model.model(input_ids=read, attention_mask=layers).last_hidden_state
        guessed = states.gather(1, hidden[..., None].expand(-1, -1, states.shape[-1]))
        logits = self.model.decoder(self.model.head(guessed))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())

    def hide(self, tokens: Any) -> tuple[Any, Any, Any]:
        """The places in each row that are to be guessed, the tokens there, and the rows as they are shown."""
        import torch

        # A fixed number a row, so that shapes stay; marks are left alone, having the least chances.
        chances = torch.rand(tokens.shape, device=tokens.device)
        is_mark = (tokens == self.mark) | (tokens == self.tokenizer.sep_token_id)
        places = chances.masked_fill(is_mark, -1.0).topk(int(HIDDEN * tokens.shape[1]), dim=1).indices
        wanted = tokens.gather(1, places)
        fate = torch.rand(wanted.shape, device=tokens.device)
        other = torch.randint(MARKS, len(self.tokenizer), wanted.shape, device=tokens.device)
        shown = torch.where(fate < SHOWN_AS_MASK, self.tokenizer.mask_token_id, wanted)
        shown = torch.where(fate > 1 - SHOWN_AS_OTHER, other, shown)
        return places, wanted, tokens.scatter(1, places, shown)

    def save(self, folder: Path, dtype: str) -> None:
        """In the Hugging Face layout."""
        save_model(self.model, self.tokenizer, folder, dtype)
