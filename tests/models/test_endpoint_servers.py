"""Answers in the shapes of named versions of vLLM and SGLang, as `server_answers` has them.

Every field is what the version's response models declare; texts and numbers are made up. A version that writes tokens
in another way gets a separate file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fake_completions import FakeServer, Rule, by_rule, listed, serving
from wug.errors import ModelError
from wug.models import endpoint
from wug.models.endpoint import EndpointScorer
from wug.models.spec import ModelSpec
from wug.requests import Request, Scored

FILES = sorted((Path(__file__).parent / "server_answers").glob("*.json"))
Answers = Callable[[dict[str, Any]], Any]


def scorer(server: FakeServer, server_software: str) -> EndpointScorer:
    server.models = {"object": "list", "data": [{"id": "tiny", "root": "/models/tiny", "owned_by": server_software}]}
    model = endpoint.load(ModelSpec("endpoint", server.address, options={"retries": "0"}))
    assert isinstance(model, EndpointScorer)
    return model


def probed(kept: dict[str, Any]) -> Answers:
    """A server that answers probes by the rule, in the file's way of asking, and the file's texts as the file has."""
    wanted = {one["text"]: one["answer"] for one in kept["answers"]}
    rule = Rule(offsets=kept["owned_by"] != "sglang")

    def answer(body: dict[str, Any]) -> Any:
        if "echo" in body and not kept["asked"].get("echo"):
            return 400, {"error": {"message": "echo is not supported", "type": "BadRequestError", "code": 400}}
        if body["prompt"] in wanted:
            assert {name: body[name] for name in kept["asked"]} == kept["asked"]
            return wanted[body["prompt"]]
        return listed(by_rule(body["prompt"])) if "prompt_logprobs" in body else rule(body)

    return answer


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_answers_of_a_named_version_are_read(file: Path) -> None:
    kept = json.loads(file.read_text(encoding="utf-8"))
    with serving(probed(kept)) as server:
        model = scorer(server, kept["owned_by"])
        assert model.options == {"bos": "no"}
        for one in kept["answers"]:
            text, expected = one["text"], one["expected"]
            if expected is None:  # the first token is a part of a character, and prompt_logprobs does not show it
                with pytest.raises(ModelError, match=f"for '{text}' cannot be used: its first token has no text"):
                    model.score([Request(text)])
            else:
                starts, ends, values = zip(*expected, strict=True)
                assert model.score([Request(text)]) == [Scored(text, starts, ends, values)]


def choice(logprobs: Any, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": " more", "logprobs": logprobs, "finish_reason": "length", **more}]}


def written_only(tokens: list[str], values: list[float | None]) -> dict[str, Any]:
    return {"tokens": tokens, "token_logprobs": values, "text_offset": [-1] * len(tokens), "top_logprobs": []}


GATEWAY = "ask it itself, not a gateway before it"


@pytest.mark.parametrize(
    ("server_software", "answer", "reason", "remedy"),
    [
        ("vllm", choice(None, prompt_logprobs=None), "no log-probabilities of tokens", f"vLLM gives them.*{GATEWAY}"),
        ("vllm", choice(None), "no log-probabilities of tokens", f"vLLM gives them.*{GATEWAY}"),
        (
            "vllm",
            (400, {"error": {"message": "Requested sample logprobs of 1, which is greater than max allowed: 0"}}),
            "max allowed: 0",
            "--max-logprobs 1 or more",
        ),
        ("vllm", choice(None, prompt_logprobs=[None, None, None]), "None for token 2", f"vLLM gives.*{GATEWAY}"),
        ("sglang", choice(written_only([" more"], [-0.5])), "' more'", f"SGLang gives them.*{GATEWAY}"),
        ("sglang", choice(None), "no log-probabilities of tokens", f"SGLang gives them.*{GATEWAY}"),
        (
            "llamacpp",
            choice({"content": [{"id": 1, "token": " more", "logprob": -0.5, "top_logprobs": []}]}),
            "no log-probabilities of tokens",
            r"llama-server does not give them: use llama-cpp-python.*causal:FILE\.gguf",
        ),
        ("", choice(None), "no log-probabilities of tokens", "vLLM and SGLang give them.*servers that only chat"),
    ],
    ids=[
        "vLLM 0.27.1 with null",
        "vLLM 0.27.1 with the field left out",
        "vLLM 0.27.1 with --max-logprobs 0",
        "vLLM 0.27.1 with null for every token",
        "SGLang 0.5.18 with what it wrote alone",
        "SGLang 0.5.18 with null",
        "llama-server",
        "a server that does not say what it is",
    ],
)
def test_a_server_that_leaves_out_the_prompt_is_refused_with_its_name_and_a_remedy(
    server_software: str, answer: Any, reason: str, remedy: str
) -> None:
    with serving(lambda body: answer) as server, pytest.raises(ModelError) as refused:
        scorer(server, server_software)
    refused.match(f"^{server.address}: 'tiny' gives no usable log-probabilities of a prompt .*{reason}.*{remedy}")
    refused.match("For suites that ask for text: -M mode=generate$")


def test_the_number_that_vllm_writes_for_a_probability_of_nought_is_no_score() -> None:
    def answer(body: dict[str, Any]) -> Any:
        found = Rule()(body)
        if body["prompt"] == "The dogs":
            found["choices"][0]["logprobs"]["token_logprobs"][1] = -9999.0
        return found

    with serving(answer) as server:
        model = scorer(server, "vllm")
        with pytest.raises(ModelError, match=r"for 'The dogs' cannot be used: it has -9999\.0 for a log-prob"):
            model.score([Request("The dogs")])


def test_logits_in_the_place_of_log_probabilities_are_found_out() -> None:
    """GPT-2's logits are all far below 0, so that none of them looks wrong by itself."""

    def answer(body: dict[str, Any]) -> Any:
        found = Rule()(body)
        values = found["choices"][0]["logprobs"]["token_logprobs"]
        values[:] = [None if value is None else value - 40 for value in values]
        return found

    with (
        serving(answer) as server,
        pytest.raises(ModelError, match=r"not a log-probability.*--logprobs-mode raw_logits"),
    ):
        scorer(server, "vllm")
