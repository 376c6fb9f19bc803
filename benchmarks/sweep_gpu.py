"""How busy a GPU is during a sweep: checkpoints of one model by some thousand sentences, beside a shell loop.

    python benchmarks/sweep_gpu.py                                      40 checkpoints of 160M, 6,700 sentences, cuda
    python benchmarks/sweep_gpu.py --device cpu --models 3 --layers 2 --width 64 --sentences 200      a trial

The GPU counts as idle in a sample (every 50 ms, by NVML) in which its utilisation is 0; from the first question that is
put to it to the last. Without NVML the share is not told.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EVERY = 0.05
"""Seconds between two samples."""


@dataclass
class Watched:
    """Samples of how busy the GPU is, in per cent, with their times."""

    samples: list[tuple[float, int]] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watched:
        ask = utilisation()
        if ask is not None:
            self._thread = threading.Thread(target=self._watch, args=(ask,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, ask: Any) -> None:
        while not self._ended.wait(EVERY):
            self.samples.append((time.monotonic(), ask()))

    @property
    def idle(self) -> float | None:
        """The share of idle samples between the first and the last that is not."""
        busy = [place for place, (_, used) in enumerate(self.samples) if used > 0]
        if not busy:
            return None
        within = self.samples[busy[0] : busy[-1] + 1]
        return sum(used == 0 for _, used in within) / len(within)


def utilisation() -> Any:
    """A function that says how busy the first GPU is, in per cent; None where nothing tells."""
    try:
        pynvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return _by_torch()
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    except pynvml.NVMLError:
        return None
    return lambda: int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)


def _by_torch() -> Any:
    import torch

    if not torch.cuda.is_available():
        return None
    try:
        torch.cuda.utilization()
    except (ModuleNotFoundError, RuntimeError):
        return None
    return torch.cuda.utilization


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--models", type=int, default=40)
    reader.add_argument("--sentences", type=int, default=6700)
    reader.add_argument("--layers", type=int, default=12)
    reader.add_argument("--width", type=int, default=768)
    reader.add_argument("--words", type=int, default=50304, help="rows of the embedding")
    reader.add_argument("--device", default="cuda")
    reader.add_argument("--suite", help="a suite to ask instead of made sentences, such as a folder of BLiMP")
    reader.add_argument("--folder", type=Path, help="where to work; a temporary folder unless it is given")
    given = reader.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="wug-sweep-gpu-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        make_checkpoints(folder / "run", given)
        suite = given.suite or str(make_pairs(folder / "pairs.jsonl", given.sentences // 2))
        names = sorted((folder / "run").iterdir(), key=lambda path: int(path.name.rpartition("-")[2]))
        report("one sweep", folder, given, [["--model", f"causal:{folder}/run/*"]], suite)
        report("a shell loop", folder, given, [["--model", f"causal:{name}"] for name in names], suite)
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def report(title: str, folder: Path, given: argparse.Namespace, commands: list[list[str]], suite: str) -> None:
    """Run commands one after the other, and say how long that took and how idle the GPU was."""
    began = time.monotonic()
    with Watched() as watched:
        for models in commands:
            fixed = ["run", suite, "--device", given.device, "--no-cache", "--no-save", "--format", "csv"]
            command = [sys.executable, "-m", "wug", *fixed, *models]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
    spent = time.monotonic() - began
    idle = "not known here" if watched.idle is None else f"{100 * watched.idle:.1f} %"
    print(
        json.dumps(
            {
                "what": title,
                "models": given.models,
                "seconds": round(spent, 1),
                "seconds_a_model": round(spent / given.models, 2),
                "idle": idle,
                "samples": len(watched.samples),
            }
        ),
        flush=True,
    )


def make_checkpoints(folder: Path, given: argparse.Namespace) -> None:
    """Checkpoints of a model of Pythia's shape with the tokenizer of wug-causal, each with other weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from wug.runs.opening import builtin_models

    tokenizer = AutoTokenizer.from_pretrained(builtin_models()["wug-causal"])
    shape: dict[str, Any] = {
        "hidden_size": given.width,
        "num_hidden_layers": given.layers,
        "num_attention_heads": max(1, given.width // 64),
        "intermediate_size": 4 * given.width,
        "vocab_size": max(given.words, len(tokenizer)),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt_neox", **shape)).eval()
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    print(f"{given.models} checkpoints of {size:.0f}M parameters", flush=True)
    for place in range(given.models):
        step = folder / f"checkpoint-{(place + 1) * 1000}"
        if not step.exists():
            with torch.no_grad():
                next(model.parameters()).add_(0.01)
            model.save_pretrained(step)
            tokenizer.save_pretrained(step)


def make_pairs(path: Path, pairs: int) -> Path:
    """Pairs of sentences about as long and as like one another as BLiMP's."""
    chance = random.Random(0)
    words = (
        "the a many some teacher doctor girls boys cat dogs who that sees helps like near old small often here".split()
    )
    with path.open("w", encoding="utf-8") as file:
        for number in range(pairs):
            sentence = [chance.choice(words) for _ in range(chance.randint(5, 12))]
            other = [*sentence[:-1], chance.choice(words)]
            row = {
                f"sentence_{name}": f"{' '.join(some)} {number}." for name, some in (("good", sentence), ("bad", other))
            }
            file.write(json.dumps(row) + "\n")
    return path


if __name__ == "__main__":
    main()
