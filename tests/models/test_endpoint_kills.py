"""Every answer of a server is kept as soon as it has arrived: after a kill, a refusal, and while others are missing."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import refused, start_wug, wug
from evaluating import cached
from fake_completions import FakeServer, Rule, serving
from timeouts import PATIENCE
from wug.errors import ModelError
from wug.evaluation.cache import Cache
from wug.models import endpoint
from wug.models.spec import ModelSpec

PAIRS = tuple((f"the {n} boys swim .", f"the {n} boys swims .") for n in range(20))
CHOICE = ("-S", "method=forced_choice")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = ({"sentence_good": good, "sentence_bad": bad} for good, bad in PAIRS)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def question_of(body: dict[str, Any]) -> str:
    """The text that a request is about."""
    return str(body["messages"][-1]["content"] if "messages" in body else body["prompt"])


def chosen(body: dict[str, Any]) -> Any:
    """The answer of a host that only chats."""
    best, other = ("A", "B") if sum(map(ord, question_of(body))) % 3 else ("B", "A")
    named = [{"token": best, "logprob": -0.2}, {"token": other, "logprob": -2.0}]
    content = [{**named[0], "top_logprobs": named}]
    return {"choices": [{"message": {"content": best}, "logprobs": {"content": content}}]}


def listen(server: FakeServer, *, chats: bool, heard: Callable[[str], Any]) -> None:
    """Answer as a host that only chats or as one that scores prompts; `heard` may answer for a question instead."""
    rule = Rule()

    def answer(body: dict[str, Any]) -> Any:
        # Other requests check the server.
        found = heard(question_of(body)) if "boys" in question_of(body) else None
        return found or (chosen(body) if chats else rule(body))

    server.answer = (lambda body: (404, {})) if chats else answer
    server.chat = answer if chats else None


def outputs_in(path: Path) -> int:
    """The number of outputs in a cache that another process writes."""
    if not path.exists():
        return 0
    cache = Cache(path)
    try:
        return sum(model.outputs for model in cache.models())
    finally:
        cache.close()


def wait_for(outputs: int, path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while outputs_in(path) < outputs:
        assert time.monotonic() < deadline, f"{outputs_in(path)} of {outputs} outputs are in the cache"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("chats", "options", "outputs_each"),
    [(True, CHOICE, 2), (True, (*CHOICE, "-S", "answer=text"), 1), (False, (), 1)],
    ids=["labels", "text", "prompts"],
)
def test_after_a_kill_only_requests_without_an_answer_are_repeated(
    tmp_path: Path, suite: Path, chats: bool, options: tuple[str, ...], outputs_each: int
) -> None:
    asked: list[str] = []
    answered, at_a_time = 26, 4
    in_flight, release = threading.Semaphore(0), threading.Event()
    busy = {5, 9, 17}

    def heard(question: str) -> Any:
        if len(asked) in busy:  # these are sent again
            busy.remove(len(asked))
            return 429, {"error": {"message": "slow down"}}
        asked.append(question)
        if len(asked) > answered and not release.is_set():
            in_flight.release()
            release.wait()
        return None

    def command(name: str) -> list[str]:
        places = ["--store", str(tmp_path / name), "--cache", str(tmp_path / f"{name}.cache"), "--format", "json"]
        return ["run", str(suite), "--model", f"endpoint:{server.address}", "-M", "concurrency=4", *options, *places]

    with serving(lambda body: None) as server:
        listen(server, chats=chats, heard=heard)
        process = start_wug(*command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(at_a_time):
                assert in_flight.acquire(timeout=PATIENCE)
            wait_for(answered * outputs_each, tmp_path / "killed.cache")
        finally:
            process.kill()
            process.wait()
            release.set()
        before = asked.copy()
        again = wug(*command("killed"))
        repeated = asked[len(before) :]
        unbroken = wug(*command("unbroken"))
    assert again.results == unbroken.results
    assert sorted(set(before) & set(repeated)) == sorted(before[answered:])
    assert len(before) + len(repeated) == len(set(asked)) + at_a_time == 40 + at_a_time


def test_an_answer_is_kept_while_an_earlier_one_is_missing(tmp_path: Path, suite: Path) -> None:
    cache = tmp_path / "outputs.cache"

    def heard(question: str) -> Any:
        if question == min(min(pair) for pair in PAIRS):
            wait_for(39, cache)  # all others

    options = ("--store", str(tmp_path / "store"), "--format", "json", "-M")
    with serving(lambda body: None) as server:
        listen(server, chats=False, heard=heard)
        model = f"endpoint:{server.address}"
        late = wug("run", suite, "--model", model, *options, "concurrency=4", "--cache", str(cache))
        listen(server, chats=False, heard=lambda question: None)
        in_order = wug("run", suite, "--model", model, *options, "concurrency=1", "--no-cache")
    assert late.values == in_order.values


def test_after_a_refusal_only_requests_without_an_answer_are_repeated(tmp_path: Path, suite: Path) -> None:
    asked: list[str] = []

    def heard(question: str) -> Any:
        asked.append(question)
        return (400, {"error": {"message": "not this one"}}) if len(asked) == 27 else None

    places = ("--cache", str(tmp_path / "outputs.cache"), "--store", str(tmp_path / "store"))
    with serving(lambda body: None) as server:
        listen(server, chats=True, heard=heard)
        command = ("run", suite, "--model", f"endpoint:{server.address}", "-M", "concurrency=1", *CHOICE, *places)
        refused(wug(*command), "not this one")
        wug(*command)
    assert asked[26] == asked[27]
    assert len(asked) == len(set(asked)) + 1 == 40 + 1


def test_generated_texts_before_a_refusal_are_kept(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if "copy C" in body["prompt"]:
            return 400, {"error": {"message": "not this one"}}
        return {"choices": [{"text": " A", "finish_reason": "stop"}]}

    cache = Cache(tmp_path / "outputs.cache")
    with serving(answer) as server:
        options = {"mode": "generate", "concurrency": "1"}
        model = endpoint.load(ModelSpec("endpoint", server.address, options=options))
        with pytest.raises(ModelError, match="not this one"):
            cached(model, cache).generate(["copy A", "copy B", "copy C", "copy D"])
        assert [found.outputs for found in cache.models()] == [2]
