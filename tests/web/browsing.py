"""A site that answers on a port, and an eye on what a browser does with it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from wug.web.app import create
from wug.web.site import Site


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

    def start(self, site: Site | None = None) -> None:
        """Answer from now on; with another site, as after a restart."""
        import uvicorn

        self.site = site or self.site
        config = uvicorn.Config(
            create(self.site), host="127.0.0.1", port=self.port, log_level="error", lifespan="off", ws="none"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        for _ in range(1000):
            if self._server.started:
                return
            self._thread.join(0.02)
        raise RuntimeError("the server does not start")

    def stop(self) -> None:
        """Answer no more."""
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(20)


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
        if not url.startswith((self.own, "data:", "blob:", "about:")):
            self.foreign.append(url)
