"""Every causal architecture of the installed transformers, made so small that a text takes milliseconds."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

VOCABULARY = 211
CONTEXT = 512
LARGEST = 3_000_000

SMALL: Mapping[str, Any] = {
    "vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT, "n_positions": CONTEXT, "max_seq_len": CONTEXT,
    "max_target_positions": CONTEXT, "n_ctx": CONTEXT, "context_length": CONTEXT,
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "emb_dim": 32, "embedding_size": 32, "word_embed_proj_dim": 32,
    "num_hidden_layers": 4, "decoder_layers": 2, "encoder_layers": 1, "n_layer": 2, "n_layers": 2, "num_layers": 4,
    "num_decoder_layers": 2, "num_encoder_layers": 1, "num_blocks": 2, "num_layers_per_stack": 1,
    "num_attention_heads": 4, "decoder_attention_heads": 4, "encoder_attention_heads": 4, "n_head": 4, "n_heads": 4,
    "num_heads": 4, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "rotary_dim": 4, "kv_channels": 8, "dim_head": 8, "d_head": 8,
    "intermediate_size": 48, "decoder_ffn_dim": 48, "encoder_ffn_dim": 48, "ffn_dim": 48, "d_inner": 48, "dff": 48,
    "ffn_hidden_size": 48, "dim_ff": 48, "feed_forward_size": 48, "n_inner": 48, "dense_intermediate_size": 48,
    "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24, "shared_intermediate_size": 24,
    "moe_shared_expert_intermediate_size": 24, "expert_ffn_hidden_size": 24, "intermediate_size_mlp": 48,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4, "num_experts_per_tok": 2,
    "moe_topk": 2, "moe_k": 2, "num_experts_per_token": 2, "n_shared_experts": 1, "zero_expert_num": 1,
    "num_shared_experts": 1, "moe_num_shared_experts": 1,
    "n_group": 2, "topk_group": 1, "num_expert_group": 2,
    "q_lora_rank": 16, "kv_lora_rank": 16, "o_lora_rank": 16, "o_groups": 2, "gated_norm_rank": 4,
    "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 8, "qk_head_dim": 12,
    "index_head_dim": 8, "index_n_heads": 2, "index_topk": 64, "num_nextn_predict_layers": 0,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "linear_head_dim": 8, "linear_num_heads": 4,
    "state_size": 8, "mamba_d_state": 8, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_chunk_size": 16,
    "ssm_state_size": 8, "mamba_num_heads": 4, "mamba_head_dim": 16, "mamba_dt_rank": 4, "time_step_rank": 4,
    "mamba_d_ssm": 64, "n_groups": 1,
    "num_kv_shared_layers": 0, "vocab_size_per_layer_input": VOCABULARY, "hidden_size_per_layer_input": 8,
    "laurel_rank": 4, "query_pre_attn_scalar": 8, "type_vocab_size": 2, "lru_width": 32,
    "attention_head_size": 8, "input_embedding_size": 32, "output_embedding_size": 32,
    "pronunciation_embed_dim": 8, "shape_embed_dim": 8, "pronunciation_vocab_size": 16, "shape_vocab_size": 16,
    "router_hidden_size": 16, "first_k_dense_replace": 1, "num_dense_layers": 1,
    "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 8,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "sep_token_id": 2, "cls_token_id": 1, "eod_token_id": 2,
    "is_decoder": True, "is_encoder_decoder": False,
}  # fmt: skip

WINDOWS = ("sliding_window", "attention_chunk_size", "window_size", "attention_window_size", "sliding_window_size",
           "local_attention")  # fmt: skip

_LATENT = {"num_key_value_heads": 4, "head_dim": 4}
"""Latent attention: a key and value for each head, and rotary positions in a part of it alone."""

SPECIAL: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(
        ["axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa", "minicpm3",
         "youtu", "longcat_flash"],
        _LATENT,
    ),
    "bailing_hybrid": {"layer_types": ["linear_attention", "full_attention"] * 2, **_LATENT},
    "bamba": {"attn_layer_indices": [1, 3]},
    "cohere_compass_text": {"layer_types": ["sliding_attention", "full_attention"] * 2},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 2},
    "hrm_text": {"num_hidden_layers": 8, "num_layers_per_stack": 2},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "kimi_linear": {"layer_types": ["linear_attention", "full_attention"] * 2, **_LATENT},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2},
    "mamba2": {"head_dim": 16},
    "qwen2": {"use_sliding_window": True, "max_window_layers": 1},
    "qwen2_moe": {"use_sliding_window": True, "max_window_layers": 1},
    "qwen3": {"use_sliding_window": True, "max_window_layers": 1},
    "qwen3_moe": {"use_sliding_window": True, "max_window_layers": 1},
    "reformer": {
        "axial_pos_shape": [16, 32], "axial_pos_embds_dim": [8, 24], "attn_layers": ["local", "lsh"],
        "hash_seed": 1, "num_buckets": 4,
    },
    "xmod": {"default_language": "en_XX"},
    "zamba2": {"layer_types": ["linear_attention", "hybrid"] * 2, "mamba_headdim": 16, "attention_head_dim": 16},
    "zaya": {"num_experts_per_tok": 1},
}  # fmt: skip
"""What some architectures need besides."""


UNWANTED: Mapping[str, Sequence[str]] = {
    "prophetnet": ("num_hidden_layers",), "xlnet": ("max_position_embeddings",),
}  # fmt: skip
"""Names that an architecture knows but does not let set."""


def names() -> list[str]:
    """All that `AutoModelForCausalLM` knows."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    return sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)


def configuration(name: str, *, window: int | None = None, **settings: Any) -> Any:
    """A small configuration; every window that the architecture has is set to `window`."""
    from transformers import CONFIG_MAPPING

    kind = CONFIG_MAPPING[name]
    known = set(dir(kind)) | set(getattr(kind, "attribute_map", {})) | _fields(kind)
    wanted = dict(SMALL) | ({} if window is None else dict.fromkeys(WINDOWS, window))
    fixed = {key for key, value in vars_of(kind).items() if isinstance(value, property) and value.fset is None}
    chosen = {key: value for key, value in wanted.items() if key in known - fixed - set(UNWANTED.get(name, ()))}
    return kind(**(chosen | dict(SPECIAL.get(name, {})) | settings))


def has_window(name: str) -> bool:
    """Whether the configuration of an architecture has a window or chunk to set."""
    from transformers import CONFIG_MAPPING

    kind = CONFIG_MAPPING[name]
    return any(key in set(dir(kind)) | _fields(kind) for key in WINDOWS)


def vars_of(kind: Any) -> dict[str, Any]:
    """What a class and those that it is made from define."""
    return {key: value for one in reversed(kind.__mro__) for key, value in vars(one).items()}


def _fields(kind: Any) -> set[str]:
    import inspect

    return set(inspect.signature(kind.__init__).parameters) | set(getattr(kind, "__dataclass_fields__", {}))


def model(config: Any, *, seed: int = 0, scale: float = 0.3) -> Any:
    """A model with random weights, large enough that every token of context matters."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in AutoModelForCausalLM.from_config(config).parameters())
    if size > LARGEST:
        raise ValueError(f"{size:,} parameters: the configuration cannot be shrunk by its settings")
    torch.manual_seed(seed)
    made = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if parameter.dim() > 1 and "conv" not in name and "norm" not in name:
                parameter.normal_(std=scale)
    return made


def alone(made: Any, tokens: Sequence[int]) -> list[float]:
    """The log-probabilities of all tokens but the first: one text, no padding, nothing of wug."""
    import torch

    with torch.no_grad():
        shares = made(torch.tensor([list(tokens)])).logits[0].double().log_softmax(-1)
    return [float(shares[place, token]) for place, token in enumerate(tokens[1:])]


def texts(lengths: Sequence[int], *, seed: int = 7, first: int = 5) -> list[list[int]]:
    """Token sequences of these lengths; some share a beginning."""
    draw = random.Random(seed)
    made: list[list[int]] = []
    for length in lengths:
        stem = made[-1][: draw.randint(1, len(made[-1]))] if made and draw.random() < 0.5 else []
        made.append((stem + [draw.randrange(first, VOCABULARY) for _ in range(length)])[:length])
    return made
