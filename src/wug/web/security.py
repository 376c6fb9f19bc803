"""Request checks and response headers: host, origin, access token, CSRF token, body size, content security policy.

A page of another site that the user visits can send requests to this server. It cannot read the responses, but DNS
rebinding could make them readable: so the Host must be one of ours, an Origin must match it, and every write must
carry the CSRF token, which only our own pages contain.

Every user of a machine can reach its ports, so every request must carry the access token. It is in the URL that
`wug view` prints: it is exchanged for a cookie, and the browser is redirected to the URL without it, so that it appears
in no Referer header, log or process list.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import re
from contextlib import suppress
from urllib.parse import quote, unquote_plus, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wug.errors import InputError
from wug.web import site as templating
from wug.web.site import JsonResponse, Site, wants_json

MAX_BODY_BYTES = 8 * 1024 * 1024
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
TOKEN_PARAMETER = "token"
"""Query parameter with the access token."""
TOKEN_VARIABLE = "WUG_VIEW_TOKEN"
"""Environment variable that sets the access token."""
CROSS_SITE = ("cross-site", "same-site")
"""Values of Sec-Fetch-Site for requests from other sites, with which browsers send no SameSite=strict cookie."""
_VALID_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,128}\Z")
_PRIVATE = (
    "Only the person who started wug view can see it. Open the address that wug view printed in its terminal, with the "
    "part after “?token=”. The address changes each time wug view starts."
)


class BodyTooLarge(Exception):
    """The request body exceeds the limit."""


class RequestGuard:
    """Middleware that rejects foreign hosts and origins, missing tokens, and bodies that are too large.

    It adds the security headers to every response.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app, self.site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] == "websocket":
            return  # the site has none
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_response, received_bytes = False, 0

        async def send_with_headers(message: Message) -> None:
            nonlocal has_response
            if message["type"] == "http.response.start":
                has_response, headers = True, MutableHeaders(scope=message)
                for name, value in RESPONSE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        async def limited_receive() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > MAX_BODY_BYTES:
                raise BodyTooLarge
            return message

        if (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send_with_headers)
            return
        try:
            await self.app(scope, limited_receive, send_with_headers)
        except BodyTooLarge:
            if not has_response:
                await _reject(413, _TOO_LARGE, "size")(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """The response to a request that does not reach the pages."""
        headers = Headers(scope=scope)
        if fault := _foreign_request(headers, self.site):
            return _reject(403, fault, "host")
        if (response := login_response(scope, self.site)) is not None:
            return response
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 15 or int(length) > MAX_BODY_BYTES):
            return _reject(413, _TOO_LARGE, "size")
        if scope["method"] not in SAFE_METHODS and not _is_equal(headers.get("x-wug-token", ""), self.site.csrf_token):
            return _reject(403, _NO_TOKEN, "token")
        return None


def _foreign_request(headers: Headers, site: Site) -> str:
    host, origin = headers.get("host", ""), headers.get("origin")
    if not _is_own_host(host, site):
        return f"This server does not accept the host name {host!r}. Open it at the address that wug view printed."
    with suppress(ValueError):  # the origin may not be a URL
        if origin is None or urlsplit(origin).netloc.lower() == host.lower():
            return ""
    return f"A page of {origin!r} sent this request. Only wug's own pages may."


def _is_own_host(host: str, site: Site) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        if name in site.hosts:
            return True
        ipaddress.ip_address(name)  # DNS rebinding needs a name: an IP address is safe
        return site.any_ip_address
    except ValueError:
        return False


def _reject(status: int, text: str, reason: str) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status_code=status, headers={"x-wug-reason": reason, "connection": "close"})


def validate_access_token(token: str) -> str:
    """The token that a user chose; InputError, which does not repeat it, if it is not valid."""
    if not _VALID_TOKEN.match(token):
        raise InputError(
            f"{TOKEN_VARIABLE} should be 16 to 128 letters, digits, '-' and '_' (it has {len(token)} characters). "
            "Unset it, and wug view generates one"
        )
    return token


def url_with_token(url: str, site: Site) -> str:
    """The URL as it is printed, which authenticates the browser that opens it."""
    return f"{url}?{TOKEN_PARAMETER}={site.access_token}"


def cookie_name(host: str) -> str:
    """Name of the cookie for a Host header.

    All ports of a host share their cookies, so the name contains the port: the one that the browser sees, at the near
    end of a tunnel.
    """
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    return f"wug-view-{port or 80}"


def login_response(scope: Scope, site: Site) -> Response | None:
    """The response to a request with the token in its URL, or without a token; None if it may proceed."""
    headers = Headers(scope=scope)
    url, token = _split_token(scope)
    is_authenticated = _is_authenticated(headers, site)
    may_log_in = token is not None and (is_authenticated or _is_equal(token, site.access_token))
    if may_log_in and scope["method"] in SAFE_METHODS:
        return _log_in(url, headers, site)
    return None if is_authenticated else _deny(url, scope, headers)


def _is_authenticated(headers: Headers, site: Site) -> bool:
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and _is_equal(bearer.strip(), site.access_token):
        return True
    name = cookie_name(headers.get("host", ""))
    # A server at another port can set a cookie of the same name before ours, so each is checked.
    pairs = [part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";")]
    return any(key == name and _is_equal(value, site.access_token) for key, _, value in pairs)


def _is_equal(text: str, token: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), token.encode())


def _split_token(scope: Scope) -> tuple[str, str | None]:
    token: str | None = None
    parameters: list[str] = []
    for part in scope["query_string"].decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if unquote_plus(name) == TOKEN_PARAMETER:
            token = unquote_plus(value)
        elif part:
            parameters.append(part)
    # Two slashes at the beginning would turn the rest into a host.
    path = "/" + quote(scope["path"].lstrip("/"), safe="/:@!$&'()*+,;=~", errors="replace")
    query = quote("&".join(parameters), safe="/?:@!$&'()*+,;=%~")
    return (f"{path}?{query}" if query else path), token


def _log_in(url: str, headers: Headers, site: Site) -> Response:
    response: Response = RedirectResponse(url, status_code=303, headers={"cache-control": "no-store"})
    if headers.get("sec-fetch-site") in CROSS_SITE:
        # After a link on another site, browsers send no strict cookie through all redirects; a page of this site that
        # refreshes to the URL ends that.
        response = _page(leads_to=url)
    name = cookie_name(headers.get("host", ""))
    response.set_cookie(name, site.access_token, httponly=True, samesite="strict", path="/")
    return response


def _deny(url: str, scope: Scope, headers: Headers) -> Response:
    reason = {"x-wug-reason": "secret"}
    if wants_json(scope["path"], headers):
        return JsonResponse({"error": _PRIVATE}, status_code=403, headers=reason)
    response = _page(
        403, leads_to="", private=_PRIVATE, address=url, elsewhere=headers.get("sec-fetch-site") in CROSS_SITE
    )
    response.headers.update(reason)
    return response


def _page(status: int = 200, **context: object) -> HTMLResponse:
    """A self-contained page: without a token nothing else can be loaded."""
    text, style = (templating.environment().get_template(f"login.{end}").render(context) for end in ("html", "css"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(
        text, status_code=status, headers={"content-security-policy": policy, "cache-control": "no-store"}
    )
