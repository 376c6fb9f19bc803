"""A completions server of the standard library that scores by a rule, for tests: `with serving(rule) as server`."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], bytes]
Tokens = list[tuple[str, float | None]]
MODELS = {"object": "list", "data": [{"id": "tiny", "object": "model", "root": "/models/tiny"}]}


class FakeServer:
    """What the server was asked, and how it answers."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        """Makes JSON, a status with JSON, or a whole reply, of the body of a question."""
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
        else:
            found = (404, {"detail": "Not Found"})
        if isinstance(found, tuple) and len(found) == 3:
            return found
        status, content = found if isinstance(found, tuple) else (200, found)
        return status, {}, content if isinstance(content, bytes) else json.dumps(content).encode()


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Any]) -> Iterator[FakeServer]:
    """A server on a port of its own, gone at the end."""
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
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

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


def by_rule(text: str) -> Tokens:
    """Pieces of up to four characters with the space before them, and what the characters so far add up to."""
    found: Tokens = []
    for match in re.finditer(r"\s*\S{1,4}|\s+", text):
        value = -(sum(map(ord, text[: match.end()])) % 97) / 7
        found.append((match.group(), value if found else None))
    return found


def echoed(tokens: Tokens, *, offsets: bool = True, written: str | None = None) -> dict[str, Any]:
    """An answer in OpenAI's shape, with one token more where something is `written`."""
    every = tokens + ([] if written is None else [(written, -0.5)])
    texts = [token for token, _ in every]
    starts = [sum(map(len, texts[:place])) for place in range(len(texts))]
    return {
        "choices": [
            {
                "index": 0,
                "text": "".join(texts),
                "finish_reason": "length",
                "logprobs": {
                    "tokens": texts,
                    "token_logprobs": [value for _, value in every],
                    "text_offset": starts if offsets else [-1] * len(every),
                    "top_logprobs": [None if value is None else {text: value} for text, value in every],
                },
            }
        ],
        "usage": {"prompt_tokens": len(tokens), "completion_tokens": len(every) - len(tokens)},
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
