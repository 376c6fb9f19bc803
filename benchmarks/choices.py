"""Choices among options in long contexts: wug and a plain loop over log p(option | context), in one run.

    python benchmarks/choices.py                                contexts of 60 words, 4 options, two CPU cores
    python benchmarks/choices.py --items 40 --words 200 --options 8 --size 124M

A random GPT-2 is asked by both, in an order that alternates. The loop is what one would write with transformers: an
option after the other, each a separate text, its log-probability read off the logits. Prints options per second,
how many times faster wug is (the median of the rounds), the largest difference of a log-probability, and whether all
verdicts are the same.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scoring import SHAPES, make_model
from timing import ROOT

SMALL = "6 layers"
SHAPES[SMALL] = {"n_layer": 6, "n_embd": 384, "n_head": 6}
Logprobs = list[list[float]]


def make_items(folder: Path, count: int, words: int, options: int) -> Path:
    """A table of contexts and options, of the words of the built-in pairs."""
    texts = (ROOT / "src/wug/assets/suites/pairs/wug_agreement.tab").read_text(encoding="utf-8")
    known = sorted({word for word in texts.split() if word.isalpha() and word.islower()})
    draw = random.Random(1)
    path = folder / "items.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for _ in range(count):
            made = [" ".join(draw.choices(known, k=draw.randint(1, 4))) for _ in range(options)]
            row = {"context": " ".join(draw.choices(known, k=words)), "options": made, "answer": 1}
            lines.write(json.dumps(row) + "\n")
    return path


def plain_loop(folder: Path, device: str) -> Callable[[Path], Logprobs]:
    """One option after the other."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().to(device)

    def logprob(context: str, option: str) -> float:
        ids = tokenizer(f"{context} {option}", add_special_tokens=False).input_ids
        given = len(tokenizer(context, add_special_tokens=False).input_ids)
        with torch.no_grad():
            logits = model(torch.tensor([[tokenizer.bos_token_id, *ids]], device=device)).logits[0]
        wanted = torch.tensor(ids[given:], device=device)
        found = logits[given : len(ids)].log_softmax(-1).gather(1, wanted[:, None])
        return float(found.sum())

    def ask(path: Path) -> Logprobs:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [[logprob(row["context"], option) for option in row["options"]] for row in rows]

    return ask


def through_wug(folder: Path, device: str) -> Callable[[Path], Logprobs]:
    """The suite, as `wug run` asks it."""
    from wug.evaluation.models import open_model
    from wug.families import choices
    from wug.outcomes import Outcome

    model: Any = open_model(f"causal:{folder}", {"device": device})

    def ask(path: Path) -> Logprobs:
        (suite,) = choices.read(path, {})
        return [row.detail["logprobs"] for row in suite.run(model) if isinstance(row, Outcome)]

    return ask


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20)
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--options", type=int, default=4)
    parser.add_argument("--size", choices=SHAPES, default=SMALL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()

    import torch

    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        items = make_items(folder, given.items, given.words, given.options)
        make_model(folder / "model", given.size, [items.read_text(encoding="utf-8")], Path())
        ways = {
            "plain loop": plain_loop(folder / "model", given.device),
            "wug": through_wug(folder / "model", given.device),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        found: dict[str, Logprobs] = {}
        for way, ask in ways.items():
            found[way] = ask(items)  # the first time loads and warms up
        for number in range(given.rounds):
            for way in list(ways)[:: 1 if number % 2 else -1]:
                begun = time.perf_counter()
                found[way] = ways[way](items)
                seconds[way].append(time.perf_counter() - begun)
    asked = given.items * given.options
    print(f"{given.items} items, contexts of {given.words} words, {given.options} options, GPT-2 {given.size}")
    for way, times in seconds.items():
        print(f"  {way:<12} {asked / statistics.median(times):8.1f} options/s")
    ratios = [a / b for a, b in zip(seconds["plain loop"], seconds["wug"], strict=True)]
    print(f"  wug is {statistics.median(ratios):.1f} times as fast ({min(ratios):.1f} to {max(ratios):.1f})")
    pairs = list(zip(found["plain loop"], found["wug"], strict=True))
    apart = max(abs(a - b) for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True))
    same = sum(ours.index(max(ours)) == theirs.index(max(theirs)) for ours, theirs in pairs)
    print(f"  largest difference {apart:.1e} nats; {same} of {len(pairs)} verdicts the same")


if __name__ == "__main__":
    main()
