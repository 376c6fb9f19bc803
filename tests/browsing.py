"""A site that answers, in this process or on a port, and an eye on what a browser does with it."""

from __future__ import annotations

import os
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from patience import PATIENCE
from wug.web import entrance
from wug.web.app import create
from wug.web.site import Site

OWN = "http://127.0.0.1:8000"


def client_of(site: Site, address: str = OWN) -> TestClient:
    """A client in this process that the site lets in."""
    shown = {"authorization": f"Bearer {site.secret}"}
    return TestClient(create(site), base_url=address, headers=shown, raise_server_exceptions=False)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def full_disk(monkeypatch: Any) -> None:
    """Lead every file that is written whole to /dev/full, as on a disk without room."""

    def fdopen(handle: int, *given: Any, **more: Any) -> Any:
        os.close(handle)
        return Path("/dev/full").open(*given, **more)

    monkeypatch.setattr("wug.files.os.fdopen", fdopen)


@dataclass
class Served:
    """A site on a port of its own; it can be ended and started again."""

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
        return entrance.with_secret(f"{self.address}/", self.site)

    def let_in(self, context: Any) -> None:
        """Give a browser the cookie that it would get at the entrance."""
        context.add_cookies(
            [{"name": f"wug-view-{self.port}", "value": self.site.secret, "url": self.address, "sameSite": "Strict"}]
        )

    def start(self, site: Site | None = None) -> None:
        """Answer from now on; with another site, as after a restart."""
        import uvicorn

        self.site = site or self.site
        config = uvicorn.Config(create(self.site), log_level="error", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        listening = socket.socket()
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):  # who holds the port for the tests does not listen
            listening.setsockopt(socket.SOL_SOCKET, option, 1)
        listening.bind(("127.0.0.1", self.port))
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        until = time.monotonic() + PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RuntimeError("the server does not start")
            self._thread.join(0.02)

    def stop(self) -> None:
        """Answer no more."""
        self._server.should_exit = self._server.force_exit = True
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
