"""Tiny models with random weights, so that tests need no network."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wug.requests import Request

WORDS = (
    "the a boy girl authors guard that who saw sees swim swims quickly near park tall is are and . , "
    "nobody ever what she gave lamp café naïve 3 dogs dog's"
).split()


def sentences(count: int, seed: int = 0) -> list[str]:
    """Sentences of known and unknown words, many with the same beginning."""
    draw = random.Random(seed)
    made: list[str] = []
    while len(made) < count:
        stem = made[-1].split()[: draw.randint(1, 6)] if made and draw.random() < 0.6 else []
        made.append(" ".join(stem + draw.choices(WORDS, k=draw.randint(1, 9))))
    return made


def assert_close_in_half_precision(load: Callable[..., Any], folder: Path) -> None:
    """In bfloat16, which is in its options, a model gives sentences almost the same log-probabilities, in nats."""
    half, full = load(folder, dtype="bfloat16"), load(folder)
    assert half.options["dtype"] == "bfloat16"
    requests = [Request(text) for text in sentences(10)]
    both = zip(half.score(requests), full.score(requests), strict=True)
    assert max(abs(a.logprob() - b.logprob()) for a, b in both) < 3


def assert_in_order(model: Any) -> None:
    """The outputs have the order of the requests."""
    texts = sentences(50, seed=4)
    random.Random(1).shuffle(texts)
    assert [scored.text for scored in model.score([Request(text) for text in texts])] == texts


def byte_level_tokenizer(*, bos: bool = True, vocabulary: int = 400) -> Any:
    """A GPT-2-like tokenizer trained on the sentences above."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(sentences(500), trainer)
    marks = {"bos_token": "<|endoftext|>"} if bos else {}
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>", **marks)


def metaspace_tokenizer() -> Any:
    """A Llama-like tokenizer: Unigram with ▁ before words and an unknown token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>", show_progress=False
    )
    backend.train_from_iterator(sentences(500), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def save_causal(
    folder: Path, architecture: str = "gpt2", *, tokenizer: Any = None, seed: int = 0, **settings: Any
) -> Path:
    """A causal model of two small layers with weights large enough that every token of context matters."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    tokenizer = tokenizer or byte_level_tokenizer()
    small: dict[str, Any] = {
        "vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": None,
    }  # fmt: skip
    extra: dict[str, dict[str, Any]] = {
        "llama": {"intermediate_size": 64, "num_key_value_heads": 2, "max_position_embeddings": 512},
        "gpt_neox": {"intermediate_size": 64, "max_position_embeddings": 512},
        "opt": {"ffn_dim": 64, "max_position_embeddings": 512, "word_embed_proj_dim": 32, "pad_token_id": 1},
        "gpt2": {"n_positions": 512},
        "mamba": {"state_size": 8},
        "phi3": {"intermediate_size": 64, "num_key_value_heads": 2, "max_position_embeddings": 512},
        "roberta": {"is_decoder": True, "pad_token_id": 1, "max_position_embeddings": 162, "intermediate_size": 64},
    }
    torch.manual_seed(seed)
    config = AutoConfig.for_model(architecture, **(small | extra.get(architecture, {}) | settings))
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "conv" not in name:
                parameter.normal_(std=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
