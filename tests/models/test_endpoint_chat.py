"""Chats with servers: rendered here, scored in an open turn, by listed tokens, and by generated text."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tiny_chat
from command_line import refused, wug
from fake_completions import FakeServer, Rule, echoed, serving
from wug.errors import ModelError
from wug.evaluation.models import open_model
from wug.models import endpoint
from wug.models.endpoint import EndpointScorer
from wug.models.endpoint.answers import read_chat, read_chat_tokens
from wug.models.spec import ModelSpec
from wug.requests import Chat, Request

pytestmark = pytest.mark.usefixtures("waits")
USER = (("user", "Write one sentence."),)
PAIRS = (("the boy swims .", "the boy swim ."), ("the authors see that girl .", "the authors sees that girl ."))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat.save(tmp_path_factory.mktemp("served") / "m", tiny_chat.QWEN)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({"sentence_good": good, "sentence_bad": bad}) + "\n" for good, bad in PAIRS))
    return path


class Served:
    """A model behind both routes, computed by transformers alone."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder).eval()
        self.lock = threading.Lock()
        self.extra: list[int] = []
        """Tokens that the server puts before every prompt."""
        self.top = 20

    def values(self, ids: list[int]) -> Any:
        import torch

        with self.lock, torch.inference_mode():
            return self.model(torch.tensor([ids])).logits[0].log_softmax(-1)

    def completions(self, body: dict[str, Any]) -> Any:
        given = body["prompt"]
        ids = given if isinstance(given, list) else self.tokenizer(given, add_special_tokens=False)["input_ids"]
        ids = [*self.extra, *ids]
        values = self.values(ids)
        texts = [self.tokenizer.decode([token]) for token in ids]
        if body.get("echo"):
            picked = [float(values[place, token]) for place, token in enumerate(ids[1:])]
            return echoed(list(zip(texts, [None, *picked], strict=True)))
        best = int(values[-1].argmax())
        return echoed([(self.tokenizer.decode([best]), float(values[-1, best]))])

    def chat(self, body: dict[str, Any]) -> Any:
        is_open = body.get("continue_final_message", False)
        rendered = self.tokenizer.apply_chat_template(
            body["messages"], tokenize=False, add_generation_prompt=not is_open, continue_final_message=is_open
        )
        ids = self.tokenizer(rendered, add_special_tokens=False)["input_ids"]
        values = self.values(ids)
        found: dict[str, Any] = {"usage": {"prompt_tokens": len(ids)}}
        best = values[-1].argsort(descending=True)[: self.top].tolist()
        named = [{"token": self.tokenizer.decode([token]), "logprob": float(values[-1, token])} for token in best]
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": named[0]["token"]}}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [{**named[0], "top_logprobs": named}]}
        if "prompt_logprobs" in body:
            found["prompt_logprobs"] = [None] + [
                {str(token): {"logprob": float(values[place, token]), "decoded_token": self.tokenizer.decode([token])}}
                for place, token in enumerate(ids[1:])
            ]
        return {**found, "choices": [choice]}


@pytest.fixture
def served(folder: Path) -> Iterator[tuple[FakeServer, Served]]:
    model = Served(folder)
    with serving(model.completions) as server:
        server.chat = model.chat
        yield server, model


def no_prompts(body: dict[str, Any]) -> Any:
    """A host without completions."""
    return 404, {"error": {"message": "no such route"}}


def scorer(server: FakeServer, **options: str) -> EndpointScorer:
    model = endpoint.load(ModelSpec("endpoint", server.address, options={"retries": "0", **options}))
    assert isinstance(model, EndpointScorer)
    return model


def own(folder: Path, *requests: Request) -> list[float]:
    return [scored.logprob() for scored in open_model(f"causal:{folder}").score(requests)]


SENTENCES = [Request(text, chat=USER) for pair in PAIRS for text in pair]
LABELS = [Request(label, chat=Chat((("user", "A or B?"),), answers=True)) for label in "AB"]


def test_a_chat_that_is_rendered_here_has_the_scores_of_the_model_itself(
    served: tuple[FakeServer, Served], folder: Path
) -> None:
    model = scorer(served[0], tokenizer=str(folder))
    found = model.score([*SENTENCES, *LABELS])
    assert [one.logprob() for one in found] == pytest.approx(own(folder, *SENTENCES, *LABELS), abs=1e-4)
    assert [one.text for one in found] == [request.text for request in (*SENTENCES, *LABELS)]
    assert (found[0].starts[0], found[0].ends[-1]) == (0, len(PAIRS[0][0]))
    assert all(isinstance(body["prompt"], list) for body in served[0].asked[-6:])


def test_a_server_that_adds_a_start_token_to_a_rendered_chat_is_refused(
    served: tuple[FakeServer, Served], folder: Path
) -> None:
    model = scorer(served[0], tokenizer=str(folder))
    served[1].extra = [served[1].tokenizer.bos_token_id]
    with pytest.raises(ModelError, match="second BOS token"):
        model.score(SENTENCES)


def test_a_server_that_scores_open_turns_gives_the_scores_of_the_model_itself(
    served: tuple[FakeServer, Served], folder: Path
) -> None:
    model = scorer(served[0])
    model.chat.check(SENTENCES)
    assert [one.logprob() for one in model.score(SENTENCES)] == pytest.approx(own(folder, *SENTENCES), abs=1e-4)
    assert served[0].asked[-1]["continue_final_message"] is True


def test_a_text_after_a_plain_text_is_scored_without_it(served: tuple[FakeServer, Served], folder: Path) -> None:
    chat = Chat((("text", "Here is one:\n\n"),), plain=True)
    (found,) = scorer(served[0], bos="<|endoftext|>").score([Request("the boy .", chat=chat)])
    assert found.logprob() == pytest.approx(own(folder, Request("the boy .", chat=chat))[0], abs=1e-4)


def test_labels_are_looked_up_among_the_likeliest_tokens(served: tuple[FakeServer, Served], folder: Path) -> None:
    served[0].answer = no_prompts
    served[1].top = 10**6
    model = scorer(served[0])
    model.chat.check(LABELS)
    asked = len(served[0].asked)
    assert [one.logprob() for one in model.score(LABELS)] == pytest.approx(own(folder, *LABELS), abs=1e-4)
    assert len(served[0].asked) == asked + 1  # both labels of a question
    served[1].top = 1
    assert [one.logprobs for one in model.score(LABELS)] == [(None,), (None,)]


def test_a_host_that_only_chats_cannot_score_sentences(served: tuple[FakeServer, Served]) -> None:
    def without_prompts(body: dict[str, Any]) -> Any:
        if "prompt_logprobs" in body:
            return 400, {"error": {"message": "Unrecognized request argument: prompt_logprobs"}}
        return served[1].chat(body)

    served[0].answer, served[0].chat = no_prompts, without_prompts
    model = scorer(served[0])
    with pytest.raises(ModelError, match=r"cannot score a text in a chat .*Unrecognized.*forced_choice or yes_no"):
        model.chat.check(SENTENCES)
    with pytest.raises(ModelError, match=r"no usable log-probabilities of a prompt.*forced_choice, yes_no"):
        model.score([Request("the boy .")])
    model.chat.check(LABELS)


def test_open_turns_whose_values_are_not_those_of_written_tokens_are_refused(served: tuple[FakeServer, Served]) -> None:
    def cooled(body: dict[str, Any]) -> Any:
        found = served[1].chat(body)
        for one in found["choices"][0].get("logprobs", {"content": []})["content"]:
            for entry in one["top_logprobs"]:
                entry["logprob"] *= 0.8
        return found

    served[0].chat = cooled
    with pytest.raises(ModelError, match="log-probabilities agree with those of the tokens"):
        scorer(served[0]).chat.check(SENTENCES)


def test_a_server_that_gives_first_tokens_no_log_probability_cannot_score_sentences(
    served: tuple[FakeServer, Served],
) -> None:
    def unlisted(body: dict[str, Any]) -> Any:
        found = served[1].chat(body)
        for one in found["choices"][0].get("logprobs", {"content": []})["content"]:
            for entry in (one, *one["top_logprobs"]):
                entry["logprob"] = -9999.0
        return found

    served[0].chat = unlisted
    with pytest.raises(ModelError, match=r"cannot score a text in a chat \(only 0 of 0 log-probabilities agree"):
        scorer(served[0]).chat.check(SENTENCES)


def test_an_answer_after_nothing_that_cannot_be_used_is_an_error() -> None:
    with serving(no_prompts) as server:
        server.chat = lambda body: {"choices": []}
        with pytest.raises(ModelError, match="the response for '' cannot be used"):
            scorer(server).score([Request("", chat=Chat(()), generate=3)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda value, n: value + 9, "are not log-probabilities|is not a log-probability"),
        (lambda value, n: value - n / 3, "changes from"),
        (lambda value, n: value - 90, "are not log-probabilities"),
    ],
)
def test_lists_of_tokens_that_cannot_be_trusted_are_refused(
    served: tuple[FakeServer, Served], change: Callable[[float, int], float], message: str
) -> None:
    asked = iter(range(10**6))

    def altered(body: dict[str, Any]) -> Any:
        found, n = served[1].chat(body), next(asked)
        for one in found["choices"][0].get("logprobs", {"content": []})["content"]:
            for entry in one["top_logprobs"]:
                entry["logprob"] = change(entry["logprob"], n)
        return found

    served[0].answer, served[0].chat = no_prompts, altered
    with pytest.raises(ModelError, match=message):
        scorer(served[0]).chat.check(LABELS)


def answer(token: str, *named: tuple[str, float]) -> dict[str, Any]:
    listed = [{"token": name, "logprob": value} for name, value in named]
    content = [{"token": token, "logprob": -0.1, "top_logprobs": listed}]
    return {"choices": [{"message": {"content": token}, "logprobs": {"content": content}}]}


def test_a_model_that_thinks_first_is_refused() -> None:
    with serving(no_prompts) as server:
        server.chat = lambda body: answer("<think>", ("<think>", -0.1))
        with pytest.raises(ModelError, match="it thinks before it answers"):
            scorer(server).chat.check(LABELS)


def test_a_floor_is_not_a_log_probability() -> None:
    found = read_chat_tokens(answer("A", ("A", -0.2), ("B", -9999.0)))
    assert found.likeliest == {"A": -0.2}


def test_hosts_without_log_probabilities_answer_with_text(suite: Path) -> None:
    def chat(body: dict[str, Any]) -> Any:
        assert "prompt_logprobs" not in body
        first = body["messages"][-1]["content"].partition("A: ")[2]
        content = "A" if first.startswith("the boy swims") else "I would say B"
        return {"choices": [{"message": {"role": "assistant", "content": content}, "logprobs": None}]}

    with serving(no_prompts) as server:
        server.chat = chat
        given = ("--model", f"endpoint:{server.address}", "-S", "method=forced_choice")
        said = wug("run", suite, *given, "-S", "answer=text", "--format", "json")
        (values,) = said.values
        # "A" is right for the first pair with the good sentence first; all other answers begin with no label.
        assert values["accuracy", "all"] == 1 / 4
        assert values["invalid", "all"] == 3 / 4
        refused(wug("run", suite, *given, "--format", "json"), "no log-probabilities", "-S answer=text")


def test_a_run_by_listed_tokens_counts_what_is_not_listed(suite: Path) -> None:
    def chat(body: dict[str, Any]) -> Any:
        question = body["messages"][-1]["content"]
        if "A: the boy swims" in question:
            return answer("A", ("A", -0.1), ("B", -2.5))
        if "A: the boy swim ." in question:
            return answer("A", ("A", -0.3), ("The", -1.5))
        return answer("The", ("The", -0.3), ("I", -1.5))

    with serving(no_prompts) as server:
        server.chat = chat
        said = wug(
            "run", suite, "--model", f"endpoint:{server.address}", "-S", "method=forced_choice", "--format", "json"
        )
    (values,) = said.values
    assert values["accuracy", "all"] == 1 / 4
    assert values["first_option_rate", "all"] == 2 / 4
    assert values["invalid", "all"] == 2 / 4
    assert ("accuracy_mean_margin", "all") not in values
    (result,) = said.results
    assert any("1 question with one label among the listed tokens" in text for text in result["warnings"])
    assert any("the server renders the chat template" in text for text in result["warnings"])


def test_a_run_through_a_server_equals_one_with_the_model_itself(
    served: tuple[FakeServer, Served], folder: Path, suite: Path
) -> None:
    options = ("-S", "method=in_template,preamble,forced_choice,yes_no", "--format", "json")
    there = wug(
        "run", suite, "--model", f"endpoint:{served[0].address}", "-M", f"tokenizer={folder}",
        "-M", "bos=<|endoftext|>", *options,
    )  # fmt: skip
    here = wug("run", suite, "--model", f"causal:{folder}", *options)
    for one, other in zip(there.values, here.values, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_requests_to_a_busy_chat_route_are_repeated(waits: list[float]) -> None:
    busy = [(429, {"Retry-After": "3"}, b"{}")]

    def chat(body: dict[str, Any]) -> Any:
        return busy.pop() if busy else answer("A", ("A", -0.1))

    with serving(no_prompts) as server:
        server.chat = chat
        assert scorer(server, retries="2").chat.is_offered
    assert waits == [3.0]


@pytest.mark.parametrize(("counts", "refused_part"), [((30, 12), None), ((12, 12), "drops the system turn")])
def test_a_system_turn_for_which_a_server_counts_no_token_is_dropped(
    counts: tuple[int, int], refused_part: str | None
) -> None:
    def chat(body: dict[str, Any]) -> Any:
        return {**answer("A", ("A", -0.1)), "usage": {"prompt_tokens": counts[len(body["messages"]) == 1]}}

    with serving(no_prompts) as server:
        server.chat = chat
        found = scorer(server).chat.refuses_system(None)
    assert found is None if refused_part is None else refused_part in str(found)


def test_a_template_of_the_users_is_rendered_here_only(served: tuple[FakeServer, Served]) -> None:
    with pytest.raises(ModelError, match=r"its own chat template. With -M tokenizer=NAME"):
        scorer(served[0]).chat.check([Request("a", chat=Chat(USER, tiny_chat.GEMMA))])


def test_a_server_without_either_route_is_refused_at_load() -> None:
    with serving(no_prompts) as server, pytest.raises(ModelError, match="no usable log-probabilities of a prompt"):
        scorer(server)
    with serving(Rule()) as server:
        assert not scorer(server).chat.is_offered


@pytest.mark.parametrize(
    ("message", "text"), [({"content": "A"}, "A"), ({"content": None, "refusal": "No."}, ""), ({"content": " "}, " ")]
)
def test_the_text_of_an_answer(message: dict[str, Any], text: str) -> None:
    assert read_chat({"choices": [{"message": message}]}) == text
