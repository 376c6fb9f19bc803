"""A completions server of the standard library that scores by a rule, for tests: `with serving(rule) as server`."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], Any]
Tokens = list[tuple[str, float | None]]
MODELS = {"object": "list", "data": [{"id": "tiny", "object": "model", "root": "/models/tiny"}]}


class FakeServer:
    """What the server was asked, and how it answers."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        """Makes JSON, a status with JSON, or a whole reply, of the body of a question.

        In a whole reply an iterator of bytes is sent bit by bit; with status -1 these are all that is sent.
        """
        self.chat: Callable[[dict[str, Any]], Any] | None = None
        """Answers the chat route; None for a server without one."""
        self.models: Any = MODELS
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""

    def reply(self, method: str, path: str, body: bytes) -> Reply:
        if method == "GET":
            found: Any = self.models if path == "/v1/models" else (404, {"detail": "Not Found"})
        elif path == "/v1/completions":
            question = json.loads(body)
            self.asked.append(question)
            found = self.answer(question)
        elif path == "/v1/chat/completions" and self.chat is not None:
            question = json.loads(body)
            self.asked.append(question)
            found = self.chat(question)
        else:
            found = (404, {"detail": "Not Found"})
        if isinstance(found, tuple) and len(found) == 3:
            return found
        status, content = found if isinstance(found, tuple) else (200, found)
        return status, {}, content if isinstance(content, bytes) else json.dumps(content).encode()


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Any]) -> Iterator[FakeServer]:
    """A server on a free port, stopped at the end."""
    fake = FakeServer(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._do("GET")

        def do_POST(self) -> None:
            self._do("POST")

        def _do(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fake.headers.append(dict(self.headers))
            status, headers, data = fake.reply(method, self.path, body)
            if status == 0:  # hang up without a word
                self.close_connection = True
                return
            if status == -1:
                self.close_connection = True
                self._drip(data)
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            whole = isinstance(data, bytes)
            self.send_header("Content-Length", str(len(data) if whole else 1_000_000))
            self.end_headers()
            if whole:
                self.wfile.write(data)
            else:
                self._drip(data)

        def _drip(self, data: Iterator[bytes]) -> None:
            for part in data:
                self.wfile.write(part)
                self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 64

        def handle_error(self, request: object, client_address: object) -> None:
            pass

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    fake.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def by_rule(text: str, before: str = "") -> Tokens:
    """Pieces of up to four characters with the space before them, and what the characters so far add up to.

    With a start mark `before` the text the first one has a value too.
    """
    found: Tokens = []
    for match in re.finditer(r"\s*\S{1,4}|\s+", text):
        value = -(sum(map(ord, before + text[: match.end()])) % 97) / 7
        found.append((match.group(), value if found or before else None))
    return found


WRITTEN = " more"
"""What the rule's model writes after any text."""


@dataclass
class Rule:
    """A server of the rule's model, with the ways of real servers; its calls are answers to questions."""

    offsets: bool = True
    usage: bool = True
    continues: bool = True
    """Whether what it echoes ends with the token that it wrote."""
    mark: str = ""
    """A start mark that it puts before every text."""
    known_mark: str = "<b>"
    """A start mark that is one token where a text begins with it."""
    shows_mark: bool = True
    first_value: bool = True
    """Whether the first token after a start mark has its value."""
    names: int = 5
    """How many likeliest tokens it names at most."""
    value_of: str = "itself"
    """The value of each token: its own, that of the `next` token, or its own `after` itself."""
    drops_last: bool = False
    stale: bool = False
    """Whether values are left from before where a text's beginning was asked already."""
    _seen: set[str] = field(default_factory=set)

    def __call__(self, body: dict[str, Any]) -> Any:
        prompt, marks = body["prompt"], [self.mark] if self.mark else []
        while prompt.startswith(self.known_mark):
            marks.append(self.known_mark)
            prompt = prompt.removeprefix(self.known_mark)
        before = "".join(marks)
        own = by_rule(prompt, before)
        written = (WRITTEN, -(sum(map(ord, before + prompt + WRITTEN)) % 97) / 7)
        count = len(marks) + len(own)
        if not body.get("echo"):
            return self._counted(self._next(written, body, before), count)
        after = [*own, written]
        values = [value for _, value in after]
        if self.value_of == "next":
            values = [*values[1:], -0.5]
        elif self.value_of == "after":
            values = [None, *(-(sum(map(ord, token)) % 89) / 7 for token, _ in after[1:])]
        if self.stale and prompt[:60] in self._seen:
            values[1:9] = [-1.0] * len(values[1:9])
        self._seen.add(prompt[:60])
        tokens = [(token, value) for (token, _), value in zip(after, values, strict=True)]
        if marks and not self.first_value:
            tokens[0] = (tokens[0][0], None)
        if not (self.continues and body["max_tokens"]):
            tokens = tokens[:-1]
        if self.drops_last:
            tokens = tokens[: len(own) - 1]
        if self.shows_mark:
            tokens = [*((mark, None) for mark in marks[:1]), *((mark, -1.0) for mark in marks[1:]), *tokens]
        return self._counted(echoed(tokens, offsets=self.offsets), count)

    def _next(self, written: tuple[str, float | None], body: dict[str, Any], before: str) -> dict[str, Any]:
        token, value = written
        named = {token: value}
        if body["prompt"] == before and body["logprobs"] > 5:
            named = dict(list(OPENINGS.items())[: self.names])
            token, value = next(iter(named.items()))
        found = echoed([(token, value)])
        found["choices"][0]["logprobs"]["top_logprobs"] = [named]
        return found

    def _counted(self, found: dict[str, Any], count: int) -> dict[str, Any]:
        found["usage"] = {"prompt_tokens": count, "completion_tokens": 1}
        if not self.usage:
            del found["usage"]
        return found


OPENINGS = {"The": -0.7, "Nobo": -1.2, "x": -9.0, "Dogs": -2.0, "a": -3.0, "b": -4.6}
"""What may follow a start mark, the likeliest first; "x" is also what a part of a character is called, and so out of
order. The probabilities add up to 0.993, without the last one to 0.983."""


def echoed(tokens: Tokens, *, offsets: bool = True) -> dict[str, Any]:
    """An answer in OpenAI's shape with these tokens, all of which are counted as the prompt's."""
    texts = [token for token, _ in tokens]
    starts = [sum(map(len, texts[:place])) for place in range(len(texts))]
    return {
        "choices": [
            {
                "index": 0,
                "text": "".join(texts),
                "finish_reason": "length",
                "logprobs": {
                    "tokens": texts,
                    "token_logprobs": [value for _, value in tokens],
                    "text_offset": starts if offsets else [-1] * len(tokens),
                    "top_logprobs": [None if value is None else {text: value} for text, value in tokens],
                },
            }
        ],
        "usage": {"prompt_tokens": len(tokens), "completion_tokens": 0},
    }


def listed(tokens: Tokens) -> dict[str, Any]:
    """An answer with vLLM's `prompt_logprobs`; the first token has no entry."""
    entries: list[Any] = [None]
    entries += [
        {str(100 + place): {"logprob": value, "rank": 1, "decoded_token": text}}
        for place, (text, value) in enumerate(tokens[1:])
    ]
    choice = {"index": 0, "text": " x", "finish_reason": "length", "logprobs": None, "prompt_logprobs": entries}
    return {"choices": [choice]}
