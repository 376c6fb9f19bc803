"""Models of 1.3 to 13 billion parameters in half precision: wug, a plain padded loop, and the floor, in one run.

    python benchmarks/large.py                                   1.3B, 7B and 13B in bfloat16 on cuda
    python benchmarks/large.py --sizes 7B --dtypes bfloat16 float32
    python benchmarks/large.py --device cpu --sizes tiny --sample 268
    python benchmarks/large.py --sizes 7B --noise 0 1 2 --sample 2010    rounding, with three random models
    python benchmarks/large.py --sizes deep --noise 0 1 2 --sample 402 --device cpu --batch 64    the same on a CPU

The models are Llamas with random weights, made on the device. Sentences are BLiMP (WUG_REFERENCE_DATA or
../shared/data), three tenths of it unless `--sample` says otherwise, or the built-in suites where it is absent. The
tokenizer is that of `scoring.py`. The floor is the arithmetic of the distinct prefixes (2 FLOP per parameter and
prefix) at the rate of a large matrix product that is measured first. The first pass is timed, and loading is not. The
plain loop has the model as transformers makes it, and one batch to warm up. The targets are for 7B in bfloat16.

With `--noise`, nothing is timed. Every sentence is scored as prefix trees, in padded batches, one at a time, and in
padded batches with the same weights in float32. The table has the differences between two of these, per token.
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

import scoring
from timing import DATA, aim, head, line
from wug.requests import Request

SHAPES = {
    "tiny": (2, 64, 2, 128),
    "deep": (32, 384, 6, 1024),
    "1.3B": (24, 2048, 16, 5504),
    "7B": (32, 4096, 32, 11008),
    "13B": (40, 5120, 40, 13824),
}
"""Layers, width, attention heads, width of the feed-forward layer."""
MAX_OVER_FLOOR = 1.6
MIN_OVER_LOOP = 2.8
TARGET = ("7B", "bfloat16")
TREES, PADDED, SINGLE, EXACT = "trees", "padded batches", "one at a time", "float32"
Floats: TypeAlias = np.ndarray[Any, Any]


def main() -> None:
    """Measure every size in every dtype."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--sizes", nargs="+", default=["1.3B", "7B", "13B"], choices=SHAPES)
    reader.add_argument("--dtypes", nargs="+", default=["bfloat16"])
    reader.add_argument("--device", default="cuda")
    reader.add_argument("--batch", type=int, default=256, help="sentences per batch of the plain loop")
    reader.add_argument("--sample", type=int, default=40_200, help="sentences")
    reader.add_argument("--noise", type=int, nargs="+", metavar="SEED", help="measure rounding with these weights")
    given = reader.parse_args()
    texts = scoring.blimp_sentences(DATA, given.sample) or scoring.syntaxgym_sentences(DATA)
    tokenizer = scoring.make_tokenizer(texts, DATA)
    if given.noise:
        head("model", "seed", "between", "tokens", "mean", "99%", "99.9%", "largest", "mean of sentences", "largest")
        for size in given.sizes:
            for dtype in given.dtypes:
                compare_rounding(size, dtype, texts, tokenizer, given)
        return
    rates = {dtype: flops_per_second(given.device, dtype) for dtype in given.dtypes}
    for dtype, rate in rates.items():
        print(f"{dtype}: a matrix product runs at {rate / 1e12:.0f} TFLOP/s")
    head("model", "way", "sentences", "seconds", "per second", "× loop", "× floor")
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


def make_model(size: str, dtype: str, device: str, seed: int = 0) -> Any:
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
    torch.manual_seed(seed)
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(torch.float32)


def compare(size: str, dtype: str, texts: list[str], tokenizer: Any, rate: float, given: argparse.Namespace) -> None:
    """Measure one model and print a row for each way."""
    import torch

    model = make_model(size, dtype, given.device)
    ids = [[0, *row] for row in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    plain_loop(model, ids[: given.batch], given.batch)
    synchronize(given.device)
    start = time.perf_counter()
    plain_loop(model, ids, given.batch)  # before wug replaces layers of the model by fused ones
    loop_seconds = time.perf_counter() - start
    start = time.perf_counter()
    scorer = open_in_wug(model, tokenizer, size, dtype, given.device)
    opening = time.perf_counter() - start
    requests = [Request(text) for text in texts]
    synchronize(given.device)
    start = time.perf_counter()
    np.asarray(scorer.score(requests).sums())
    seconds = time.perf_counter() - start
    prefixes = len({tuple(row[:end]) for row in ids for end in range(1, len(row))})
    floor = prefixes * 2 * parameters_of_products(model) / rate
    for way, spent in {"wug": seconds, f"plain loop, batch {given.batch}": loop_seconds}.items():
        times = (f"{spent:.1f}", f"{len(texts) / spent:,.0f}", f"{loop_seconds / spent:.2f}", f"{spent / floor:.2f}")
        line(f"{size} {dtype}", way, f"{len(texts):,}", *times)
    methods, noise = scorer.engine.methods, scorer.engine.noise
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
    del model, scorer
    if given.device == "cuda":
        torch.cuda.empty_cache()


def open_in_wug(model: Any, tokenizer: Any, size: str, dtype: str, device: str) -> Any:
    """The model with wug's own layers, self-tested."""
    from wug.models import causal
    from wug.models.huggingface import loading
    from wug.models.spec import ModelSpec

    loaded = loading.HubModel(model, tokenizer, size, "random")
    return causal.from_loaded(loaded, ModelSpec("causal", size, options={"dtype": dtype, "device": device}))


def compare_rounding(size: str, dtype: str, texts: list[str], tokenizer: Any, given: argparse.Namespace) -> None:
    """Print how far ways of scoring are from each other, for each seed and for all."""
    ids = [[0, *row] for row in tokenizer(texts, add_special_tokens=False)["input_ids"]]
    lengths = [len(row) - 1 for row in ids]
    found = {seed: every_way(size, dtype, texts, ids, tokenizer, seed, given) for seed in given.noise}
    pooled = {way: np.concatenate([found[seed][way] for seed in found]) for way in found[given.noise[0]]}
    for seed, ways in ({**found, "all": pooled} if len(found) > 1 else found).items():
        starts = np.cumsum([0, *lengths * (len(found) if seed == "all" else 1)])[:-1]
        for first, second in combinations(ways, 2):
            gap = ways[first] - ways[second]
            summed = np.abs(np.add.reduceat(gap, starts)) / np.diff([*starts, len(gap)])
            gap = np.abs(gap)
            values = (gap.mean(), *np.quantile(gap, [0.99, 0.999]), gap.max(), summed.mean(), summed.max())
            between = f"{first}, {second}"
            line(f"{size} {dtype}", seed, between, f"{len(gap):,}", *(f"{value:.4g}" for value in values))
    if (size, dtype) == TARGET:
        name = f"{size} {dtype} on {given.device}"
        for what, measure in (("mean", np.mean), ("largest", np.max)):
            trees, single = (float(measure(np.abs(pooled[way] - pooled[PADDED]))) for way in (TREES, SINGLE))
            wanted = f"{what} gap from padded batches ≤ that of single sentences, {single:.3g} nats per token"
            aim(name, wanted, f"{trees:.3g} nats per token", met=trees <= single)
        for what, statistic in (("mean", np.mean), ("99th percentile", lambda gap: np.quantile(gap, 0.99))):
            trees, single = (float(statistic(np.abs(pooled[way] - pooled[EXACT]))) for way in (TREES, SINGLE))
            wanted = f"{what} of the gap from float32 ≤ 1.1 × that of single sentences, {single:.3g} nats per token"
            aim(name, wanted, f"{trees:.3g} nats per token", met=trees <= 1.1 * single)


def every_way(
    size: str, dtype: str, texts: list[str], ids: list[list[int]], tokenizer: Any, seed: int, given: argparse.Namespace
) -> dict[str, Floats]:
    """The log-probabilities of all tokens, by way of scoring."""
    model = make_model(size, dtype, given.device, seed)
    padded, single = plain_loop(model, ids, given.batch), plain_loop(model, ids, 1)
    scorer = open_in_wug(model, tokenizer, size, dtype, given.device)
    if scorer.engine.methods.layout is None:
        raise SystemExit(f"{size} {dtype}, seed {seed}: trees are off")
    trees = np.asarray(scorer.score([Request(text) for text in texts]).logprobs)
    exact = plain_loop(model.float(), ids, given.batch)
    return {TREES: trees, PADDED: padded, SINGLE: single, EXACT: exact}


def parameters_of_products(model: Any) -> int:
    """Weights that every position is multiplied with: all but the input embeddings."""
    return int(sum(p.numel() for p in model.parameters()) - model.get_input_embeddings().weight.numel())


def plain_loop(model: Any, ids: list[list[int]], batch: int) -> Floats:
    """The log-probabilities of all tokens but the first of each sentence: padded batches, sorted by length."""
    import torch

    order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
    found: list[Floats] = [np.zeros(0)] * len(ids)
    device = model.device
    for first in range(0, len(order), batch):
        some = order[first : first + batch]
        rows = [torch.tensor(ids[number]) for number in some]
        tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).to(device)
        given = {} if len(some) == 1 else {"attention_mask": mask}
        with torch.inference_mode():
            shares = model(input_ids=tokens[:, :-1], **{k: v[:, :-1] for k, v in given.items()}).logits
            chosen = shares.float().log_softmax(-1).gather(2, tokens[:, 1:, None])[..., 0].double().cpu().numpy()
        for number, row, values in zip(some, rows, chosen, strict=True):
            found[number] = values[: len(row) - 1]
    return np.concatenate(found)


if __name__ == "__main__":
    main()
