"""A hostile completions server for `endpoint:`: right numbers or an error that is meant for the user, in time."""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz import mutate
from fuzz.campaign import Case, Wrong

TEXTS = ("The boy swims.", "Nobody knew what she gave the naïve café.", "A – dash, 3 dogs’ 😀 end!")
NEXT = " the"
"""What the server writes after any text: its likeliest token."""
DEADLINE, DRIPPING, LATEST = 1.0, 15.0, 10.0
"""Seconds that an answer may take, that the server drips for, and within which everything must be over."""
HARMLESS = ("order", "more fields", "escapes", "spaces", "chunks", "pieces")
HOSTILE = (
    "tree",
    "tree",
    "tree",
    "bytes",
    "cut",
    "status",
    "length",
    "header",
    "huge",
    "drip",
    "numbers",
    "tokens",
    "close",
)


class Campaign:
    """Answers of a server, one of them not as it should be."""

    name, batch, room = "server", 300, 8 * 2**30

    def __init__(self, only: str | None = None) -> None:
        self._only = only
        self._server: Server | None = None

    def prepare(self, folder: Path) -> None:
        """Import the backend. The server begins in the process that asks it."""
        from wug.models import endpoint  # noqa: F401

    def make(self, draw: random.Random) -> Case:
        """What is wrong with which answer, and how."""
        kind = draw.choice(HARMLESS) if draw.random() < 0.2 else draw.choice(HOSTILE)
        if kind in ("drip", "huge") and draw.random() < 0.9:
            kind = "tree"
        kind = self._only if self._only in (*HARMLESS, *HOSTILE) else kind
        # The first answer lists the models, the next ones are the probes; then come the texts.
        plan = {
            "kind": kind,
            "at": draw.choice((0, 1, 1, 2, 3, 4, 6, 8)),
            "always": draw.random() < 0.3,
            "seed": draw.random(),
        }
        return Case(f"server, {kind}", {"plan.json": json.dumps(plan).encode()}, plan)

    def attempt(self, case: Case, folder: Path) -> None:
        """Load the model and ask it."""
        from wug.models import endpoint
        from wug.models.spec import ModelSpec
        from wug.requests import Request

        if self._server is None:
            self._server = Server()
            self._server.start()
        self._server.plan = Plan(**case.aside)
        options = {"retries": "0", "timeout": f"{DEADLINE:g}", "concurrency": "2"}
        if case.aside["seed"] < 0.1:
            options |= {"mode": "generate", "max_length": "3"}
        began = time.monotonic()
        try:
            model: Any = endpoint.load(ModelSpec("endpoint", self._server.address, options=options))
            if "mode" in options:
                if not all(isinstance(answer.text, str) for answer in model.generate(list(TEXTS))):
                    raise Wrong("an answer that is no text")
                return
            scored = model.score([Request(text) for text in TEXTS])
            for text, found in zip(TEXTS, scored, strict=True):
                _check(text, found, exact=case.aside["kind"] in HARMLESS)
        except Exception as error:
            if case.aside["kind"] in HARMLESS and not isinstance(error, Wrong):
                raise Wrong(f"a sound answer is refused: {error}") from error
            raise
        finally:
            if time.monotonic() - began > LATEST and case.aside["kind"] == "drip":
                raise Wrong(f"a question with {DEADLINE:g} s took {time.monotonic() - began:.0f} s")


def _check(text: str, found: Any, *, exact: bool) -> None:
    """The numbers are those of the server where it is honest, and possible ones in any case."""
    values = [value for value in found.logprobs if value is not None]
    if not all(isinstance(value, int | float) and math.isfinite(value) and value <= 0 for value in values):
        raise Wrong(f"{values[:4]} are no log-probabilities")
    spans = list(zip(found.starts, found.ends, strict=True))
    if len(spans) != len(found.logprobs) or list(found.starts) != sorted(found.starts):
        raise Wrong(f"tokens at {spans[:4]}")
    if any(not 0 <= start <= end <= len(text) for start, end in spans):
        raise Wrong(f"tokens outside the text: {spans[:4]}")
    if exact:
        wanted = [value for _, value in tokens_of(text) if value is not None]
        if any(abs(one - other) > 1e-9 for one, other in zip(values, wanted, strict=True)):
            raise Wrong(f"{values[:4]} where the server says {wanted[:4]}")


def tokens_of(text: str) -> list[tuple[str, float | None]]:
    """Pieces of up to four letters with the space before them; their values depend on all text before."""
    found: list[tuple[str, float | None]] = []
    for match in re.finditer(r"\s*\S{1,4}|\s+", text):
        value = -(sum(map(ord, text[: match.end()])) % 97) / 7
        found.append((match.group(), value if found else None))
    return found


def completion(question: dict[str, Any]) -> dict[str, Any]:
    """What an honest server answers: an echo with log-probabilities where that is asked for, and one token more.

    The token that it writes is its likeliest, with the value that an echo gives it.
    """
    prompt = str(question.get("prompt", ""))
    asked = tokens_of(prompt)
    written = [(NEXT, tokens_of(prompt + NEXT)[-1][1])] if question.get("max_tokens", 1) else []
    shown = (asked if question.get("echo") else []) + written
    texts = [text for text, _ in shown]
    starts = [sum(map(len, texts[:place])) for place in range(len(texts))]
    choice: dict[str, Any] = {"index": 0, "text": "".join(texts), "finish_reason": "length", "logprobs": None}
    if question.get("logprobs") is not None:
        choice["logprobs"] = {
            "tokens": texts,
            "token_logprobs": [value for _, value in shown],
            "text_offset": starts if question.get("echo") else [len(prompt)] * len(texts),
            "top_logprobs": [None if value is None else {text: value} for text, value in shown],
        }
    if question.get("prompt_logprobs") is not None:
        choice["prompt_logprobs"] = [
            None if value is None else {str(100 + place): {"logprob": value, "rank": 1, "decoded_token": text}}
            for place, (text, value) in enumerate(asked)
        ]
    usage = {"prompt_tokens": len(asked), "completion_tokens": len(written), "total_tokens": len(asked) + len(written)}
    return {"id": "cmpl-1", "object": "text_completion", "model": "tiny", "choices": [choice], "usage": usage}


MODELS = {"object": "list", "data": [{"id": "tiny", "object": "model", "root": "/models/tiny"}]}


@dataclass
class Plan:
    """What goes wrong, and when."""

    kind: str
    at: int
    """The number of the answer."""
    always: bool
    """Those after it too."""
    seed: float
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> random.Random | None:
        """Chance to go wrong with; None where the answer is honest."""
        with self.lock:
            number, self.count = self.count, self.count + 1
        if self.kind in HARMLESS or number == self.at or (self.always and number > self.at):
            return random.Random(f"{self.seed}/{number}")
        return None


class Server(threading.Thread):
    """Listens on this machine alone; what it sends is limited in size and time."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.plan = Plan("order", 0, False, 0.0)

    def close(self) -> None:
        """Leave the port to a process that was forked from this one."""
        self._socket.close()

    def run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as stream:
            while (line := stream.readline(65_536)).strip():
                size = 0
                while (header := stream.readline(65_536)).strip():
                    name, _, value = header.partition(b":")
                    size = int(value) if name.lower() == b"content-length" else size
                body = stream.read(size)
                honest = MODELS if line.startswith(b"GET") else completion(json.loads(body))
                if not _answer(connection, honest, self.plan):
                    return


def _answer(connection: socket.socket, honest: Any, plan: Plan) -> bool:
    """Send an answer; whether the connection may be kept."""
    draw = plan.now()
    data = json.dumps(honest).encode()
    honest = json.loads(data)  # a copy, to be changed
    if draw is None:
        connection.sendall(_packed(data))
        return True
    match plan.kind:
        case "order":
            data = json.dumps(_turned(honest)).encode()
        case "more fields":
            data = json.dumps({**honest, "extra": {"x": [1, None]}, "created": 1}).encode()
        case "escapes":
            data = json.dumps(honest, ensure_ascii=False).encode()
        case "spaces":
            data = b"\n \t" + json.dumps(honest, indent=3).encode() + b"\n\n"
        case "chunks":
            parts = [data[place : place + 7] for place in range(0, len(data), 7)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
            return True
        case "pieces":
            whole = _packed(data)
            for place in range(0, len(whole), 50):
                connection.sendall(whole[place : place + 50])
            return True
        case "tree":
            for _ in range(draw.choice((1, 1, 2, 4))):
                honest = mutate.changed(draw, honest)
            text = json.dumps(honest)
            for mark, value in mutate.RAW.items():
                text = text.replace(f'"{mark}"', value(draw)) if mark in text else text
            data = text.encode("utf-8", "surrogatepass")
        case "bytes":
            data = mutate.document(draw, data)
        case "cut":
            connection.sendall(_packed(data)[: draw.randrange(len(data))])
            return False
        case "close":
            if draw.random() < 0.5:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        case "status":
            status = draw.choice(
                (b"301 X", b"400 X", b"404 X", b"401 X", b"429 X", b"500 X", b"503 X", b"204 X", b"999 ", b"1 ", b"x")
            )
            connection.sendall(_packed(mutate.document(draw, data) if draw.random() < 0.5 else data, status=status))
            return True
        case "length":
            size = draw.choice((0, 1, len(data) - 1, len(data) + 100, 10**20, -1))
            connection.sendall(_packed(data, length=str(size).encode()))
            return False
        case "header":
            odd = draw.choice(
                (b"X: " + b"a" * 70_000, b"Retry-After: nan", b"Content-Encoding: gzip", b"Transfer-Encoding: chunked",
                 b"no colon", b"\xff\xfe: \x80", b"Location: http://[", b"Set-Cookie: " + b"a=b; " * 100)
            )  # fmt: skip
            connection.sendall(_packed(data, header=odd, status=draw.choice((b"200 OK", b"429 X", b"302 X"))))
            return False
        case "huge":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 80000000\r\n\r\n")
            for _ in range(80):
                connection.sendall(b"[" * 1_000_000)
            return False
        case "drip":
            ends = time.monotonic() + DRIPPING
            for byte in _packed(b" " * 1000 + data):
                if time.monotonic() > ends:
                    return False
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
        case "numbers" | "tokens":
            data = json.dumps(_other(draw, honest, plan.kind)).encode()
    connection.sendall(_packed(data))
    return True


def _packed(data: bytes, *, status: bytes = b"200 OK", length: bytes | None = None, header: bytes = b"X: y") -> bytes:
    size = length or str(len(data)).encode()
    return b"HTTP/1.1 " + status + b"\r\n" + header + b"\r\nContent-Length: " + size + b"\r\n\r\n" + data


def _turned(tree: Any) -> Any:
    """The same with every object's fields the other way round."""
    if isinstance(tree, dict):
        return {key: _turned(value) for key, value in reversed(tree.items())}
    return [_turned(value) for value in tree] if isinstance(tree, list) else tree


def _other(draw: random.Random, honest: Any, kind: str) -> Any:
    """Numbers that cannot be, or tokens that are not the text's."""
    for choice in honest.get("choices", ()):
        given = choice.get("logprobs") or {}
        values, texts = given.get("token_logprobs") or [], given.get("tokens") or []
        for place in range(len(values)):
            if draw.random() < 0.4 and kind == "numbers":
                values[place] = draw.choice(
                    (float("nan"), float("inf"), -float("inf"), 3.5, "x", True, None, 10**400, [1])
                )
            elif draw.random() < 0.4 and kind == "tokens":
                texts[place] = draw.choice(("", "x", texts[-1], texts[place] * 2, "Ġ", "\ufffd", None, 7, "<s>"))
        if kind == "tokens" and draw.random() < 0.3:
            draw.shuffle(texts)
    return honest
