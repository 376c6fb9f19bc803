"""One scorer's go at a file of sentences, in a process of its own: `peers.py NAME MODEL SENTENCES OUT DEVICE`."""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

Score = Callable[[list[str]], list[float]]


def wug(model: str, device: str, dtype: str, batch: int) -> Score:
    """The prefix-tree engine; sums of the tokens' log-probabilities."""
    from wug.models import causal
    from wug.models._spec import ModelSpec
    from wug.types import Request

    scorer = causal.load(ModelSpec("causal", model, options={"device": device, "dtype": dtype}))
    return lambda texts: [scored.logprob() for scored in scorer.score([Request(text) for text in texts])]


def lm_eval(model: str, device: str, dtype: str, batch: int) -> Score:
    """lm-eval's Hugging Face model, sentences after the start mark, as its BLiMP task asks them."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    scorer = HFLM(pretrained=model, device=device, dtype=dtype, batch_size=batch)

    def score(texts: list[str]) -> list[float]:
        requests = [
            Instance(request_type="loglikelihood", doc={}, arguments=("", text), idx=i) for i, text in enumerate(texts)
        ]
        return [value for value, _ in scorer.loglikelihood(requests, disable_tqdm=True)]

    return score


def minicons(model: str, device: str, dtype: str, batch: int) -> Score:
    """The scorer of minicons for causal models, in batches."""
    import torch
    from minicons.scorer import IncrementalLMScorer

    scorer = IncrementalLMScorer(model, device, dtype=getattr(torch, dtype))

    def score(texts: list[str]) -> list[float]:
        found: list[float] = []
        for first in range(0, len(texts), batch):
            some = texts[first : first + batch]
            found += scorer.sequence_score(some, bos_token=True, reduction=lambda x: x.sum(0).item())
        return found

    return score


def main() -> None:
    """Load, time, and write seconds (on a GPU of the first pass and of a second), scores and peak memory."""
    name, model, source, out, device, dtype, batch = sys.argv[1:]
    logging.disable(logging.WARNING)
    texts: list[str] = json.loads(Path(source).read_text(encoding="utf-8"))
    score = {"wug": wug, "lm-eval": lm_eval, "minicons": minicons}[name](model, device, dtype, int(batch))
    import torch

    first = 0.0
    if device.startswith("cuda"):
        # The first pass is the one that users have: kernels are chosen, memory is taken.
        start = time.perf_counter()
        score(texts)
        first = time.perf_counter() - start
    else:
        score(texts[:8])

    if device.startswith("cuda"):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start, used = time.perf_counter(), time.process_time()
    scores = score(texts)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    result: dict[str, Any] = {"seconds": first or seconds, "again": seconds, "cpu": cpu, "scores": scores}
    result["memory"] = (
        torch.cuda.max_memory_allocated()
        if device.startswith("cuda")
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    Path(out).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
