"""Authentication by the access token in the URL that `wug view` prints.

Every user of a machine can reach its ports. The token is in the URL once: it is exchanged for a cookie, and the browser
is redirected to the URL without it, so that it appears in no Referer header, log or process list.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Any
from urllib.parse import quote, unquote_plus, urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from wug.errors import InputError
from wug.web import templating
from wug.web.site import Site, wants_json
from wug.web.templating import JsonResponse

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


def validate_access_token(token: str) -> str:
    """The token that a user chose; InputError, which does not repeat it, if it is not valid."""
    if not _VALID_TOKEN.match(token):
        raise InputError(
            f"{TOKEN_VARIABLE} should be 16 to 128 letters, digits, '-' and '_' (it has {len(token)} characters). "
            "Unset it, and wug view makes up one of its own"
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
    authenticated = _is_authenticated(headers, site)
    if token is not None and scope["method"] in ("GET", "HEAD") and (authenticated or _is_token(token, site)):
        return _log_in(url, headers, site)
    return None if authenticated else _deny(url, scope, headers)


def _is_authenticated(headers: Headers, site: Site) -> bool:
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and _is_token(bearer.strip(), site):
        return True
    name = cookie_name(headers.get("host", ""))
    # A server at another port can set a cookie of the same name before ours, so each is checked.
    pairs = [part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";")]
    return any(key == name and _is_token(value, site) for key, _, value in pairs)


def _is_token(given: str, site: Site) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), site.access_token.encode())


def _split_token(scope: Scope) -> tuple[str, str | None]:
    """The URL without the token, and the token."""
    token: str | None = None
    kept: list[str] = []
    for part in scope["query_string"].decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if unquote_plus(name) == TOKEN_PARAMETER:
            token = unquote_plus(value)
        elif part:
            kept.append(part)
    # Two slashes at the beginning would turn the rest into a host.
    path = "/" + quote(scope["path"].lstrip("/"), safe="/:@!$&'()*+,;=~", errors="replace")
    query = quote("&".join(kept), safe="/?:@!$&'()*+,;=%~")
    return (f"{path}?{query}" if query else path), token


def _log_in(url: str, headers: Headers, site: Site) -> Response:
    response: Response
    if headers.get("sec-fetch-site") in CROSS_SITE:
        # After a link on another site, browsers send no strict cookie through all redirects; a page of our own that
        # refreshes to the URL ends that.
        response = _page(leads_to=url)
    else:
        response = RedirectResponse(url, status_code=303, headers={"cache-control": "no-store"})
    response.set_cookie(
        cookie_name(headers.get("host", "")), site.access_token, httponly=True, samesite="strict", path="/"
    )
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


def _page(status: int = 200, **context: Any) -> HTMLResponse:
    """A self-contained page: without a token nothing else can be loaded."""
    text, style = (templating.environment().get_template(f"login.{end}").render(context) for end in ("html", "css"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(
        text, status_code=status, headers={"content-security-policy": policy, "cache-control": "no-store"}
    )
