"""A tiny Llama written as a GGUF file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "model.layers": "blk", "lm_head": "output",
}  # fmt: skip


def save_gguf(folder: Path, target: Path, *, eight_bits: bool = False) -> Path:
    """The Llama of a folder with a byte-level tokenizer as a file, its matrices in float32 or in blocks of 8 bits."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    words = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    writer = gguf.GGUFWriter(str(target), "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads["q_proj"])
    writer.add_head_count_kv(heads["k_proj"])
    writer.add_rope_dimension_count(config["hidden_size"] // heads["q_proj"])
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    vocabulary = sorted(words["vocab"], key=words["vocab"].__getitem__)
    kinds = [gguf.TokenType.CONTROL if word == "<|endoftext|>" else gguf.TokenType.NORMAL for word in vocabulary]
    writer.add_token_list(vocabulary)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in words["merges"]])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    for name, values in load_file(folder / "model.safetensors").items():
        array: Any = values
        for part, count in heads.items():
            if part in name:  # llama.cpp rotates neighbouring numbers, transformers the two halves of a head
                array = array.reshape(count, 2, len(array) // count // 2, -1).swapaxes(1, 2).reshape(array.shape)
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        if eight_bits and array.ndim > 1:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target
