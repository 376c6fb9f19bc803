"""The same BLiMP sentences and the same random BERT through wug and minicons, in one run.

    python benchmarks/masked.py                                 1,072 sentences, two CPU cores, BERT-base's shape
    python benchmarks/masked.py --batches 1 8 32 --sample 134   minicons with other sizes of batch

Prints sentences per second, how many times longer minicons takes, peak memory, and the largest difference of a
sentence's pseudo-log-likelihood. Pairs stay together in the sample, as in any run over BLiMP. minicons pads what it
gets at a time to the longest sentence, so its speed depends on that number: 100 is what its own example for BLiMP
takes. Sentences come from WUG_REFERENCE_DATA or ../shared/data; where those are absent, from the built-in suites.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scoring import blimp_sentences, books, syntaxgym_sentences
from timing import ROOT

VOCABULARY = 28996
SHAPES = {
    "base": {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072},
    "tiny": {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2, "intermediate_size": 128},
}
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
Score = Callable[[list[str]], list[float]]


def make_model(folder: Path, size: str, texts: list[str], data: Path) -> None:
    """A BERT with random weights and a cased WordPiece tokenizer of BERT's size."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=MARKS, show_progress=False)
    backend.train_from_iterator([*texts, *books(data, megabytes=5)], trainer)
    ends = [(mark, backend.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), MARKS, strict=True))
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(vocab_size=VOCABULARY, pad_token_id=0, **SHAPES[size])).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=backend, **names).save_pretrained(folder)


def wug(model: str, metric: str, batch: int) -> Score:
    """Masked copies sorted by length, the same ones once; sums of the tokens' log-probabilities."""
    from wug.models import masked
    from wug.models.spec import ModelSpec
    from wug.requests import Request

    scorer = masked.load(ModelSpec("masked", model, options={"device": "cpu", "pll": metric}))
    return lambda texts: [scored.logprob() for scored in scorer.score([Request(text) for text in texts])]


def minicons(model: str, metric: str, batch: int) -> Score:
    """The scorer of minicons for masked models; it cannot call today's tokenizers itself, so they are called for it."""
    import torch
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(model, "cpu", dtype=torch.float32)

    def score(texts: list[str]) -> list[float]:
        found: list[float] = []
        for first in range(0, len(texts), batch):
            encoded = scorer.tokenizer(texts[first : first + batch], padding="longest")
            found += scorer.sequence_score(encoded, PLL_metric=metric, reduction=lambda x: x.sum(0).item())
        return found

    return score


def go(options: argparse.Namespace) -> None:
    """One program's run over the sentences, in a separate process: load, warm up, time, write."""
    import torch

    logging.disable(logging.WARNING)
    torch.set_num_threads(options.cores)
    texts: list[str] = json.loads((options.folder / "texts.json").read_text(encoding="utf-8"))
    score = {"wug": wug, "minicons": minicons}[options.go](
        str(options.folder / "model"), options.metric, options.batches[0]
    )
    score(texts[:8])
    start = time.perf_counter()
    scores = score(texts)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = {"seconds": seconds, "scores": scores, "memory": memory}
    (options.folder / "found.json").write_text(json.dumps(found), encoding="utf-8")


def measure(program: str, batch: int, metric: str, folder: Path, cores: int) -> dict[str, Any]:
    """Seconds, scores and memory of one program."""
    command = [sys.executable, __file__, "--go", program, "--folder", str(folder), "--metric", metric]
    subprocess.run(
        [*command, "--batches", str(batch), "--cores", str(cores)],
        check=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(cores)},
        stderr=subprocess.DEVNULL if os.environ.get("WUG_BENCH_QUIET") else None,
    )
    found: dict[str, Any] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return found


def compare(texts: list[str], options: argparse.Namespace, folder: Path) -> None:
    """Measure both on the same texts and print a row each."""
    print("| program | sentences | per second | time ÷ wug's | peak GiB | largest difference (nats) |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    first = measure("wug", 0, options.metric, folder, options.cores)
    rows = [("wug", first)]
    rows += [
        (f"minicons, batch {batch}", measure("minicons", batch, options.metric, folder, options.cores))
        for batch in options.batches
    ]
    for name, this in rows:
        gap = max(abs(a - b) for a, b in zip(this["scores"], first["scores"], strict=True))
        print(
            f"| {name} | {len(texts):,} | {len(texts) / this['seconds']:.2f} | "
            f"{this['seconds'] / first['seconds']:.2f} × | {this['memory'] / 2**30:.2f} | {gap:.1e} |",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the model and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=1072, help="sentences of BLiMP, as many of each paradigm")
    parser.add_argument("--size", default="base", choices=list(SHAPES))
    parser.add_argument("--metric", default="within_word_l2r", choices=["within_word_l2r", "original"])
    parser.add_argument(
        "--batches", type=int, nargs="+", default=[100, 32], help="sentences that minicons gets at a time"
    )
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--go", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.go:
        go(options)
        return
    data = Path(os.environ.get("WUG_REFERENCE_DATA", ROOT.parent / "shared" / "data"))
    texts = blimp_sentences(data, options.sample) or syntaxgym_sentences(data)[: options.sample]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        make_model(folder / "model", options.size, texts, data)
        print(f"\nBERT-{options.size}'s shape, {options.metric}, {options.cores} CPU cores, float32\n")
        compare(texts, options, folder)


if __name__ == "__main__":
    main()
