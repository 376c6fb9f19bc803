"""Request checks and response headers: host, origin, access token, CSRF token, body size, content security policy.

A page of another site that the user visits can send requests to this server. It cannot read the responses, but DNS
rebinding could make them readable: so the Host must be one of ours, an Origin must match it, and every write must
carry the CSRF token, which only our own pages contain. Other users of the machine are not bound by a browser: every
request must carry the access token (`authentication`).
"""

from __future__ import annotations

import hmac
import ipaddress
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug.web import authentication
from wug.web.site import Site

MAX_BODY_BYTES = 8 * 1024 * 1024
MAX_FORM_BYTES = 256 * 1024
"""Bytes of a form that are read to find its CSRF token."""
SAFE_METHODS = ("GET", "HEAD")
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
RESPONSE_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-cache",
}

_NO_TOKEN = (
    "Nothing was changed: the request did not contain this page's token. Reload the page (the server may have been "
    "restarted) and try again."
)
_TOO_LARGE = f"Nothing was changed: the request is larger than {MAX_BODY_BYTES // 1024 // 1024} MB."


class BodyTooLarge(Exception):
    """The request body exceeds the limit."""


class SecurityHeaders:
    """Middleware that adds the security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in RESPONSE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class RequestGuard:
    """Middleware that rejects foreign hosts and origins, missing tokens, and bodies that are too large."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            return  # the site has none
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if fault := _foreign_request(headers, self.site):
            await _reject(403, fault, "host")(scope, receive, send)
            return
        if (response := authentication.login_response(scope, self.site)) is not None:
            await response(scope, receive, send)
            return
        if _content_length(headers) > MAX_BODY_BYTES:
            await _reject(413, _TOO_LARGE, "size")(scope, receive, send)
            return
        started = False

        async def tracked_send(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        limited: Receive = _LimitedReceive(receive)
        try:
            if scope["method"] not in SAFE_METHODS:
                limited, token = await _csrf_token(headers, limited)
                if not hmac.compare_digest(token.encode(), self.site.csrf_token.encode()):
                    await _reject(403, _NO_TOKEN, "token")(scope, receive, tracked_send)
                    return
            await self.app(scope, limited, tracked_send)
        except BodyTooLarge:
            if not started:
                await _reject(413, _TOO_LARGE, "size")(scope, receive, send)


class _LimitedReceive:
    """Receives a body up to the limit."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.received_bytes = receive, 0

    async def __call__(self) -> Message:
        message = await self.receive()
        if message["type"] == "http.request":
            self.received_bytes += len(message.get("body", b""))
            if self.received_bytes > MAX_BODY_BYTES:
                raise BodyTooLarge
        return message


def _foreign_request(headers: Headers, site: Site) -> str:
    """Why the host or the origin is not accepted; empty if both are."""
    host = headers.get("host", "")
    if not _is_own_host(host, site):
        return f"This server does not accept the host name {host!r}. Open it at the address that wug view printed."
    origin = headers.get("origin")
    if origin is not None and _host_and_port(origin) != host.lower():
        return f"A page of {origin!r} sent this request. Only wug's own pages may."
    return ""


def _host_and_port(origin: str) -> str:
    """Host and port of an Origin header; empty if it is malformed."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _is_own_host(host: str, site: Site) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name.lower() in site.hosts:
        return True
    if not site.any_ip_address:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True  # DNS rebinding needs a name: an IP address is safe


def _content_length(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    if not given.isdecimal():
        return 0
    return int(given) if len(given) < 16 else MAX_BODY_BYTES + 1


async def _csrf_token(headers: Headers, receive: Receive) -> tuple[Receive, str]:
    """The CSRF token in a header or a form, and a `receive` that replays what was read."""
    if headers.get("x-wug-token") is not None:
        return receive, headers["x-wug-token"]
    if not headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        return receive, ""
    body, more = b"", True
    while more and len(body) <= MAX_FORM_BYTES:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if more:
        raise BodyTooLarge
    try:
        given = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10_000).get("token", [""])
    except ValueError:  # more fields than any of our forms has
        given = [""]
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return pending.pop() if pending else await receive()

    return replay, given[0]


def _reject(status: int, text: str, reason: str) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status_code=status, headers={"x-wug-reason": reason, "connection": "close"})
