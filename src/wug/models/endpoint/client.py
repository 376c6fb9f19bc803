"""JSON over HTTP: many questions at once, growing waits where a server is busy or away, errors that say what to do."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx
from anyio.from_thread import start_blocking_portal

from wug.errors import InputError, ModelError, WugError

BUSY = (408, 425, 429, 500, 502, 503, 504, 529)
"""What a server answers that may be able to answer later."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the second try, and at most before any; each wait is twice the one before."""
PATIENCE = 300.0
"""Seconds that a server may ask for in Retry-After; with more, it is given up."""
LARGEST = 64 * 2**20
"""Bytes of an answer that are read."""

log = logging.getLogger("wug")
Found = TypeVar("Found")


class Refusal(ModelError):
    """An answer that asking again will not change."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is."""

    secure: bool
    host: str
    port: int
    path: str
    """Without a slash at the end."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' * self.secure}://{host}:{self.port}{self.path}"

    @classmethod
    def of(cls, text: str) -> Address:
        """The address that a user wrote, without what stands behind a question mark."""
        shown = text.partition("?")[0].rpartition("@")[2]  # a password is not repeated
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError as error:
            raise InputError(f"endpoint {shown!r} is no address: {error}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"endpoint {shown!r} is no address. Write it as endpoint:http://localhost:8000/v1")
        if "@" in parts.netloc:
            raise InputError(
                f"endpoint {shown!r}: a name or password in an address would be kept with the run. A key is taken "
                "from the environment variable OPENAI_API_KEY, or from the one that -M key=VARIABLE names"
            )
        secure = parts.scheme == "https"
        path = parts.path.rstrip("/").removesuffix("/completions")
        found = cls(secure, parts.hostname, port or (443 if secure else 80), path)
        try:
            httpx.URL(str(found))
        except httpx.InvalidURL as error:
            raise InputError(f"endpoint {shown!r} is no address: {error}") from None
        return found


class Client:
    """A server that is sent JSON and answers with JSON."""

    __slots__ = ("_key", "_retries", "_threads", "_timeout", "_told", "_trust", "address")

    def __init__(self, address: Address, *, key: str | None, timeout: float, retries: int, threads: int = 1) -> None:
        self.address = address
        self._key, self._timeout, self._retries, self._threads = key, timeout, retries, threads
        self._told = False
        # The system's certificates, as everything else on this machine trusts them; reading them takes its time.
        self._trust = ssl.create_default_context() if address.secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def get(self, path: str, retries: int | None = None) -> Any:
        """What stands at a path."""
        return self._ask("GET", path, [None], retries)[0]

    def post_all(self, path: str, bodies: Sequence[Mapping[str, Any]], retries: int | None = None) -> list[Any]:
        """One answer for each question, in order, several under way at once; the first error ends them all."""
        return self._ask("POST", path, [json.dumps(body).encode() for body in bodies], retries) if bodies else []

    def _ask(self, method: str, path: str, bodies: Sequence[bytes | None], retries: int | None) -> list[Any]:
        tries = 1 + (self._retries if retries is None else min(retries, self._retries))
        return _in_loop(lambda: self._send_all(method, path, bodies, tries))

    async def _send_all(self, method: str, path: str, bodies: Sequence[bytes | None], tries: int) -> list[Any]:
        answers: dict[int, Any] = {}
        errors: list[WugError] = []
        waiting = iter(range(len(bodies)))
        async with self._open() as connections, anyio.create_task_group() as group:

            async def work() -> None:
                for place in waiting:
                    request = connections.build_request(method, f"{self.address}{path}", content=bodies[place])
                    try:
                        answers[place] = await self._send(connections, request, tries)
                    except WugError as error:
                        errors.append(error)
                        group.cancel_scope.cancel()

            for _ in range(min(self._threads, len(bodies))):
                group.start_soon(work)
        if errors:
            raise errors[0]
        return [answers[place] for place in range(len(bodies))]

    def _open(self) -> httpx.AsyncClient:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # what is counted is what was sent: nothing small unpacks to much
            "User-Agent": "wug",
        }
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        # The time of a question is counted as a whole. Neither proxies nor passwords are taken from the environment.
        limits = httpx.Limits(max_connections=self._threads, max_keepalive_connections=self._threads)
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, trust_env=False, verify=self._trust)

    async def _send(self, connections: httpx.AsyncClient, request: httpx.Request, tries: int) -> Any:
        wait = FIRST_WAIT
        for left in reversed(range(tries)):
            wanted: float | None = None
            try:
                reply, data = await self._exchange(connections, request)
            except (TimeoutError, OSError, httpx.HTTPError, httpx.StreamError) as error:
                trouble = self._trouble(error)
            else:
                if reply.status_code < 300:
                    return self._read(data)
                trouble = f"status {reply.status_code}{self._reason(data)}"
                if reply.status_code not in BUSY:
                    raise self._refusal(reply, self._reason(data))
                wanted = _retry_after(reply.headers.get("retry-after"))
            if not left or (wanted is not None and wanted > PATIENCE):
                raise self._given_up(request, tries, trouble, wanted)
            self._tell(trouble)
            await self._pause(wait if wanted is None else max(wait, wanted))
            wait = min(2 * wait, LONGEST_WAIT)
        raise AssertionError("the last try returns or raises")

    async def _exchange(self, connections: httpx.AsyncClient, request: httpx.Request) -> tuple[httpx.Response, bytes]:
        """One question and all that came back, within the time that it may take: a server that drips is ended too."""
        data = bytearray()
        with anyio.fail_after(self._timeout):
            reply = await connections.send(request, stream=True)
            async with contextlib.aclosing(reply):
                async for part in reply.aiter_raw():
                    data += part
                    if len(data) > LARGEST:
                        break
        return reply, bytes(data)

    def _read(self, data: bytes) -> Any:
        if len(data) > LARGEST:
            raise ModelError(f"{self.address}: an answer of more than {LARGEST >> 20} MiB is not read")
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            start = self._clean(data[:100].decode("utf-8", errors="replace"))
            raise ModelError(
                f"{self.address}: an answer that is no JSON: {start!r}. Is this the address of an OpenAI-compatible "
                "server? Most end in /v1"
            ) from None

    def _given_up(self, request: httpx.Request, tries: int, trouble: str, wanted: float | None) -> ModelError:
        asked = f" It asks to wait {wanted:,.0f} s." if wanted is not None else ""
        tried = f"after {tries} tries" if tries > 1 else "at the first try"
        return ModelError(
            f"{request.url} gives no answer {tried}: {trouble}.{asked} Is the server running, and "
            "strong enough for so many questions at once? -M concurrency=N asks fewer, -M timeout=SECONDS "
            "waits longer, -M retries=N tries more often. What was answered so far is kept"
        )

    def _refusal(self, reply: httpx.Response, reason: str) -> Refusal:
        status = reply.status_code
        if status in (401, 403):
            key = "the key was refused" if self._key is not None else "it wants a key"
            remedy = "Put it in the environment variable OPENAI_API_KEY, or name the variable with -M key=VARIABLE"
            return Refusal(f"{self.address}: {key}, status {status}{reason}. {remedy}", status)
        if 300 <= status < 400:
            place = self._clean(reply.headers.get("location", "another address"))
            return Refusal(f"{self.address}: sends on to {place}. Use that address", status)
        if status in (404, 405):
            remedy = "Is this the address of an OpenAI-compatible server, up to /v1?"
            return Refusal(f"{self.address}: status {status}{reason}. {remedy}", status)
        return Refusal(f"{self.address}: refuses the question, status {status}{reason}", status)

    def _reason(self, data: bytes) -> str:
        """What a server says about an error, in one line, without the key."""
        text = data[:4000].decode("utf-8", errors="replace")
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(data[:LARGEST])
            for name in ("error", "message", "detail"):
                if isinstance(found, dict) and name in found:
                    found = found[name]
            text = found if isinstance(found, str) else json.dumps(found)
        text = self._clean(" ".join(text.split()))
        return f": {text[:300]}{'…' if len(text) > 300 else ''}" if text else ""

    def _trouble(self, error: Exception) -> str:
        """Why nothing usable came back, in words; a certificate that is not trusted is an error at once."""
        for cause in _causes(error):
            if isinstance(cause, ssl.SSLCertVerificationError):
                raise ModelError(f"{self.address}: its certificate is not trusted: {cause.verify_message}") from None
            if isinstance(cause, ConnectionRefusedError):
                return "nothing listens there (connection refused)"
            if isinstance(cause, socket.gaierror):
                return f"the host is not known ({cause.strerror})"
        if isinstance(error, TimeoutError):
            return f"no whole answer came within {self._timeout:g} s"
        return f"the connection failed ({self._clean(str(error)) or type(error).__name__})"

    def _clean(self, text: str) -> str:
        without = text.replace(self._key, "***") if self._key else text
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in without)

    def _tell(self, trouble: str) -> None:
        if not self._told:
            log.warning("%s: %s; trying again", self.address, trouble)
        self._told = True

    async def _pause(self, seconds: float) -> None:
        await anyio.sleep(seconds)


def _in_loop(ask: Callable[[], Awaitable[Found]]) -> Found:
    """What `ask` gives, in an event loop of its own thread: whoever asks may be in a loop already, as notebooks are.

    An interruption of the user ends the questions under way.
    """
    with start_blocking_portal() as portal:
        return portal.call(ask)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that it came from."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += [found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, as the header says them: a number or a date."""
    if value is None:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return seconds if 0 <= seconds < 1e9 else None
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None
