"""Protocols: the options that they set, and what they change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import refused, wug
from wug.evaluation.request import RunRequest
from wug.evaluation.service import execute
from wug.outcomes import Result

PAIRS = '{"sentence_good": "The cats sleep.", "sentence_bad": "The cats sleeps now."}\n'


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    (tmp_path / "pairs.jsonl").write_text(PAIRS)
    return tmp_path / "pairs.jsonl"


def run(suite: Path, model: object, protocol: str | None) -> Result:
    [result] = execute(RunRequest(suites=[suite], models=[str(model)], protocol=protocol)).results
    return result


def summed(folder: Path, text: str, first: int | None) -> float:
    """The log-probability of a text by transformers alone, after a token or without its first token."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer.encode(text, add_special_tokens=False)
    ids = ids if first is None else [first, *ids]
    with torch.no_grad():
        logprobs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
    return float(sum(logprobs[place, token] for place, token in enumerate(ids[1:])))


def test_lm_eval_scores_a_space_and_the_sentence_after_bos(pairs: Path, tiny_causal: Callable[..., Path]) -> None:
    from transformers import AutoTokenizer

    folder = tiny_causal()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    outcome = run(pairs, f"causal:{folder}", "lm-eval").outcomes[0]
    assert outcome.detail["logprob_good"] == pytest.approx(summed(folder, " The cats sleep.", first), abs=1e-4)
    assert outcome.detail["logprob_bad"] == pytest.approx(summed(folder, " The cats sleeps now.", first), abs=1e-4)


def test_minicons_compares_means_over_tokens_without_a_bos_token(pairs: Path, tiny_causal: Callable[..., Path]) -> None:
    from transformers import AutoTokenizer

    folder = tiny_causal()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.encode("a") == tokenizer.encode("a", add_special_tokens=False)
    outcome = run(pairs, f"causal:{folder}", "minicons").outcomes[0]
    text = "The cats sleep."
    scored = len(tokenizer.encode(text)) - 1
    assert outcome.detail["score_good"] == pytest.approx(summed(folder, text, None) / scored, abs=1e-4)


def test_options_that_the_user_gives_come_first(pairs: Path) -> None:
    request = RunRequest(
        suites=[pairs], models=["wug-causal"], protocol="lm-eval", suite_options={"ties": "error"},
        model_options={"bos": "no"},
    )  # fmt: skip
    [result] = execute(request).results
    assert result.signature.get("bos") == "no"
    assert result.signature.get("ties") is None
    assert result.signature.get("protocol") == "lm-eval-0.4"


def test_unknown_protocols_and_unsupported_backends_and_families_are_refused(pairs: Path) -> None:
    refused(wug("run", pairs, "--protocol", "lmeval", "--no-save"), "lmeval", "lm-eval")
    refused(wug("run", pairs, "--protocol", "lm-eval", "--model", "wug-lstm", "--no-save"), "lm-eval", "bos")
    refused(wug("run", "wug_agreement_pp", "--protocol", "lm-eval", "--no-save"), "no rules", "syntaxgym")


def test_compare_shows_what_the_protocol_changes_on_a_model(pairs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for protocol in ("wug", "lm-eval", "minicons"):
        wug("run", pairs, "--protocol", protocol, "--model", "wug-causal", "--store", store, "--no-cache")
    rows = json.loads(wug("compare", "--protocols", 1, 2, 3, "--store", store, "--format", "json").out)
    assert [row["protocol"] for row in rows] == ["wug", "lm-eval-0.4", "minicons-0.3"]
    assert [row["shared_items"] for row in rows] == [1, 1, 1]
    assert "bos:lm-eval" in rows[1]["rules"]
    assert rows[1]["rules"] in wug("compare", "--protocols", 1, 2, 3, "--store", store).out
    refused(wug("compare", "--protocols", 1, "--store", store), "one protocol")


def test_protocols_are_compared_suite_by_suite(pairs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for protocol in ("wug", "lm-eval"):
        wug("run", pairs, "wug_places", "--limit", 6, "--protocol", protocol, "--store", store, "--no-cache")
    first, *rows = json.loads(wug("compare", "--protocols", 1, 2, "--store", store, "--format", "json").out)
    assert [(row["suite"], row["run"], row["shared_items"]) for row in rows] == [
        (first["suite"], 2, 1),
        ("wug_places", 1, 6),
        ("wug_places", 2, 6),
    ]
