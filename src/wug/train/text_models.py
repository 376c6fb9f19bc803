"""Training causal, masked and word-level LSTM models on text."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from wug.errors import ModelError, first_line
from wug.models.lstm.weights import save_word_lstm
from wug.train.corpus import TokenRows, save_tokenizer
from wug.train.options import NetworkSize
from wug.train.steps import Batch, TrainingTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class TextTask(TrainingTask):
    """A model with a token stream on its device."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        model: torch.nn.Module,
        *,
        rows: TokenRows,
        device: str,
        bfloat16: bool,
    ) -> None:
        self.tokenizer = tokenizer
        self.rows = rows
        self.model, self.steps_per_epoch = model.to(device), rows.steps_per_epoch
        self._mask_dtype = torch.bfloat16 if bfloat16 else torch.float32  # that of the queries
        # One more BOS at the end, for the last token of the last row to predict.
        self._stream = torch.from_numpy(np.append(rows.ids, rows.bos).astype("int32")).to(device)

    def batch(self, step: int) -> Batch:
        """The start positions of the rows."""
        return {"starts": torch.from_numpy(self.rows.starts(step))}

    def rows_of(self, starts: torch.Tensor, length: int) -> torch.Tensor:
        """The tokens of rows."""
        offsets = torch.arange(length, device=starts.device)
        return self._stream[starts[:, None] + offsets].long()

    def save(self, folder: Path, dtype: str) -> None:
        """Save in the Hugging Face layout."""
        self.model.config.training_context = self.rows.unit
        save_model(self.model, self.tokenizer, folder, dtype)


def rotary_sizes(tokenizer: PreTrainedTokenizerFast, shape: NetworkSize) -> dict[str, Any]:
    """The sizes of a network with rotary positions, as arguments of a Hugging Face configuration."""
    shape.require_pairs()
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": shape.embedding_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.ffn_size,
        "max_position_embeddings": 1024,
        "attention_dropout": shape.dropout,
    }


def block_mask(tokens: torch.Tensor, bos: int, *, causal: bool, dtype: torch.dtype) -> torch.Tensor:
    """An additive attention mask: tokens see those of the same sentence, which starts at BOS."""
    sentence = (tokens == bos).cumsum(1)
    visible = sentence[:, None, :, None] == sentence[:, None, None, :]
    if causal:
        position = torch.arange(tokens.shape[1], device=tokens.device)
        visible = visible & (position[:, None] >= position)
    return torch.zeros(visible.shape, dtype=dtype, device=tokens.device).masked_fill(~visible, torch.finfo(dtype).min)


def save_model(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast, folder: Path, dtype: str) -> None:
    """Write a model in the Hugging Face layout, its weights in `dtype`; the model itself stays as it is."""
    from transformers import logging

    logging.disable_progress_bar()
    torch_dtype = getattr(torch, dtype)
    # Tied weights are one tensor, and must stay one, so that they are written once.
    copies: dict[int, torch.Tensor] = {}
    tensors = model.state_dict().items()
    weights = {name: copies.setdefault(tensor.data_ptr(), tensor.to(torch_dtype)) for name, tensor in tensors}
    before = model.config.dtype
    model.config.dtype = torch_dtype
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In a temporary folder first: a full disk must not leave half of the weights.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as partial:
            model.save_pretrained(partial, state_dict=weights)
            save_tokenizer(tokenizer, Path(partial))
            for file in sorted(Path(partial).iterdir(), reverse=True):  # config.json, which makes it a model, late
                file.replace(folder / file.name)
    except Exception as error:  # safetensors and tokenizers raise their own errors on a full disk
        raise ModelError(
            f"{folder}: the model cannot be written: {first_line(error)}. Free some space, and run the same command"
        ) from error
    finally:
        model.config.dtype = before


class CausalTask(TextTask):
    """Predict each token from those before it in its sentence; sentences in one row do not see each other."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, shape: NetworkSize, **material: Any) -> None:
        from transformers import LlamaConfig, LlamaForCausalLM

        bos = tokenizer.bos_token_id
        config = LlamaConfig(
            **rotary_sizes(tokenizer, shape), tie_word_embeddings=True, bos_token_id=bos, eos_token_id=bos
        )
        super().__init__(tokenizer, LlamaForCausalLM(config), **material)

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean loss in nats per token."""
        tokens = self.rows_of(batch["starts"], self.rows.length + 1)
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        mask = block_mask(inputs, self.rows.bos, causal=True, dtype=self._mask_dtype)
        logits = self.model(input_ids=inputs, attention_mask=mask, use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


MASKED_SHARE = 0.25
"""The proportion of tokens to predict: more than BERT's 15%, since small models learn faster with more."""
SHOWN_AS_MASK, SHOWN_AS_OTHER = 0.8, 0.1
"""Proportions of these that are replaced by the mask and by another token (Devlin et al. 2019)."""
SPECIAL_TOKENS = 5
"""The number of special tokens, which are the first ones of the vocabulary."""


class MaskedTask(TextTask):
    """Predict masked tokens from the others of their sentence; sentences in one row do not see each other."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, shape: NetworkSize, **material: Any) -> None:
        from transformers import ModernBertConfig, ModernBertForMaskedLM

        opening = tokenizer.cls_token_id
        config = ModernBertConfig(
            **rotary_sizes(tokenizer, shape),
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
        super().__init__(tokenizer, ModernBertForMaskedLM(config), **material)

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean loss in nats per masked token."""
        tokens = self.rows_of(batch["starts"], self.rows.length)
        mask = block_mask(tokens, self.rows.bos, causal=False, dtype=self._mask_dtype)
        hidden, targets, masked = self.mask(tokens)
        layers = {"full_attention": mask, "sliding_attention": mask}
        states = self.model.model(input_ids=masked, attention_mask=layers).last_hidden_state
        guessed = states.gather(1, hidden[..., None].expand(-1, -1, states.shape[-1]))
        logits = self.model.decoder(self.model.head(guessed))
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

    def mask(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The positions to predict in each row, the tokens there, and the masked rows."""
        # A fixed number per row, so that shapes are constant; special tokens are never chosen.
        chances = torch.rand(tokens.shape, device=tokens.device)
        is_special = (tokens == self.rows.bos) | (tokens == self.tokenizer.sep_token_id)
        positions = chances.masked_fill(is_special, -1.0).topk(int(MASKED_SHARE * tokens.shape[1]), dim=1).indices
        targets = tokens.gather(1, positions)
        draw = torch.rand(targets.shape, device=tokens.device)
        random_tokens = torch.randint(SPECIAL_TOKENS, len(self.tokenizer), targets.shape, device=tokens.device)
        replacements = torch.where(draw < SHOWN_AS_MASK, self.tokenizer.mask_token_id, targets)
        replacements = torch.where(draw > 1 - SHOWN_AS_OTHER, random_tokens, replacements)
        return positions, targets, tokens.scatter(1, positions, replacements)


INIT_RANGE = 0.1
"""Embeddings are initialised uniformly in ± this, as in Gulordava et al. (2018)."""


class LSTMTask(TextTask):
    """Predict each word from those before it in its row; `<eos>` precedes every sentence.

    The state of a layer, `ffn_size` cells wide, is projected to the width of the embeddings if they differ, so
    that embeddings can be the output layer too.
    """

    capturable = False  # cuDNN takes the whole row in a few launches anyway

    def __init__(
        self, vocabulary: Sequence[str], shape: NetworkSize, *, words: str, lowercase: bool, **material: Any
    ) -> None:
        self._vocabulary, self._shape = vocabulary, shape
        self._splitting = {"lowercase": lowercase, "words": words}
        projection = shape.embedding_size if shape.ffn_size != shape.embedding_size else 0
        model = torch.nn.Module()
        model.encoder = torch.nn.Embedding(len(vocabulary), shape.embedding_size)
        torch.nn.init.uniform_(model.encoder.weight, -INIT_RANGE, INIT_RANGE)
        # Layer by layer: the dropout inside a torch LSTM does not follow the seed of the step on every device.
        model.layers = torch.nn.ModuleList(
            torch.nn.LSTM(
                shape.embedding_size if projection or not n else shape.ffn_size, shape.ffn_size, proj_size=projection
            )
            for n in range(shape.layers)
        )
        model.decoder = torch.nn.Linear(shape.embedding_size, len(vocabulary))
        torch.nn.init.zeros_(model.decoder.bias)
        model.decoder.weight = model.encoder.weight
        super().__init__(None, model, **material)

    def loss(self, batch: Batch) -> torch.Tensor:
        """The mean loss in nats per word."""
        from torch.nn.functional import cross_entropy, dropout

        words = self.rows_of(batch["starts"], self.rows.length + 1)
        chance, learning = self._shape.dropout, self.model.training
        states = dropout(self.model.encoder(words[:, :-1].T), chance, learning)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="LSTM with projections is not supported with oneDNN")
            for layer in self.model.layers:
                states = dropout(layer(states)[0], chance, learning)
        return cross_entropy(self.model.decoder(states).flatten(0, 1).float(), words[:, 1:].T.flatten())

    def save(self, folder: Path, dtype: str) -> None:
        """Save in the layout of wug's word LSTMs."""
        state = {_name(name): tensor.to(getattr(torch, dtype)) for name, tensor in self.model.state_dict().items()}
        shape = self._shape
        config = {
            "kind": "LSTM",
            "layers": shape.layers,
            "width": shape.embedding_size,
            "hidden": shape.ffn_size,
            "projection": shape.embedding_size if shape.ffn_size != shape.embedding_size else None,
            "tied": True,
            **self._splitting,
            "training_context": self.rows.unit,
        }
        save_word_lstm(folder, state, config, self._vocabulary)


def _name(tensor: str) -> str:
    """A tensor's name in one LSTM of several layers: `layers.1.weight_ih_l0` is `rnn.weight_ih_l1`."""
    return re.sub(r"^layers\.(\d+)\.(\w+)_l0$", r"rnn.\2_l\1", tensor)
