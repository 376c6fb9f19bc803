"""Tiny sequence-to-sequence models with random weights, and tiny PCFG SET tests for them."""

from __future__ import annotations

import functools
import random
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wug.evaluation.suites import open_suites
from wug.families.pcfgset.make import DataPlan, make
from wug.files import write_lines
from wug.interfaces import Suite
from wug.models import seq2seq
from wug.models.spec import ModelSpec

FUNCTIONS = "copy reverse repeat shift echo swap_first_last append prepend remove_first remove_second".split()
TWINS = "swap_first_last_twin repeat_twin append_twin remove_second_twin".split()
SYMBOLS = [f"{letter}{number}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(1, 21)]
MARKS = ["<pad>", "<s>", "</s>", "<unk>"]
SEEDS = {"t5": 0, "bart": 2, "marian": 3, "m2m_100": 5, "pegasus": 7, "mbart": 8, "mt5": 1, "umt5": 4}
"""Seeds with which answers are varied: some empty, some long, some without an end."""
WORDS = [*MARKS, ",", *FUNCTIONS, *TWINS, *SYMBOLS]


def sources(count: int, seed: int = 0) -> list[str]:
    """Sources of one to fifteen words, some of them without a meaning."""
    draw = random.Random(seed)
    return [
        " ".join([draw.choice(FUNCTIONS), *draw.choices([",", *SYMBOLS[:60]], k=draw.randint(0, 14))])
        for _ in range(count)
    ]


def pcfg_tests(folder: Path) -> list[Suite]:
    """The five tests on a few lines each: task, systematicity, substitutivity, localism, overgeneralisation."""
    plan = DataPlan(seed=3, sizes={"train": 40, "dev": 2, "test": 12}, natural=False, ratios=(0.5,))
    for kind in ("pcfgset", "systematicity", "substitutivity", "localism", "overgeneralisation"):
        files = make(kind, plan)
        kept = {name: lines for name, lines in files.items() if "train" not in name and "primitive" not in name}
        write_lines(kept, folder / kind)
    return open_suites(str(folder))


def word_tokenizer(words: Sequence[str] = WORDS, *, ends: bool = True) -> Any:
    """A tokenizer of white-space words that puts `</s>` behind each text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if ends:
        backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def save_seq2seq(
    folder: Path, architecture: str = "t5", *, tokenizer: Any = None, positions: int = 1200, seed: int | None = None
) -> Path:
    """An encoder–decoder of two small layers whose answers differ and mostly come to an end."""
    import torch
    from transformers import AutoConfig, AutoModelForSeq2SeqLM, GenerationConfig

    tokenizer = tokenizer or word_tokenizer()
    common: dict[str, Any] = {
        "vocab_size": len(tokenizer), "d_model": 32, "pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0,
        "tie_word_embeddings": False,
    }  # fmt: skip
    bart = {
        "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": positions, "bos_token_id": 1,
    }  # fmt: skip
    t5 = {"d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    pad = len(tokenizer)
    own: dict[str, dict[str, Any]] = {
        "t5": t5,
        "mt5": t5,
        "umt5": t5,
        "bart": {**bart, "decoder_start_token_id": 2},
        "marian": {
            **bart,
            "pad_token_id": (pad := len(tokenizer)),
            "decoder_start_token_id": pad,
            "vocab_size": pad + 1,
        },
        "m2m_100": {**bart, "decoder_start_token_id": 2, "pad_token_id": 1, "bos_token_id": 0},
        "mbart": {**bart, "decoder_start_token_id": 2},
        "pegasus": bart,
    }
    torch.manual_seed(SEEDS[architecture] if seed is None else seed)
    model = AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model(architecture, **(common | own[architecture]))).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
        model.lm_head.weight[0] = 0  # never the pad mark
        model.lm_head.weight[2] *= 6  # often the end
        if architecture == "marian":  # as published ones are: the pad mark is the last token, is zero, begins answers
            for part in (model.model.shared, model.model.encoder.embed_tokens, model.model.decoder.embed_tokens):
                part.weight[-1] = 0
            model.generation_config = GenerationConfig(
                pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=2, bad_words_ids=[[pad]]
            )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def maker(new_folder: Callable[[str], Path]) -> Callable[..., Path]:
    """Gives the folder of a tiny model of an architecture, made once."""

    @functools.cache
    def make(architecture: str = "t5") -> Path:
        return save_seq2seq(new_folder(architecture), architecture)

    return make


def load(folder: Path, **options: str) -> seq2seq.Seq2SeqModel:
    """The backend's model of a folder, on the CPU."""
    model = seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", **options}))
    assert isinstance(model, seq2seq.Seq2SeqModel)
    return model


def opennmt_checkpoint(words: Sequence[str] = WORDS, *, layers: int = 2, size: int = 16) -> dict[str, Any]:
    """What OpenNMT-py 3 saves for a small transformer; random, but answers differ and mostly end."""
    import torch

    draw = torch.Generator().manual_seed(3)

    def linear(name: str, out: int, into: int) -> dict[str, Any]:
        return {f"{name}.weight": 0.4 * torch.randn(out, into, generator=draw), f"{name}.bias": torch.zeros(out)}

    def norm(name: str) -> dict[str, Any]:
        return {f"{name}.weight": torch.ones(size), f"{name}.bias": torch.zeros(size)}

    def attention(name: str) -> dict[str, Any]:
        parts = ("linear_keys", "linear_values", "linear_query", "final_linear")
        return {key: value for part in parts for key, value in linear(f"{name}.{part}", size, size).items()}

    def feed_forward(name: str) -> dict[str, Any]:
        wide, narrow = linear(f"{name}.w_1", 2 * size, size), linear(f"{name}.w_2", size, 2 * size)
        return wide | narrow | norm(f"{name}.layer_norm")

    weights: dict[str, Any] = {}
    for side, stack in (("encoder", "transformer"), ("decoder", "transformer_layers")):
        embedding = f"{side}.embeddings.make_embedding"
        weights[f"{embedding}.emb_luts.0.weight"] = torch.randn(len(words), size, generator=draw)
        weights[f"{embedding}.pe.pe"] = 0.3 * torch.randn(1200, 1, size, generator=draw)
        weights |= norm(f"{side}.layer_norm")
        for number in range(layers):
            layer = f"{side}.{stack}.{number}"
            weights |= attention(f"{layer}.self_attn") | feed_forward(f"{layer}.feed_forward")
            if side == "encoder":
                weights |= norm(f"{layer}.layer_norm")
            else:
                weights |= attention(f"{layer}.context_attn")
                weights |= norm(f"{layer}.layer_norm_1") | norm(f"{layer}.layer_norm_2")
    generator = linear("", len(words), size)
    generator[".weight"][list(words).index("</s>")] *= 4
    options = Namespace(
        encoder_type="transformer", decoder_type="transformer", enc_layers=layers, dec_layers=layers, heads=4,
        position_encoding=True, max_relative_positions=0, self_attn_type="scaled-dot", decoder_start_token="<s>",
    )  # fmt: skip
    return {
        "model": weights,
        "generator": {key.removeprefix("."): value for key, value in generator.items()},
        "vocab": {"src": list(words), "tgt": list(words), "data_task": "seq2seq"},
        "opt": options,
        "optim": {"training_step": 9000, "optimizer": {"state": {}}},
    }


def assert_ties_are_noticed(model: Any, decode: Callable[[], Sequence[Any]]) -> None:
    """Another word gets the weights of the commonest token of the outputs: each output with it has a near tie."""
    import torch

    tokens: list[int] = [token for output in decode() for token in output.tokens]
    common = max(tokens, key=tokens.count)
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        head[537 if common != 537 else 536] = head[common]
    outputs = decode()
    assert not any(common in output.tokens for output in outputs if not output.near_tie)
    assert any(output.near_tie for output in outputs)
