"""What keeps others out: names, origins, the secret, the page's token, the size of what is sent, what a page may load.

A page of another site that the user visits can send requests to this one. It cannot read the answers, but a
name that it lets point here could: so the Host must be one of ours, an Origin the very same, and whoever
writes must show the token, which only our own pages carry. Another user of the machine has no such bounds: whoever
asks for anything must show the secret (`entrance`).
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers as Given
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug.web import authentication
from wug.web.site import Site

LIMIT = 8 * 1024 * 1024
"""Bytes of what is sent at once."""
FORM = 256 * 1024
"""Bytes of a form that are read to find its token."""
READING = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class TooLarge(Exception):
    """More was sent than is taken."""


class Headers:
    """Every answer with the headers that bind the browser."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and add to what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        await self.app(scope, receive, with_headers)


class Guard:
    """Refuses foreign names and origins, those without the secret, writes without the token, bodies too large."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may pass."""
        if scope["type"] == "websocket":
            return  # there are none
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Given(scope=scope)
        fault = _foreign(headers, self.site)
        if fault:
            await _refuse(403, fault, "host")(scope, receive, send)
            return
        instead = authentication.answer(scope, self.site)
        if instead is not None:
            await instead(scope, receive, send)
            return
        if _length(headers) > LIMIT:
            await _refuse(413, _TOO_LARGE, "size")(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        limited: Receive = _Limited(receive)
        try:
            if scope["method"] not in READING:
                limited, shown = await _shown(headers, limited)
                if not hmac.compare_digest(shown.encode(), self.site.token.encode()):
                    await _refuse(403, _NO_TOKEN, "token")(scope, receive, watched)
                    return
            await self.app(scope, limited, watched)
        except TooLarge:
            if not started:
                await _refuse(413, _TOO_LARGE, "size")(scope, receive, send)


class _Limited:
    """What is sent, up to the limit."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.taken = receive, 0

    async def __call__(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.request":
            self.taken += len(message.get("body", b""))
            if self.taken > LIMIT:
                raise TooLarge
        return message


def _foreign(headers: Given, site: Site) -> str:
    """What is foreign about a request; empty where nothing is."""
    host = headers.get("host", "")
    if not _known(host, site):
        return (
            f"This page belongs to your own machine and was asked for under the name {host!r}, which is not one "
            "of its own. Open it under the address that wug view printed."
        )
    origin = headers.get("origin")
    if origin is not None and _authority(origin) != host.lower():
        return f"A page of {origin!r} asked for this one. Only wug's own pages may."
    return ""


def _authority(origin: str) -> str:
    """Host and port of an Origin header; empty where it is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _known(host: str, site: Site) -> bool:
    """Whether a Host header names this site."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name.lower() in site.hosts:
        return True
    if not site.any_address:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True  # a numeric address is nobody's name, so no other site can make it point here


def _length(headers: Given) -> int:
    given = headers.get("content-length", "0")
    if not given.isdecimal():
        return 0
    return int(given) if len(given) < 16 else LIMIT + 1


async def _shown(headers: Given, receive: Receive) -> tuple[Receive, str]:
    """The token that a request shows, in a header or a form; and the request, to be read again."""
    if headers.get("x-wug-token") is not None:
        return receive, headers["x-wug-token"]
    if not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return receive, ""
    body, more = b"", True
    while more and len(body) <= FORM:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if more:
        raise TooLarge
    try:
        given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10_000).get("token", [""])
    except ValueError:  # more fields than any form of ours has
        given = [""]
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again, given[0]


def _refuse(status: int, text: str, reason: str) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status_code=status, headers={"x-wug-reason": reason, "connection": "close"})


_NO_TOKEN = (
    "Nothing was changed: the request did not show this page's token. Reload the page (the server may have been "
    "started again) and try once more."
)
_TOO_LARGE = f"Nothing was changed: what was sent is larger than {LIMIT // 1024 // 1024} MB."
