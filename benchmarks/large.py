"""Models of 1.3 to 13 billion parameters in half precision: wug, a plain padded loop, and the floor, in one run.

    python benchmarks/large.py                                   1.3B, 7B and 13B in bfloat16 on cuda
    python benchmarks/large.py --sizes 7B --dtypes bfloat16 float32
    python benchmarks/large.py --device cpu --sizes tiny --sample 268

The models are Llamas with random weights, made on the device. Sentences are BLiMP (WUG_REFERENCE_DATA or
../shared/data), three tenths of it unless `--sample` says otherwise, or the built-in suites where it is absent. The
tokenizer is that of `scoring.py`. The floor is the arithmetic of the distinct prefixes (2 FLOP per parameter and
prefix) at the rate of a large matrix product that is measured first. The first pass is timed, and loading is not. The
plain loop has the model as transformers makes it, and one batch to warm up.
Differences are per token, over sentences that are also scored one at a time. The targets are for 7B in bfloat16.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import scoring
from timing import DATA, aim, head, line

SHAPES = {
    "tiny": (2, 64, 2, 128),
    "1.3B": (24, 2048, 16, 5504),
    "7B": (32, 4096, 32, 11008),
    "13B": (40, 5120, 40, 13824),
}
"""Layers, width, attention heads, width of the feed-forward layer."""
MAX_OVER_FLOOR = 1.6
MIN_OVER_LOOP = 2.8
GAPS = ("mean gap from single", "largest", "mean gap from the loop", "largest")
TARGET = ("7B", "bfloat16")
SINGLE_TEXTS = 400
"""Sentences that are also scored one at a time."""


def main() -> None:
    """Measure every size in every dtype."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--sizes", nargs="+", default=["1.3B", "7B", "13B"], choices=SHAPES)
    reader.add_argument("--dtypes", nargs="+", default=["bfloat16"])
    reader.add_argument("--device", default="cuda")
    reader.add_argument("--batch", type=int, default=256, help="sentences per batch of the plain loop")
    reader.add_argument("--sample", type=int, default=40_200, help="sentences")
    given = reader.parse_args()
    texts = scoring.blimp_sentences(DATA, given.sample) or scoring.syntaxgym_sentences(DATA)
    tokenizer = scoring.make_tokenizer(texts, DATA)
    rates = {dtype: flops_per_second(given.device, dtype) for dtype in given.dtypes}
    for dtype, rate in rates.items():
        print(f"{dtype}: a matrix product runs at {rate / 1e12:.0f} TFLOP/s")
    head("model", "way", "sentences", "seconds", "per second", "× loop", "× floor", *GAPS)
    for size in given.sizes:
        for dtype in given.dtypes:
            compare(size, dtype, texts, tokenizer, rates[dtype], given)


def flops_per_second(device: str, dtype: str) -> float:
    """The rate of a large matrix product."""
    import torch

    side = 8192 if device == "cuda" else 512
    left, right = (torch.randn(side, side, device=device, dtype=getattr(torch, dtype)) for _ in range(2))
    for _ in range(3):
        left @ right
    synchronize(device)
    start = time.perf_counter()
    for _ in range(10):
        left @ right
    synchronize(device)
    return 10 * 2 * side**3 / (time.perf_counter() - start)


def synchronize(device: str) -> None:
    """Wait for the device."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def make_model(size: str, dtype: str, device: str) -> Any:
    """A Llama with random weights, made on the device."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    layers, width, heads, inner = SHAPES[size]
    config = LlamaConfig(
        vocab_size=scoring.VOCABULARY,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(torch.float32)


def compare(size: str, dtype: str, texts: list[str], tokenizer: Any, rate: float, given: argparse.Namespace) -> None:
    """Measure one model and print a row for each way."""
    import torch

    from wug.models import causal
    from wug.models.huggingface import loading
    from wug.models.spec import ModelSpec
    from wug.types import Request

    model = make_model(size, dtype, given.device)
    ids = [[0, *row] for row in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    plain_loop(model, ids[: given.batch], given.batch)
    synchronize(given.device)
    start = time.perf_counter()
    loop = plain_loop(model, ids, given.batch)  # before wug replaces layers of the model by fused ones
    loop_seconds = time.perf_counter() - start
    some = np.random.default_rng(4).permutation(len(ids))[:SINGLE_TEXTS]
    single = plain_loop(model, [ids[number] for number in some], 1)
    start = time.perf_counter()
    loaded = loading.HubModel(model, tokenizer, size, "random")
    scorer = causal.around(loaded, ModelSpec("causal", size, options={"dtype": dtype, "device": given.device}))
    opening = time.perf_counter() - start
    requests = [Request(text) for text in texts]
    synchronize(given.device)
    start = time.perf_counter()
    scored = scorer.score(requests)
    seconds = time.perf_counter() - start
    trees = np.asarray(scored.sums())
    prefixes = len({tuple(row[:end]) for row in ids for end in range(1, len(row))})
    floor = prefixes * 2 * parameters_of_products(model) / rate
    lengths = np.asarray([len(row) - 1 for row in ids])
    rows = {"wug": (seconds, trees), f"plain loop, batch {given.batch}": (loop_seconds, loop)}
    for way, (spent, values) in rows.items():
        gaps = [np.abs(values[some] - other) / lengths[some] for other in (single, loop[some])]
        line(
            f"{size} {dtype}",
            way,
            f"{len(texts):,}",
            f"{spent:.1f}",
            f"{len(texts) / spent:,.0f}",
            f"{loop_seconds / spent:.2f}",
            f"{spent / floor:.2f}",
            *(f"{found:.2g}" for gap in gaps for found in (gap.mean(), gap.max())),
        )
    methods, noise = scorer._engine.methods, scorer._engine.noise
    print(
        f"{size} {dtype}: {sum(map(len, ids)):,} tokens, {prefixes:,} prefixes, floor {floor:.1f} s; opened in "
        f"{opening:.1f} s; trees {'on' if methods.layout is not None else 'off'}; {noise}"
    )
    if (size, dtype) == TARGET:
        name = f"{size} {dtype} on {given.device}"
        over = f"{seconds / floor:.2f} × the floor"
        aim(name, f"≤ {MAX_OVER_FLOOR} × the floor", over, met=seconds <= MAX_OVER_FLOOR * floor)
        ratio = loop_seconds / seconds
        aim(name, f"≥ {MIN_OVER_LOOP} × a plain loop", f"{ratio:.2f} ×", met=ratio >= MIN_OVER_LOOP, peer="plain loop")
        tree_gap, single_gap = (float(np.mean(np.abs(x - loop[some]) / lengths[some])) for x in (trees[some], single))
        wanted = f"mean gap from the loop ≤ that of single sentences, {single_gap:.3g} nats"
        aim(name, wanted, f"{tree_gap:.3g} nats", met=tree_gap <= single_gap)
    del model, loaded, scorer
    if given.device == "cuda":
        torch.cuda.empty_cache()


def parameters_of_products(model: Any) -> int:
    """Weights that every position is multiplied with: all but the input embeddings."""
    return int(sum(p.numel() for p in model.parameters()) - model.get_input_embeddings().weight.numel())


def plain_loop(model: Any, ids: list[list[int]], batch: int) -> np.ndarray[Any, Any]:
    """The sum of the log-probabilities of each sentence: padded batches, sorted by length."""
    import torch

    order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
    found = np.zeros(len(ids))
    device = model.device
    for first in range(0, len(order), batch):
        some = order[first : first + batch]
        rows = [torch.tensor(ids[number]) for number in some]
        tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(device)
        given = {} if len(some) == 1 else {"attention_mask": mask}
        with torch.inference_mode():
            shares = model(input_ids=tokens[:, :-1], **{k: v[:, :-1] for k, v in given.items()}).logits
            chosen = shares.float().log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0]
            sums = (chosen * mask[:, 1:]).sum(1, dtype=torch.float64)
        found[some] = sums.cpu().numpy()
    return found


if __name__ == "__main__":
    main()
