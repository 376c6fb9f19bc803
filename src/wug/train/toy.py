"""A toy causal model, trained in half a minute: enough to see every part of wug at work."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra

STEPS = 500
BATCH = 32


def train_toy(
    sentences: Sequence[str], folder: Path, *, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Path:
    """The folder of a small GPT-2 trained on `sentences`, in the Hugging Face layout."""
    try:
        import torch
        from transformers import GPT2Config, GPT2LMHeadModel, logging
    except ImportError:
        raise MissingExtra("the toy model", "hf") from None
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.manual_seed(seed)
    tokenizer = _tokenizer(sentences)
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=128, n_embd=96, n_layer=2, n_head=4, bos_token_id=end, eos_token_id=end
    )
    model = GPT2LMHeadModel(config).train()
    rows = [[end, *tokenizer(sentence)["input_ids"], end] for sentence in sentences]
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=2e-3, total_steps=STEPS)
    draw = random.Random(seed)
    for step in range(STEPS):
        batch = _padded(draw.sample(rows, min(BATCH, len(rows))), end)
        loss = model(input_ids=batch["tokens"], labels=batch["labels"], attention_mask=batch["present"]).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        if progress is not None:
            progress(step + 1, STEPS)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(sentences: Sequence[str]) -> Any:
    """A byte-level tokenizer, so that words which were never seen can be scored too."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(sentences, trainer)
    mark = "<|endoftext|>"
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=mark, eos_token=mark)


def _padded(rows: Sequence[Sequence[int]], mark: int) -> dict[str, Any]:
    import torch

    width = max(map(len, rows))
    tokens = torch.tensor([[*row, *[mark] * (width - len(row))] for row in rows])
    present = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    return {"tokens": tokens, "present": present, "labels": tokens.masked_fill(present == 0, -100)}
