"""Compare wug's mean effects with plain transformers and numpy: `effect_parity.py SUITES [--model FOLDER]`.

For every SyntaxGym suite (JSON) of a folder, sentences are scored with transformers, regions are summed, and formulas
are evaluated by Python itself after text replacement. Means, standardised effects, names (effect or interaction) and
bootstrap-t intervals from explicit samples are compared with those of `wug.run`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import wug
from wug.evaluation.models import builtin_models

TOLERANCE = 1e-4
"""Bits, or a proportion of values above 1 bit; single sentences and prefix trees differ by rounding in float32."""
ATOM = r"\((\d+);%([^%]+)%\)"
DIFFERENCE = rf"\({ATOM}-{ATOM}\)"
FIELDS = {"value": 1, "standardised": 1, "low": 10, "high": 10, "n": 1}
"""How many times the tolerance each may differ: bootstrap-t divides by the deviation of a sample, which is small."""


@dataclass(frozen=True, slots=True)
class MeanEffect:
    """What wug reports for one inequality of a prediction, over all items."""

    value: float
    standardised: float | None
    low: float | None
    high: float | None
    n: int


class PlainModel:
    """A causal model of transformers without padding, windows or prefix trees."""

    def __init__(self, folder: str | Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def score(self, texts: Iterable[str]) -> dict[str, list[tuple[int, float]]]:
        """For each text, the start of each token and its surprisal in bits; texts of equal length in one batch."""
        by_length: dict[int, list[tuple[str, list[int], list[int]]]] = defaultdict(list)
        for text in dict.fromkeys(texts):
            read = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            starts = [
                start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in read.offset_mapping
            ]
            by_length[len(starts)].append((text, [self.tokenizer.bos_token_id, *read.input_ids], starts))
        found = {}
        for alike in by_length.values():
            ids = torch.tensor([one for _, one, _ in alike])
            with torch.no_grad():
                logprobs = self.network(ids).logits[:, :-1].double().log_softmax(-1).gather(2, ids[:, 1:, None])
            for (text, _, starts), row in zip(alike, logprobs.squeeze(2).tolist(), strict=True):
                found[text] = [(start, -value / math.log(2)) for start, value in zip(starts, row, strict=True)]
        return found


def sentence(condition: Mapping[str, Any]) -> tuple[str, list[int]]:
    """The text of a condition, its regions joined by spaces, and where each region begins."""
    text, starts = "", []
    for region in sorted(condition["regions"], key=lambda one: int(one["region_number"])):
        content = region["content"].strip()
        starts.append(len(text) + bool(text and content))
        text += f" {content}" if text and content else content
    return text, starts


def item_regions(
    item: Mapping[str, Any], scores: Mapping[str, list[tuple[int, float]]]
) -> dict[tuple[int, str], float]:
    """The surprisal of each region of an item in bits, by number and condition."""
    found = {}
    for condition in item["conditions"]:
        text, starts = sentence(condition)
        ends = [*starts[1:], len(text) + 1]
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
            inside = [bits for place, bits in scores[text] if start <= place < end]
            found[number, condition["condition_name"]] = math.fsum(inside)
    return found


def conjuncts(formula: str) -> list[str]:
    """The inequalities of a formula, without the brackets around them."""
    found = []
    for part in re.sub(r"\s", "", formula).replace("[", "(").replace("]", ")").split("&"):
        while part[0] == "(" and part[-1] == ")" and _depths(part[1:-1]).min() >= 0:
            part = part[1:-1]
        if re.search("[<>]", part):
            found.append(part)
    return found


def _depths(text: str) -> NDArray[np.int64]:
    return np.cumsum([(character == "(") - (character == ")") for character in text])


def evaluate(part: str, regions: Mapping[tuple[int, str], float]) -> float:
    """The larger side of an inequality minus the smaller one."""
    left, sign, right = re.split("([<>])=?", re.sub(ATOM, lambda m: f"({regions[int(m[1]), m[2]]!r})", part))
    return float(eval(right) - eval(left)) * (1 if sign == "<" else -1)  # of a published formula, numbers only


def is_interaction(part: str) -> bool:
    """Whether both sides are differences, of four conditions together."""
    found = re.fullmatch(rf"{DIFFERENCE}[<>]=?{DIFFERENCE}", part)
    return found is not None and len({found[2], found[4], found[6], found[8]}) == 4


def mean_effect(values: NDArray[np.float64], samples: int = 9_999) -> MeanEffect:
    """The mean of a difference per item with its bootstrap-t interval, from explicit samples of items."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return MeanEffect(mean, None, None, None, n)
    spread = float(values.std(ddof=1))
    drawn = values[np.random.default_rng(0).integers(0, n, (samples, n))]
    with np.errstate(divide="ignore"):  # a sample of one item, drawn again and again
        studentised = np.sort((drawn.mean(axis=1) - mean) / (drawn.std(axis=1, ddof=1) / math.sqrt(n)))
    upper, lower = (studentised[math.ceil(share * samples) - 1] for share in (0.025, 0.975))
    error = spread / math.sqrt(n)
    return MeanEffect(mean, mean / spread, mean - lower * error, mean - upper * error, n)


def by_numpy(suite: Mapping[str, Any], model: PlainModel, items: Sequence[str] | None = None) -> dict[str, MeanEffect]:
    """The effects of a suite by name, over all items or those with the given numbers."""
    chosen = [item for item in suite["items"] if items is None or str(item["item_number"]) in items]
    scores = model.score(sentence(condition)[0] for item in chosen for condition in item["conditions"])
    regions = [item_regions(item, scores) for item in chosen]
    found = {}
    for number, prediction in enumerate(suite["predictions"]):
        parts = conjuncts(prediction["formula"])
        for letter, part in zip("abcdef", parts, strict=False):
            name = f"{'interaction' if is_interaction(part) else 'effect'}_{number}{letter if len(parts) > 1 else ''}"
            found[name] = mean_effect(np.array([evaluate(part, one) for one in regions]))
    return found


def by_wug(result: wug.Result) -> dict[str, MeanEffect]:
    """The effects that wug reports, by name."""
    whole = {one.metric: one for one in result.estimates if one.group == "all"}
    found = {}
    for name, one in whole.items():
        if re.match("effect|interaction", name):
            standardised = whole.get(f"standardised_{name}")
            value = None if standardised is None else standardised.value
            found[name] = MeanEffect(one.value, value, one.low, one.high, one.n)
    return found


def difference(one: Mapping[str, MeanEffect], other: Mapping[str, MeanEffect]) -> float:
    """The largest difference between two sets of effects; infinite if not both have a value."""
    if one.keys() != other.keys():
        return math.inf
    largest = 0.0
    for name in one:
        for field, times in FIELDS.items():
            first, second = getattr(one[name], field), getattr(other[name], field)
            if (first is None) != (second is None):
                return math.inf
            largest = max(largest, 0.0 if first is None else abs(first - second) / max(1.0, abs(first)) / times)
    return largest


def main() -> None:
    """Print the largest difference per suite; exit 1 if one is larger than the tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", type=Path, help="a folder of SyntaxGym suites as JSON")
    parser.add_argument("--model", type=Path, default=Path(str(builtin_models()["wug-causal"])))
    given = parser.parse_args()
    plain, model = PlainModel(given.model), wug.open_model(given.model)
    found: list[float] = []
    effects: list[str] = []
    for path in sorted(given.suites.glob("*.json")):
        expected = by_numpy(json.loads(path.read_text(encoding="utf-8")), plain)
        effects += expected
        found.append(difference(expected, by_wug(wug.run(path, model)[0])))
        print(f"{path.stem:24} {len(expected)} effects, largest difference {found[-1]:.1e} bits", flush=True)
    interactions = sum(name.startswith("interaction") for name in effects)
    print(f"{len(found)} suites, {len(effects)} effects ({interactions} interactions): {max(found):.1e} bits")
    raise SystemExit(max(found) > TOLERANCE)


if __name__ == "__main__":
    main()
