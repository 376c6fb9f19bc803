"""One scorer's run over a file of sentences, in a separate process: `peers.py NAME MODEL SENTENCES OUT DEVICE`."""

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
    from wug.models.spec import ModelSpec
    from wug.requests import Request

    scorer = causal.load(ModelSpec("causal", model, options={"device": device, "dtype": dtype}))
    return lambda texts: scorer.score([Request(text) for text in texts]).sums()


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


def plain(model: str, device: str, dtype: str, batch: int) -> Score:
    """A separate loop that does what lm-eval's HFLM (0.4.13) does, for machines without it: not lm-eval itself.

    Texts are tokenised one by one, sorted by length, the longest first, and padded on the right; all logits are put
    through log_softmax at once; each row is sliced, compared with its greedy tokens and gathered by itself.
    """
    import torch
    from torch.nn.functional import log_softmax
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype)).to(device).eval()
    start = [tokenizer.bos_token_id]

    def score(texts: list[str]) -> list[float]:
        tokens = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        order = sorted(range(len(tokens)), key=lambda place: (-len(tokens[place]), tokens[place]))
        found = [0.0] * len(texts)
        for first in range(0, len(order), batch):
            places = order[first : first + batch]
            rows = [torch.tensor((start + tokens[place])[:-1], dtype=torch.long, device=device) for place in places]
            inputs = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
            with torch.no_grad():
                logprobs = log_softmax(network(inputs).logits, dim=-1)
            for place, row in zip(places, logprobs, strict=True):
                wanted = torch.tensor(tokens[place], dtype=torch.long, device=device)
                row = row[: len(wanted)]
                bool((row.argmax(dim=-1) == wanted).all())
                found[place] = float(torch.gather(row, 1, wanted[:, None]).sum())
        return found

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


def _pass(score: Score, texts: list[str]) -> dict[str, Any]:
    """Seconds, processor time with the system's part of it, and scores, of one go at all texts."""
    system = resource.getrusage(resource.RUSAGE_SELF).ru_stime
    start, used = time.perf_counter(), time.process_time()
    scores = score(texts)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    system = resource.getrusage(resource.RUSAGE_SELF).ru_stime - system
    return {"seconds": seconds, "cpu": cpu, "system": system, "scores": scores}


def main() -> None:
    """Load, time, and write seconds (on a GPU of the first pass and, of wug, of a second), scores and peak memory."""
    name, model, source, out, device, dtype, batch = sys.argv[1:]
    logging.disable(logging.WARNING)
    texts: list[str] = json.loads(Path(source).read_text(encoding="utf-8"))
    peers = {"wug": wug, "lm-eval": lm_eval, "plain": plain, "minicons": minicons}
    score = peers[name](model, device, dtype, int(batch))
    import torch

    gpu = device.startswith("cuda")
    if not gpu:
        score(texts[:8])
    # On a GPU the first pass is the one that users have: kernels are chosen, memory is taken.
    result = _pass(score, texts)
    result["again"] = _pass(score, texts)["seconds"] if gpu and name == "wug" else result["seconds"]
    result["memory"] = (
        torch.cuda.max_memory_allocated() if gpu else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    Path(out).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
