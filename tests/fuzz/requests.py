"""Hostile requests to the pages of `wug view`: any answer but a failure of wug itself."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fuzz import damage, mutate, seeds
from fuzz.campaign import Case, Wrong
from fuzz.command import wug

HOST = "127.0.0.1:8000"
ESTIMATES_PER_PAGE = (
    "0",
    "1",
    "2",
    "3",
    "5",
    "-1",
    "007",
    "99",
    "2147483648",
    "9223372036854775807",
    "99999999999999999999",
    "9" * 400,
    "x",
)
FORMS = ("csv", "tsv", "json", "md", "tex", "html", "svg", "png", "parquet", "xlsx", "", "vl.json", "..")
WORDS = (
    "accuracy",
    "all",
    "prediction_0",
    "all_predictions",
    "pattern",
    "value",
    "item",
    "failing",
    "yes",
    "1",
    "1,2",
    "1 2",
)
NAMES = ("q", "page", "sort", "metric", "group", "s", "m", "side", "seen", "suite", "suites", "items", "pool", "form",
"name", "a", "b",
         "kind", "headlines", "runs", "run", "before", "after", "model", "text", "folder", "path", "all", "token",
         "filter", "value")  # fmt: skip
PATHS = (
    "/", "/runs.{form}", "/run/{n}", "/run/{n}.{form}", "/run/{n}/groups", "/run/{n}/figure.{form}", "/result/{n}",
    "/result/{n}.{form}", "/result/{n}/numbers", "/result/{n}/figure/{w}.{form}", "/result/{n}/fragment",
    "/result/{n}/items", "/result/{n}/items.{form}", "/result/{n}/item/{n}", "/result/{n}/outcome/{n}.{form}",
    "/compare", "/compare.{form}",
    "/compare/figure/{w}.{form}", "/suite", "/suite.{form}", "/suite/figure.{form}", "/sentence",
    "/sentence/state.json", "/state.json", "/token", "/favicon.ico", "/assets/report.css", "/static/{w}", "/editor",
    "/editor/new.json", "/editor/upload.json", "/editor/check.json", "/editor/jobs/{w}.json",
    "/editor/jobs/{w}/stop.json", "/editor/table.json", "/sentence/likeliest.json", "/edit?result={n}&item={n}",
    "/editor/runs/{n}.json", "/editor/{d}", "/editor/{d}/draft.json", "/editor/{d}/suite.{form}",
    "/editor/{d}/save.json",
    "/editor/{d}/score.json", "/{w}", "//", "/..%2f..%2fetc/passwd", "/static/../../app.py",
)  # fmt: skip
BODIES: tuple[Any, ...] = (
    {}, [], {"document": None}, {"document": seeds.SUITE, "seen": 1}, {"document": seeds.SUITE, "folder": "x",
    "name": "a.json"},
    {"path": "suites/a.json"}, {"path": "~nobody/x"}, {"folder": "", "name": "../x.json", "overwrite": True},
    {"model": "wug-causal"}, {"name": "a", "kind": "json", "text": "{}"}, {"name": "a\0b", "text": "\ud800"},
    {"seen": 10**30},
)  # fmt: skip


def credentials(site: Any) -> list[tuple[bytes, bytes]]:
    """The headers of a request that may read and write: what a page of the site itself would send."""
    shown = [(b"x-wug-token", str(site.csrf_token).encode())]
    if importlib.util.find_spec("wug.web.security") is not None:
        from wug.web import security

        shown.append((b"cookie", f"{security.cookie_name(HOST)}={site.access_token}".encode()))
    return shown


class Campaign:
    """Requests by path, query, headers and body."""

    name, batch, room = "requests", 1_000, 2**46

    def __init__(self, only: str | None = None) -> None:
        self._only = only
        self._site: Any = None
        self.notes: dict[str, int] = {}

    def prepare(self, folder: Path) -> None:
        """A store with results of several families, and a folder to edit in."""
        from wug.web import app  # noqa: F401

        for suite, model in damage._write_material(folder):
            said = wug("run", suite, "--model", model, "--store", folder / "store", "--no-cache")
            if said.code:
                raise RuntimeError(said.err)
        (folder / "suites").mkdir()
        (folder / "suites" / "a.json").write_bytes(seeds.SUITE_JSON)
        self._folder = folder

    def make(self, draw: random.Random) -> Case:
        """A request; one in a few is odd in more ways than its values."""
        form = draw.choice(FORMS)
        path = draw.choice(PATHS).format(n=draw.choice(ESTIMATES_PER_PAGE), form=form, w=draw.choice(WORDS), d="DRAFT")
        if draw.random() < 0.3:
            path = "/" + _odd(draw, path)
        pairs = [_pair(draw) for _ in range(draw.choice((0, 0, 1, 1, 2, 3, 6)))]
        query = "&".join(pairs).encode("utf-8", "surrogatepass")
        query = query if draw.random() < 0.2 else quote(query, safe="=&").encode()
        method = draw.choice(
            ("GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "X")
        )
        body = b""
        if method in ("POST", "PUT", "DELETE", "PATCH"):
            body = json.dumps(mutate.changed(draw, json.loads(json.dumps(draw.choice(BODIES))))).encode()
            body = mutate.document(draw, body) if draw.random() < 0.4 else body
        headers: list[tuple[str, str]] = []
        if draw.random() < 0.3:
            name = draw.choice(
                ("origin", "accept", "content-type", "content-length", "cookie", "range", "if-none-match", "x-wug-name")
            )
            value = draw.choice(
                ("http://[", "null", "text/html", "application/json", "a=b; c", "bytes=0-", "9" * 30, "é\x80")
            )
            headers.append((name, value))
        if draw.random() < 0.05:
            headers.append(("host", draw.choice(("evil.example", "[", "localhost:x", "127.0.0.1:99999999", ""))))
        plan = {
            "method": method,
            "path": path,
            "query": query.decode("latin-1"),
            "headers": headers,
            "known": draw.random() < 0.9,
        }
        files = {"request.json": json.dumps(plan).encode(), "body.bin": body}
        return Case(f"{method} {_plain(path)}", files, (plan, query, body))

    def attempt(self, case: Case, folder: Path) -> None:
        """Send it to the application."""
        if self._site is None:
            self._open()
        plan, query, body = case.aside
        self._heard.clear()
        drafts = self._drafts()
        path = str(plan["path"]).replace("DRAFT", drafts)
        status, text = self._loop.run_until_complete(self._send(plan, path, query, body))
        self.notes[f"status {status}"] = 1
        for error in self._heard:
            raise error
        if status == 500 or status > 501:
            raise Wrong(f"status {status} from {plan['method']} {path[:80]}: {text[:200]!r}")

    def _open(self) -> None:
        from wug.results.store import Store
        from wug.web.app import create_app
        from wug.web.site import Site

        folder = self._folder
        self._site = Site(store=Store(folder / "store"), cache=folder / "answers.db", folders=(folder / "suites",))
        self._app = create_app(self._site)
        self._loop = asyncio.new_event_loop()
        self._heard: list[BaseException] = []
        logger = logging.getLogger("wug")
        logger.handlers[:] = [_Listener(self._heard)]
        logger.propagate = False

    def _drafts(self) -> str:
        """The name of a draft that is there; a new one now and then."""
        found = sorted(path.stem for path in self._folder.glob("drafts/*.json"))
        return found[0] if found else "none"

    async def _send(self, plan: dict[str, Any], path: str, query: bytes, body: bytes) -> tuple[int, str]:
        given = {
            name.encode("latin-1", "replace"): value.encode("latin-1", "replace") for name, value in plan["headers"]
        }
        headers = [(b"host", given.pop(b"host", HOST.encode())), *given.items()]
        if plan["known"]:
            headers += credentials(self._site)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": plan["method"],
            "scheme": "http",
            "path": path, "raw_path": path.encode("utf-8", "surrogatepass"), "query_string": query, "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 5000), "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        status = next((message["status"] for message in sent if message["type"] == "http.response.start"), 599)
        text = b"".join(message.get("body", b"") for message in sent)[:4000]
        return int(status), text.decode("utf-8", "replace")


class _Listener(logging.Handler):
    """Keeps the errors that the application writes down."""

    def __init__(self, heard: list[BaseException]) -> None:
        super().__init__(logging.ERROR)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._heard.append(record.exc_info[1])


def _odd(draw: random.Random, text: str) -> str:
    odd = draw.choice(mutate.ODD_TEXTS)
    at = draw.randrange(len(text) + 1)
    return text[:at] + odd + text[at + draw.choice((0, 1, 5)) :]


def _pair(draw: random.Random) -> str:
    """A name and a value of a query."""
    name = draw.choice(NAMES) if draw.random() < 0.9 else _odd(draw, "")
    value = draw.choice((*ESTIMATES_PER_PAGE, *WORDS)) if draw.random() < 0.6 else _odd(draw, "")
    return f"{name}={value}"


def _plain(path: str) -> str:
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in path)[:40]
