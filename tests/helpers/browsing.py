"""Serves the site in this process or on a port, and records what a browser does with it."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from timeouts import PATIENCE
from wug.web import security
from wug.web.app import create_app
from wug.web.site import Site

OWN = "http://127.0.0.1:8000"
HURRY = """(() => {
  const usual = window.setTimeout;
  window.setTimeout = (act, wait, ...given) => usual(act, wait >= 1000 ? wait / 10 : wait, ...given);
})();"""
"""A script for a page that looks at the server every few seconds: now it looks ten times as often."""
SLOW = 1.5 * (os.environ.get("WUG_TEST_SLOW_SCRIPTS") == "yes")
"""Seconds that every script takes to come; with WUG_TEST_SLOW_SCRIPTS=yes, a test that does not wait for one fails."""


def client_of(site: Site, address: str = OWN) -> TestClient:
    """A client in this process that the site lets in."""
    shown = {"authorization": f"Bearer {site.access_token}"}
    return TestClient(create_app(site), base_url=address, headers=shown, raise_server_exceptions=False)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def follow(page: Any, act: Callable[[], Any]) -> None:
    """Do what leads to another page, and wait until that page is there with its scripts.

    A key that is pressed, or a button that is clicked, before the script that handles it has come is lost.
    """
    with page.expect_navigation(wait_until="load"):
        act()


def with_slow_scripts(app: Any) -> Any:
    """The same site, whose scripts take their time, every time they are asked for."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not scope["path"].endswith(".js"):
            await app(scope, receive, send)
            return

        async def never_kept(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [(name, value) for name, value in message["headers"] if name != b"cache-control"]
                message = {**message, "headers": [*headers, (b"cache-control", b"no-store")]}
            await send(message)

        await asyncio.sleep(SLOW)
        await app(scope, receive, never_kept)

    return answer


def full_disk(monkeypatch: Any) -> None:
    """Lead every file that is written whole to /dev/full, as on a disk without room."""

    def fdopen(handle: int, *given: Any, **more: Any) -> Any:
        os.close(handle)
        return Path("/dev/full").open(*given, **more)

    monkeypatch.setattr("wug.files.os.fdopen", fdopen)


class _Prompt(uvicorn.Server):
    """A server that stops as soon as it is idle; uvicorn's takes 0.1 to 0.2 s."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answers = threading.Event()
        self._ending = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def end(self) -> None:
        """Answer no more; what is being answered has a second."""
        self.should_exit = self.force_exit = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._ending.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.answers.set()
        for count in itertools.count():
            if await self.on_tick(count):
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), 0.1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)  # connections that nobody uses are closed
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=1)


@dataclass
class Served:
    """A site on a free port, which can be stopped and restarted."""

    site: Site
    port: int
    _server: Any = field(default=None, init=False)
    _thread: Any = field(default=None, init=False)

    @property
    def address(self) -> str:
        """Without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def entrance(self) -> str:
        """The address that `wug view` would print."""
        return security.url_with_token(f"{self.address}/", self.site)

    def let_in(self, context: Any) -> None:
        """Give a browser the cookie that it would get at the entrance."""
        context.add_cookies(
            [
                {
                    "name": f"wug-view-{self.port}",
                    "value": self.site.access_token,
                    "url": self.address,
                    "sameSite": "Strict",
                }
            ]
        )

    def start(self, site: Site | None = None) -> None:
        """Answer from now on; with another site, as after a restart."""
        self.site = site or self.site
        app = create_app(self.site)
        config = uvicorn.Config(with_slow_scripts(app) if SLOW else app, log_level="error", lifespan="off", ws="none")
        self._server = _Prompt(config)
        listening = socket.socket()
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # who holds the port for the tests does not listen
            listening.setsockopt(socket.SOL_SOCKET, option, 1)
        listening.bind(("127.0.0.1", self.port))
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        until = time.monotonic() + PATIENCE
        while not self._server.answers.wait(0.5):
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RuntimeError("the server does not start")

    def stop(self) -> None:
        """Answer no more."""
        self._server.end()
        self._thread.join(PATIENCE)


@dataclass
class Recorder:
    """What went wrong in a browser's page, and whom it asked."""

    own: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    """Parts of messages that a test brings about itself."""

    def watch(self, page: Any) -> None:
        """Note everything that happens in `page`."""
        page.on("console", lambda message: self._said(message.type, message.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self._asked(request.url))

    def check(self) -> None:
        """Nothing went wrong, and nobody else was asked."""
        assert not self.errors
        assert not self.foreign

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(part in text for part in self.expected):
            self.errors.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.own, "data:", "blob:", "about:", "file:")):
            self.foreign.append(url)
