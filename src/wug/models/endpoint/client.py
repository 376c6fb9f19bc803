"""A completions server: JSON over HTTP with concurrent requests, retries, and errors that say what to do."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from wug.errors import InputError, ModelError, WugError, suggestion
from wug.models.endpoint.answers import Output, ServerRequest

RETRY_STATUSES = (408, 425, 429, 500, 502, 503, 504, 529)
FIRST_WAIT_S, MAX_WAIT_S = 0.5, 30.0
"""Seconds before the first retry, and at most before any; each wait doubles."""
MAX_RETRY_AFTER_S = 300.0
"""Longest Retry-After that is accepted."""
MAX_ANSWER_BYTES = 64 * 2**20

log = logging.getLogger("wug")


class Refusal(ModelError):
    """A response that a retry will not change."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def read_address(text: str) -> str:
    """An address with its port and without a slash at the end; anything after a question mark is ignored."""
    displayed = text.partition("?")[0].rpartition("@")[2]  # a password is not repeated
    try:
        url = urlsplit(text.strip())
        port = url.port
    except ValueError as error:
        raise InputError(f"endpoint {displayed!r} is not an address: {error}") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise InputError(f"endpoint {displayed!r} is not an address. Write it as endpoint:http://localhost:8000/v1")
    if "@" in url.netloc:
        raise InputError(
            f"endpoint {displayed!r}: a name or password in an address would be kept with the run. A key is taken "
            "from the environment variable OPENAI_API_KEY, or from the one that -M key=VARIABLE names"
        )
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    path = url.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    address = f"{url.scheme}://{host}:{port or (443 if url.scheme == 'https' else 80)}{path}"
    try:
        httpx.URL(address)
    except httpx.InvalidURL as error:
        raise InputError(f"endpoint {displayed!r} is not an address: {error}") from None
    return address


class Client:
    """Sends and receives JSON."""

    def __init__(self, address: str, *, key: str | None, timeout: float, retries: int, threads: int = 1) -> None:
        self.address, self.threads = address, threads
        self._key, self._timeout, self._retries = key, timeout, retries
        self._warned = False
        # The system's certificates; reading them takes time.
        self._ssl = (
            ssl.create_default_context() if address.startswith("https") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )

    def get(self, path: str, retries: int | None = None) -> Any:
        """The response to GET."""
        ((_, response),) = self._send_all("GET", [(path, None)], retries)
        return response

    def post_all(self, path: str, bodies: Sequence[Mapping[str, Any]], retries: int | None = None) -> list[Any]:
        """The responses to POST, in order, with several requests at a time; the first error cancels all."""
        responses = dict(self.post_each([(path, body) for body in bodies], retries))
        return [responses[position] for position in range(len(bodies))]

    def post_each(
        self, requests: Sequence[tuple[str, Mapping[str, Any]]], retries: int | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Each response to POST with its position, as soon as it is complete; the first error cancels the others."""
        return self._send_all("POST", [(path, json.dumps(body).encode()) for path, body in requests], retries)

    def _send_all(
        self, method: str, requests: Sequence[tuple[str, bytes | None]], retries: int | None
    ) -> Iterator[tuple[int, Any]]:
        """The event loop is in another thread, since notebooks have a running loop; Ctrl-C cancels the requests."""
        tries = 1 + (self._retries if retries is None else min(retries, self._retries))
        answers: SimpleQueue[tuple[int, Any] | None] = SimpleQueue()
        with start_blocking_portal() as portal:
            sending = portal.start_task_soon(self._exchange_all, method, requests, tries, answers)
            sending.add_done_callback(lambda _: answers.put(None))
            while (answer := answers.get()) is not None:
                yield answer
            sending.result()

    async def _exchange_all(
        self,
        method: str,
        requests: Sequence[tuple[str, bytes | None]],
        tries: int,
        answers: SimpleQueue[tuple[int, Any] | None],
    ) -> None:
        errors: list[WugError] = []
        waiting = iter(enumerate(requests))
        async with self._open() as connections, anyio.create_task_group() as group:

            async def work() -> None:
                for position, (path, body) in waiting:
                    request = connections.build_request(method, f"{self.address}{path}", content=body)
                    try:
                        answers.put((position, await self._send(connections, request, tries)))
                    except WugError as error:
                        errors.append(error)
                        group.cancel_scope.cancel()

            for _ in range(min(self.threads, len(requests))):
                group.start_soon(work)
        if errors:
            raise errors[0]

    def _open(self) -> httpx.AsyncClient:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # so that a small response cannot unpack to a large one
            "User-Agent": "wug",
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        # The timeout is for a whole request. Neither proxies nor passwords are taken from the environment.
        limits = httpx.Limits(max_connections=self.threads, max_keepalive_connections=self.threads)
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, trust_env=False, verify=self._ssl)

    async def _send(self, connections: httpx.AsyncClient, request: httpx.Request, tries: int) -> Any:
        wait = FIRST_WAIT_S
        for tries_left in reversed(range(tries)):
            delay: float | None = None
            try:
                reply, data = await self._exchange(connections, request)
            except (TimeoutError, OSError, httpx.HTTPError, httpx.StreamError) as error:
                problem = self._failure_reason(error)
            else:
                if reply.status_code < 300:
                    return self._read(data)
                problem = f"status {reply.status_code}{self._reason(data)}"
                if reply.status_code not in RETRY_STATUSES:
                    raise self._refusal(reply, self._reason(data))
                delay = _retry_after(reply.headers.get("retry-after"))
            if not tries_left or (delay is not None and delay > MAX_RETRY_AFTER_S):
                raise self._failure(request, tries, problem, delay)
            if not self._warned:
                log.warning("%s: %s; trying again", self.address, problem)
            self._warned = True
            await anyio.sleep(wait if delay is None else max(wait, delay))
            wait = min(2 * wait, MAX_WAIT_S)
        raise AssertionError("the last try returns or raises")

    async def _exchange(self, connections: httpx.AsyncClient, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """One request and its response, within the timeout, even if the server sends byte by byte."""
        data = bytearray()
        with anyio.fail_after(self._timeout):
            reply = await connections.send(request, stream=True)
            async with contextlib.aclosing(reply):
                async for chunk in reply.aiter_raw():
                    data += chunk
                    if len(data) > MAX_ANSWER_BYTES:
                        break
        return reply, bytes(data)

    def _read(self, data: bytes) -> Any:
        if len(data) > MAX_ANSWER_BYTES:
            raise ModelError(f"{self.address}: the response has more than {MAX_ANSWER_BYTES >> 20} MiB")
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            start = self._redact(data[:100].decode("utf-8", errors="replace"))
            raise ModelError(
                f"{self.address}: the response is not JSON: {start!r}. Is this the address of an OpenAI-compatible "
                "server? Most end in /v1"
            ) from None

    def _failure(self, request: httpx.Request, tries: int, problem: str, delay: float | None) -> ModelError:
        wait_hint = f" It asks to wait {delay:,.0f} s." if delay is not None else ""
        attempts = f"after {tries} tries" if tries > 1 else "at the first try"
        return ModelError(
            f"{request.url} does not respond {attempts}: {problem}.{wait_hint} Is the server running, and fast "
            "enough for this many requests at a time? -M concurrency=N sends fewer, -M timeout=SECONDS waits longer, "
            "-M retries=N tries more often. Outputs so far are kept"
        )

    def _refusal(self, reply: httpx.Response, reason: str) -> Refusal:
        status = reply.status_code
        if status in (401, 403):
            key = "the key was refused" if self._key is not None else "it wants a key"
            remedy = "Put it in the environment variable OPENAI_API_KEY, or name the variable with -M key=VARIABLE"
            return Refusal(f"{self.address}: {key}, status {status}{reason}. {remedy}", status)
        if 300 <= status < 400:
            location = self._redact(reply.headers.get("location", "another address"))
            return Refusal(f"{self.address}: redirects to {location}. Use that address", status)
        if status in (404, 405):
            remedy = "Is this the address of an OpenAI-compatible server, up to /v1?"
            return Refusal(f"{self.address}: status {status}{reason}. {remedy}", status)
        return Refusal(f"{self.address}: refuses the request, status {status}{reason}", status)

    def _reason(self, data: bytes) -> str:
        """The server's error message, in one line, without the key."""
        text = data[:4000].decode("utf-8", errors="replace")
        with contextlib.suppress(ValueError, RecursionError):
            message = json.loads(data[:MAX_ANSWER_BYTES])
            for name in ("error", "message", "detail"):
                if isinstance(message, dict) and name in message:
                    message = message[name]
            text = message if isinstance(message, str) else json.dumps(message)
        text = self._redact(" ".join(text.split()))
        return f": {text[:300]}{'…' if len(text) > 300 else ''}" if text else ""

    def _failure_reason(self, error: Exception) -> str:
        """Why a request failed; a certificate that is not trusted is an error at once."""
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise ModelError(f"{self.address}: its certificate is not trusted: {cause.verify_message}") from None
            if isinstance(cause, ConnectionRefusedError):
                return "nothing listens there (connection refused)"
            if isinstance(cause, socket.gaierror):
                return f"the host is not known ({cause.strerror})"
        if isinstance(error, TimeoutError):
            return f"no complete response came within {self._timeout:g} s"
        return f"the connection failed ({self._redact(str(error)) or type(error).__name__})"

    def _redact(self, text: str) -> str:
        redacted = text.replace(self._key, "***") if self._key else text
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in redacted)


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for cause in (error.__cause__ or error.__context__, *members):
        if cause is not None:
            yield from _causes(cause)


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return seconds if 0 <= seconds < 1e9 else None
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None


@dataclass(frozen=True, slots=True)
class Server:
    """A server and the model to use."""

    client: Client
    model: str
    identity: str
    """Everything that the server says about the model, as JSON."""
    server_software: str = ""
    """The program, if known: vllm, sglang, llamacpp."""

    def ask(self, prompt: str, settings: Mapping[str, Any], retries: int | None = None) -> Any:
        """The response to one prompt, with no other request at the same time."""
        (response,) = self.ask_all([prompt], settings, retries)
        return response

    def ask_all(self, prompts: Sequence[str], settings: Mapping[str, Any], retries: int | None = None) -> list[Any]:
        """The responses to prompts, in order, several at a time."""
        bodies = [{"model": self.model, "prompt": prompt, **settings} for prompt in prompts]
        return self.client.post_all("/completions", bodies, retries)

    def answer_each(
        self, requests: Sequence[ServerRequest[Output]]
    ) -> Iterator[tuple[Sequence[int], Sequence[Output]]]:
        """Positions and outputs of each request, in the order of the responses."""
        bodies = [(request.path, {"model": self.model, **request.body}) for request in requests]
        for position, answer in self.client.post_each(bodies):
            request = requests[position]
            try:
                yield request.positions, request.read(answer)
            except InputError as error:
                raise ModelError(
                    f"{self.client.address}: the response for {request.text[:80]!r} cannot be used: {error.message}"
                ) from None


def find_model(client: Client, name: str | None) -> Server:
    """The server with a model by name, or with its only one."""
    try:
        response = client.get("/models", retries=1)
    except Refusal as error:
        if name is None or error.status not in (400, 404, 405, 501):
            raise
        response = {}
    entries = response.get("data") if isinstance(response, dict) else None
    models: dict[str, dict[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            models[entry["id"]] = entry
    if name is None:
        if len(models) != 1:
            names = f" It has: {', '.join(list(models)[:12])}" if models else ""
            raise InputError(f"{client.address}: name the model with -M model=NAME.{names}")
        (name,) = models
    elif models and name not in models:
        raise ModelError(f"{client.address} has no model {name!r}.{suggestion(name, models)}")
    description = {field: models.get(name, {}).get(field) for field in ("root", "parent", "meta")}
    # A server that does not describe the model is identified by its address.
    address = "" if any(description.values()) else client.address
    server_software = str(models.get(name, {}).get("owned_by", ""))
    return Server(client, name, json.dumps([name, address, description], sort_keys=True), server_software)
