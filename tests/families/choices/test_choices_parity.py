"""Judgements of choices compared with a plain loop over log p(option | context) with transformers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tiny
import tiny_masked
from wug.evaluation.models import open_model
from wug.families import choices
from wug.outcomes import Outcome

torch = pytest.importorskip("torch")

Loop = Callable[[str, str], float]
"""log p(option | context)."""
SHAPES = ("ewok", "comps", "entity-tracking", "table")


def lines(shape: str, count: int) -> list[dict[str, Any]]:
    """Rows of each format, of sentences with the same and with different beginnings."""
    draw = random.Random(shape)
    made = tiny.sentences(8 * count, seed=draw.randint(0, 99))
    found: list[dict[str, Any]] = []
    for number in range(count):
        a, b, c, d, e, f, *_ = made[8 * number :]
        contexts, options = [f"{a} {b}", f"{c} {d}"], [e, f"{f} {a}", c, f"{d} 3"]
        made_up: dict[str, dict[str, Any]] = {
            "ewok": {"Context1": contexts[0], "Context2": contexts[1], "Target1": e, "Target2": f, "Domain": "x"},
            "comps": {"prefix_acceptable": contexts[0], "prefix_unacceptable": contexts[1], "property_phrase": e},
            "entity-tracking": {
                "input_prefix": contexts[0],
                "options": [f" {option}" for option in options],
                "numops": number % 3,
            },
            # With white space behind the context in every second row.
            "table": {
                "context": contexts[0] + " " * (number % 2),
                "options": options[: 2 + number % 3],
                "answer": 2,
            },
        }
        found.append(made_up[shape])
    return found


def candidates(shape: str, line: dict[str, Any]) -> list[tuple[list[tuple[str, str]], int]]:
    """The items of a row as contexts with options, and the place of the right one: worked out by hand."""
    match shape:
        case "ewok":
            c1, c2, t1, t2 = (line[key] for key in ("Context1", "Context2", "Target1", "Target2"))
            return [([(c1, t1), (c2, t1)], 0), ([(c1, t2), (c2, t2)], 1)]
        case "comps":
            right, wrong, phrase = line["prefix_acceptable"], line["prefix_unacceptable"], line["property_phrase"]
            return [([(right, phrase), (wrong, phrase)], 0)]
        case "entity-tracking":
            return [([(line["input_prefix"], option.strip()) for option in line["options"]], 0)]
    return [([(line["context"].rstrip(), option) for option in line["options"]], line["answer"] - 1)]


def causal_loop(folder: Path) -> Loop:
    """One option after the other: what the text has more tokens than its context is the option."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()

    def logprob(context: str, option: str) -> float:
        ids = tokenizer(f"{context} {option}", add_special_tokens=False).input_ids
        given = len(tokenizer(context, add_special_tokens=False).input_ids)
        with torch.no_grad():
            logits = model(torch.tensor([[tokenizer.bos_token_id, *ids]])).logits[0].log_softmax(-1)
        return float(sum(logits[place, ids[place]] for place in range(given, len(ids))))

    return logprob


def masked_loop(folder: Path) -> Loop:
    """Every token of the option with itself and all that follow masked, given the context."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()

    def logprob(context: str, option: str) -> float:
        ids = tokenizer(f"{context} {option}").input_ids
        given = len(tokenizer(context).input_ids) - 1  # but for the mark at the end
        total = 0.0
        for place in range(given, len(ids) - 1):
            shown = [*ids[:place], *[tokenizer.mask_token_id] * (len(ids) - 1 - place), ids[-1]]
            with torch.no_grad():
                total += float(model(torch.tensor([shown])).logits[0, place].log_softmax(-1)[ids[place]])
        return total

    return logprob


MODELS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Loop], str]] = {
    "byte-level": (lambda folder: tiny.save_causal(folder), causal_loop, "causal"),
    "metaspace": (
        lambda folder: tiny.save_causal(folder, "llama", tokenizer=tiny.metaspace_tokenizer()),
        causal_loop,
        "causal",
    ),
    "word pieces": (lambda folder: tiny_masked.save_masked(folder), masked_loop, "masked"),
}


@pytest.fixture(scope="module", params=MODELS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Loop]:
    save, loop, kind = MODELS[request.param]
    folder = save(tmp_path_factory.mktemp("model"))
    return open_model(f"{kind}:{folder}", {"device": "cpu"}), loop(folder)


@pytest.mark.parametrize("shape", SHAPES)
def test_verdicts_are_those_of_a_plain_loop(asked: tuple[Any, Loop], shape: str, tmp_path: Path) -> None:
    model, loop = asked
    rows = lines(shape, 8)
    path = tmp_path / "items.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (suite,) = choices.read(path, {})
    found = [row for row in suite.run(model) if isinstance(row, Outcome)]
    expected = [item for row in rows for item in candidates(shape, row)]
    assert len(found) == len(expected)
    for outcome, (options, right) in zip(found, expected, strict=True):
        scores = [loop(context, option) for context, option in options]
        assert outcome.detail["logprobs"] == pytest.approx(scores, abs=1e-3)
        assert outcome.value is (max(range(len(scores)), key=scores.__getitem__) == right)


def test_white_space_behind_a_context_changes_nothing(asked: tuple[Any, Loop], tmp_path: Path) -> None:
    model, _ = asked
    path = tmp_path / "items.jsonl"
    options = ["saw a boy", "swims quickly"]
    shapes = [("the tall girl", options), ("the tall girl ", options), ("the tall girl", [f" {o}" for o in options])]
    rows = [{"context": context, "options": given, "answer": 1} for context, given in shapes]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (suite,) = choices.read(path, {})
    first, *others = [row.detail["logprobs"] for row in suite.run(model) if isinstance(row, Outcome)]
    assert others == [first, first]
