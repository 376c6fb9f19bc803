"""Who may come in: whoever shows the secret in the address that `wug view` printed.

Everybody who works on a machine can reach its ports. The secret stands in an address once, is exchanged for a cookie,
and the browser goes on to the address without it: so it gets into no Referer, no log and no list of processes.
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
from wug.web.templating import Json

FIELD = "token"
"""What the secret is called in an address."""
VARIABLE = "WUG_VIEW_TOKEN"
"""The environment variable by which the user chooses it."""
ELSEWHERE = ("cross-site", "same-site")
"""What a browser says of a request that a page of another site brought about: it keeps the cookie back then."""

_FIT = re.compile(r"[A-Za-z0-9_-]{16,128}\Z")


def chosen(secret: str) -> str:
    """The secret that a user chose, or an error that does not repeat it."""
    if not _FIT.match(secret):
        raise InputError(
            f"{VARIABLE} should be 16 to 128 letters, digits, '-' and '_' (it has {len(secret)} characters). "
            "Unset it, and wug view makes up one of its own"
        )
    return secret


def with_secret(address: str, site: Site) -> str:
    """The address as it is printed, which lets in whoever opens it."""
    return f"{address}?{FIELD}={site.secret}"


def cookie(host: str) -> str:
    """The cookie's name for a Host header: cookies are shared by all ports of a host, so each has a name of its own.

    The port is the one that the browser sees, at the near end of a tunnel.
    """
    try:
        port = urlsplit(f"//{host}").port
    except ValueError:
        port = None
    return f"wug-view-{port or 80}"


def answer(scope: Scope, site: Site) -> Response | None:
    """What a request gets instead of a page: the way in, or a word to whoever is not let in; None where it may pass."""
    headers = Headers(scope=scope)
    address, given = _parted(scope)
    known = _shows_secret(headers, site)
    if given is not None and scope["method"] in ("GET", "HEAD") and (known or _same(given, site)):
        return _let_in(address, headers, site)
    return None if known else _turned_away(address, scope, headers)


def _shows_secret(headers: Headers, site: Site) -> bool:
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and _same(bearer.strip(), site):
        return True
    name = cookie(headers.get("host", ""))
    # A server at another port can put a cookie of the same name before ours, so each is looked at.
    pairs = [part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";")]
    return any(key == name and _same(value, site) for key, _, value in pairs)


def _same(given: str, site: Site) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), site.secret.encode())


def _parted(scope: Scope) -> tuple[str, str | None]:
    """The address without the secret, and the secret that it shows."""
    given: str | None = None
    kept: list[str] = []
    for part in scope["query_string"].decode("latin-1").split("&"):
        name, _, value = part.partition("=")
        if unquote_plus(name) == FIELD:
            given = unquote_plus(value)
        elif part:
            kept.append(part)
    # Two slashes at the beginning would make a host of what follows.
    path = "/" + quote(scope["path"].lstrip("/"), safe="/:@!$&'()*+,;=~", errors="replace")
    query = quote("&".join(kept), safe="/?:@!$&'()*+,;=%~")
    return (f"{path}?{query}" if query else path), given


def _let_in(address: str, headers: Headers, site: Site) -> Response:
    made: Response
    if headers.get("sec-fetch-site") in ELSEWHERE:
        # A browser that follows a foreign page's link keeps the cookie back through all redirects; a page of ours
        # that leads on does not have that fault.
        made = _page(leads_to=address)
    else:
        made = RedirectResponse(address, status_code=303, headers={"cache-control": "no-store"})
    made.set_cookie(cookie(headers.get("host", "")), site.secret, httponly=True, samesite="strict", path="/")
    return made


def _turned_away(address: str, scope: Scope, headers: Headers) -> Response:
    reason = {"x-wug-reason": "secret"}
    if wants_json(scope["path"], headers):
        return Json({"error": _PRIVATE}, status_code=403, headers=reason)
    made = _page(
        403, leads_to="", private=_PRIVATE, address=address, elsewhere=headers.get("sec-fetch-site") in ELSEWHERE
    )
    made.headers.update(reason)
    return made


def _page(status: int = 200, **words: Any) -> HTMLResponse:
    """A page that needs nothing else, since nothing else is given out yet."""
    text, style = (templating.environment().get_template(f"entrance.{end}").render(words) for end in ("html", "css"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; frame-ancestors 'none'"
    return HTMLResponse(
        text, status_code=status, headers={"content-security-policy": policy, "cache-control": "no-store"}
    )


_PRIVATE = (
    "Only the person who started wug view can see it. Open the address that wug view printed in its terminal, with the "
    "part after “?token=”. The address changes each time wug view starts."
)
