"""JSON over HTTP: kept connections, growing waits where a server is busy or away, errors that say what to do."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from wug.errors import InputError, ModelError

BUSY = (408, 425, 429, 500, 502, 503, 504, 529)
"""What a server answers that may be able to answer later."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the second try, and at most before any; each wait is twice the one before."""
PATIENCE = 300.0
"""Seconds that a server may ask for in Retry-After; with more, it is given up."""
LARGEST = 64 * 2**20
"""Bytes of an answer that are read."""

log = logging.getLogger("wug")


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
        return cls(secure, parts.hostname, port or (443 if secure else 80), path)


class Client:
    """A server that is sent JSON and answers with JSON; may be used from several threads at once."""

    __slots__ = ("__weakref__", "_busy", "_idle", "_key", "_over", "_retries", "_timeout", "_told", "address")

    def __init__(self, address: Address, *, key: str | None, timeout: float, retries: int) -> None:
        self.address = address
        self._key, self._timeout, self._retries = key, timeout, retries
        self._idle: list[HTTPConnection] = []
        self._busy: set[HTTPConnection] = set()
        self._over = threading.Event()
        self._told = False
        weakref.finalize(self, _close, self._idle)

    def get(self, path: str, retries: int | None = None) -> Any:
        """What stands at a path."""
        return self._send("GET", path, None, retries)

    def post(self, path: str, body: Mapping[str, Any], retries: int | None = None) -> Any:
        """The answer to a question."""
        return self._send("POST", path, json.dumps(body).encode(), retries)

    def break_off(self) -> None:
        """End all that is under way, in whatever thread: those questions fail."""
        self._over.set()
        for connection in list(self._busy):
            if connection.sock is not None:
                with contextlib.suppress(OSError):  # it has ended by itself
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def go_on(self) -> None:
        """Allow questions again after `break_off`."""
        self._over.clear()

    def _send(self, method: str, path: str, body: bytes | None, retries: int | None) -> Any:
        tries = 1 + (self._retries if retries is None else min(retries, self._retries))
        wait = FIRST_WAIT
        for left in reversed(range(tries)):
            wanted: float | None = None
            try:
                status, headers, data = self._exchange(method, path, body)
            except ssl.SSLCertVerificationError as error:
                raise ModelError(f"{self.address}: its certificate is not trusted: {error.verify_message}") from None
            except (OSError, HTTPException) as error:
                trouble = _reason(error, self._timeout)
            else:
                if status < 300:
                    return self._read(data)
                trouble = f"status {status}{self._said(data)}"
                if status not in BUSY:
                    raise self._refusal(status, headers, data)
                wanted = _retry_after(headers.get("retry-after"))
            if not left or self._over.is_set() or (wanted is not None and wanted > PATIENCE):
                asked = f" It asks to wait {wanted:,.0f} s." if wanted is not None else ""
                tried = f"after {tries} tries" if tries > 1 else "at the first try"
                raise ModelError(
                    f"{self.address}{path} gives no answer {tried}: {trouble}.{asked} Is the server running, and "
                    "strong enough for so many questions at once? -M concurrency=N asks fewer, -M timeout=SECONDS "
                    "waits longer, -M retries=N tries more often. What was answered so far is kept"
                )
            self._tell(trouble)
            self._pause(wait if wanted is None else max(wait, wanted))
            wait = min(2 * wait, LONGEST_WAIT)
        raise AssertionError("the last try returns or raises")

    def _exchange(self, method: str, path: str, body: bytes | None) -> tuple[int, Mapping[str, str], bytes]:
        """One question and what came back; a kept connection that has gone stale is opened anew."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "wug"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        kept = self._take()
        connection = kept or self._open()
        try:
            try:
                connection.request(method, self.address.path + path, body, headers)
                response = connection.getresponse()
            except (ConnectionError, HTTPException):
                if kept is None or self._over.is_set():
                    raise
                self._drop(connection)
                connection = self._open()
                connection.request(method, self.address.path + path, body, headers)
                response = connection.getresponse()
            data = response.read(LARGEST + 1)
        except BaseException:
            self._drop(connection)
            raise
        self._busy.discard(connection)
        if response.will_close or len(data) > LARGEST:
            connection.close()
        else:
            self._idle.append(connection)
        return response.status, {name.lower(): value for name, value in response.getheaders()}, data

    def _take(self) -> HTTPConnection | None:
        try:
            connection = self._idle.pop()
        except IndexError:
            return None
        self._busy.add(connection)
        return connection

    def _open(self) -> HTTPConnection:
        kind = HTTPSConnection if self.address.secure else HTTPConnection
        connection = kind(self.address.host, self.address.port, timeout=self._timeout)
        self._busy.add(connection)
        return connection

    def _drop(self, connection: HTTPConnection) -> None:
        self._busy.discard(connection)
        connection.close()

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

    def _refusal(self, status: int, headers: Mapping[str, str], data: bytes) -> Refusal:
        said = self._said(data)
        if status in (401, 403):
            key = "the key was refused" if self._key is not None else "it wants a key"
            remedy = "Put it in the environment variable OPENAI_API_KEY, or name the variable with -M key=VARIABLE"
            return Refusal(f"{self.address}: {key}, status {status}{said}. {remedy}", status)
        if 300 <= status < 400:
            place = self._clean(headers.get("location", "another address"))
            return Refusal(f"{self.address}: sends on to {place}. Use that address", status)
        if status in (404, 405):
            remedy = "Is this the address of an OpenAI-compatible server, up to /v1?"
            return Refusal(f"{self.address}: status {status}{said}. {remedy}", status)
        return Refusal(f"{self.address}: refuses the question, status {status}{said}", status)

    def _said(self, data: bytes) -> str:
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

    def _clean(self, text: str) -> str:
        without = text.replace(self._key, "***") if self._key else text
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in without)

    def _tell(self, trouble: str) -> None:
        if not self._told:
            log.warning("%s: %s; trying again", self.address, trouble)
        self._told = True

    def _pause(self, seconds: float) -> None:
        self._over.wait(seconds)


def _close(connections: list[HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _reason(error: BaseException, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came within {timeout:g} s"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(error, socket.gaierror):
        return f"the host is not known ({error.strerror})"
    return f"the connection failed ({str(error) or type(error).__name__})"


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
