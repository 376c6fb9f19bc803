"""The same sentences and the same random GPT-2 through wug, lm-eval and minicons, in one run.

    python benchmarks/scoring.py                                two CPU cores, 124M parameters
    python benchmarks/scoring.py --device cuda --sizes 124M 1.3B --sample 0
    python benchmarks/scoring.py --part 10 --sample 268         a tenth of SyntaxGym, a little of BLiMP
    python benchmarks/scoring.py --peers wug plain              where lm-eval is not installed: a loop of ours like it

Prints sentences per second, how many times faster wug is by the clock and by processor time while it scores, that
processor time with the share that the system took of it, peak memory, and the largest difference of a sentence's
score. Sentences are the published SyntaxGym suites and BLiMP (WUG_REFERENCE_DATA or ../shared/data), or, where those
are absent, the built-in suites. `--sample 0` takes all of BLiMP. The tokenizer, of GPT-2's size, is trained on books
and kept in the folder for temporary files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timing import DATA, ROOT, aim, head, line, took

SHAPES = {
    "124M": {"n_layer": 12, "n_embd": 768, "n_head": 12},
    "1.3B": {"n_layer": 24, "n_embd": 2048, "n_head": 16},
    "tiny": {"n_layer": 2, "n_embd": 64, "n_head": 2},
    "one-layer": {"n_layer": 1, "n_embd": 32, "n_head": 2},
}
VOCABULARY = 50257
AIMS = {
    ("cpu", "124M", "float32", "syntaxgym"): 2.5,
    ("cpu", "124M", "float32", "blimp"): 2.0,
    ("cuda", "124M", "bfloat16", "blimp"): 14.0,
    ("cuda", "1.3B", "bfloat16", "blimp"): 6.0,
}
"""How many times lm-eval's speed is wanted: on a CPU by processor time, on a GPU by the clock, in the first pass."""
BEFORE = 187.0
"""Seconds of all of BLiMP with one layer on two cores when all logits of a batch were computed at once."""


def syntaxgym_sentences(data: Path, part: int = 1) -> list[str]:
    """Every sentence of every suite, or of the built-in ones; of every nth item."""
    folder = data / "syntaxgym" / "suites"
    if not folder.is_dir():
        folder = ROOT / "src" / "wug" / "assets" / "suites" / "syntaxgym"
    found = []
    for path in sorted(folder.glob("*.json")):
        for item in json.loads(path.read_text(encoding="utf-8"))["items"][::part]:
            for condition in item["conditions"]:
                found.append(" ".join(r["content"].strip() for r in condition["regions"] if r["content"].strip()))
    return found


def blimp_sentences(data: Path, sample: int) -> list[str]:
    """Both sentences of each pair, in file order; of a sample of the pairs if `sample` is not 0."""
    found = []
    for path in sorted((data / "pairs" / "blimp").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        if sample:
            rows = random.Random(path.name).sample(rows, max(1, sample // 2 // 67))
        found += [row[key] for row in rows for key in ("sentence_good", "sentence_bad")]
    return found


def make_model(folder: Path, size: str, texts: list[str], data: Path) -> None:
    """A GPT-2 with random weights and a tokenizer of GPT-2's size, trained on books if they are there."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = make_tokenizer(texts, data)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0, **SHAPES[size])
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def make_tokenizer(texts: list[str], data: Path) -> Any:
    """A tokenizer of GPT-2's size, trained on the texts and on books if they are there, and kept."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    kept = Path(tempfile.gettempdir()) / f"wug-bench-{hashlib.sha256(repr(texts).encode()).hexdigest()[:16]}.json"
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    ready = os.environ.get("WUG_BENCH_TOKENIZER")
    if ready or kept.exists():
        backend = Tokenizer.from_file(ready or str(kept))
    else:
        backend.train_from_iterator([*texts, *books(data)], trainer)
        backend.save(str(kept))
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token=end, eos_token=end, unk_token=end)


def books(data: Path, megabytes: int = 20) -> list[str]:
    """The beginning of the corpus of books, by line; nothing where it is absent."""
    path = data / "corpus" / "public_domain_books.txt.xz"
    if not path.exists():
        return []
    with lzma.open(path, "rt", encoding="utf-8") as text:
        return text.read(megabytes << 20).splitlines()


def measure(
    peer: str, model: Path, texts: list[str], device: str, dtype: str, batch: int, folder: Path
) -> dict[str, Any]:
    """Seconds, scores, memory and processor time of one peer, from a separate process."""
    source, out = folder / "texts.json", folder / f"{peer}.json"
    source.write_text(json.dumps(texts), encoding="utf-8")
    command = [sys.executable, str(Path(__file__).with_name("peers.py")), peer]
    took([*command, str(model), str(source), str(out), device, dtype, str(batch)])
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def compare(name: str, texts: list[str], model: Path, dtype: str, options: argparse.Namespace, folder: Path) -> None:
    """Measure every peer on the same texts and print a row each."""
    found: dict[str, dict[str, Any]] = {}
    for peer in options.peers:
        found[peer] = measure(peer, model, texts, options.device, dtype, options.batch, folder)
        first = found[options.peers[0]]
        this = found[peer]
        gap = max(abs(a - b) for a, b in zip(this["scores"], first["scores"], strict=True))
        line(
            name,
            peer,
            f"{len(texts):,}",
            f"{len(texts) / this['seconds']:,.0f}",
            f"{this['seconds'] / first['seconds']:.2f} ×",
            f"{this['cpu'] / first['cpu']:.2f} ×",
            f"{len(texts) / this['again']:,.0f}",
            f"{this['cpu']:.0f} ({this['system'] / this['cpu']:.0%})",
            f"{this['memory'] / 2**30:.2f}",
            f"{gap:.1e}",
        )
    aimed_at(name, len(texts), model.name, dtype, options.device, found)


def aimed_at(name: str, count: int, size: str, dtype: str, device: str, found: dict[str, dict[str, Any]]) -> None:
    """Print the aims next to the results."""
    kind = device.partition(":")[0]
    wanted = AIMS.get((kind, size, dtype, name))
    peer = next((peer for peer in ("lm-eval", "plain") if peer in found), None)
    first = found["wug"]
    if wanted is not None and peer is not None:
        by = "seconds" if kind == "cuda" else "cpu"
        ratio, how = found[peer][by] / first[by], "first pass" if kind == "cuda" else "by CPU time"
        called = "lm-eval" if peer == "lm-eval" else "a loop of ours like lm-eval's"
        aim(
            f"{name}, {count:,} sentences, {size} {dtype}, {kind}",
            f"≥ {wanted:g} × {called}, {how}",
            f"{ratio:.2f} × ({count / first['seconds']:,.0f} a second)",
            met=ratio >= wanted,
            peer=f"{called}: {count / found[peer]['seconds']:,.0f} a second",
        )
    if size == "one-layer" and kind == "cpu" and name == "blimp" and count == 134_000:
        share = first["system"] / first["cpu"]
        aim(
            "BLiMP, 134,000 sentences, one layer × 32, 50,257 words, cpu",
            f"≤ {BEFORE / 3:.0f} s (a third of {BEFORE:.0f}), system < 10 %",
            f"{first['seconds']:.0f} s, CPU {first['cpu']:.0f} s, system {share:.1%}",
            met=first["seconds"] <= BEFORE / 3 and share < 0.1,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table for each size of model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--sizes", nargs="+", default=["124M"], choices=list(SHAPES))
    parser.add_argument("--peers", nargs="+", default=["wug", "lm-eval", "minicons"])
    parser.add_argument("--sample", type=int, default=2010, help="sentences of BLiMP; 0 for all")
    parser.add_argument("--part", type=int, default=1, help="of SyntaxGym every so many-th item of a suite")
    parser.add_argument("--batch", type=int, default=32, help="batch size of the peers")
    parser.add_argument("--sets", nargs="+", default=["syntaxgym", "blimp"])
    options = parser.parse_args(arguments)
    data = DATA
    sets = {"syntaxgym": syntaxgym_sentences(data, options.part), "blimp": blimp_sentences(data, options.sample)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in options.sizes:
            model = folder / size
            make_model(model, size, [*syntaxgym_sentences(data), *blimp_sentences(data, 0)], data)
            for dtype in options.dtypes:
                print(f"\n{size} parameters, {options.device}, {dtype}, peers' batch {options.batch}\n")
                head(
                    "sentences", "program", "count", "per second", "time ÷ wug's", "CPU ÷ wug's",
                    "per second, second pass", "CPU s (system)", "peak GiB", "largest difference (nats)",
                )  # fmt: skip
                for title in options.sets:
                    if sets[title]:
                        compare(title, sets[title], model, dtype, options, folder)


if __name__ == "__main__":
    main()
