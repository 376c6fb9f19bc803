"""Judgements whose margin is within the rounding noise of a model are counted."""

from __future__ import annotations

import math
from pathlib import Path

import wug
from fake_models import FakeScorer, text_scores
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.evaluate import evaluate
from wug.evaluation.handle import ModelHandle

PAIRS = [{"sentence_good": f"good {n}", "sentence_bad": f"bad {n}"} for n in range(5)]
MARGINS = (0.1, -0.2, 0.27, 0.3, -4.0)
"""In nats."""
NOISE = 0.1
"""Two standard deviations of a difference are 2 * sqrt(2) * 0.1 = 0.283 nats: three of the margins are within."""


def logprob(text: str) -> float:
    kind, number = text.split()
    return -10.0 + (MARGINS[int(number)] if kind == "good" else 0.0)


class RoundingScorer(FakeScorer):
    """A model in half precision."""

    def __init__(self, noise: float | None) -> None:
        super().__init__(text_scores(logprob), "causal/rounding@1", {"dtype": "bfloat16"})
        self.noise = noise


def warnings(model: ModelHandle, cache: Cache) -> tuple[str, ...]:
    (result,) = evaluate([wug.read_suite(PAIRS)], CachedModel(model, cache))
    return result.warnings


def test_judgements_within_the_noise_are_counted_also_from_the_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.db")
    (told,) = warnings(ModelHandle.from_loaded(RoundingScorer(NOISE)), cache)
    assert told.startswith("3 of 5 judgements are within the rounding noise of bfloat16")
    assert f"differs by {NOISE / math.log(2):.2g} bits" in told
    assert warnings(ModelHandle.from_loaded(RoundingScorer(None)), cache) == (told,)  # as measured when it was computed
    cache.close()


def test_a_model_without_noise_has_no_such_warning(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache.db")
    assert warnings(ModelHandle.from_loaded(RoundingScorer(None)), cache) == ()
    cache.close()
