"""A catalogue of fake datasets, and a server in a thread that can return errors."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

from wug.data import catalogue

COMMIT = "0123456789abcdef0123456789abcdef01234567"
GOOD = b'{"sentence_good": "The wug sleeps.", "sentence_bad": "The wug sleep."}\n'
CONTENT = {
    "data/agreement.jsonl": GOOD * 2000,
    "data/binding.jsonl": GOOD * 3,
    "data/more/a = (1), +#2.tsv": b"x\ty\tz\n",
    "data/more/train.tsv": b"not for tests\n",
    "data/more/unseen.tsv": b"of this file only the Git blob is known\n",
}


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def line(path: str) -> str:
    content = CONTENT[path]
    if path.endswith("unseen.tsv"):
        return f"git:{git_blob(content)} - {path}"
    return f"{hashlib.sha256(content).hexdigest()} {len(content)} {path}"


def small_set(name: str, title: str, language: str, licence: str = "") -> str:
    return f"""
[sets.{name}]
title = "{title}"
family = "pairs"
languages = ["{language}"]
items = "3 pairs"
{licence}
cite = ["berko1958"]
repository = "github.com/nobody/{name}"
commit = "{COMMIT}"
files = '''
{line("data/binding.jsonl")}
'''
"""


TEXT = f"""
[papers.berko1958]
short = "Berko 1958, Word 14"
type = "article"
author = "Berko, Jean"
title = "The Child's Learning of English Morphology"
journal = "Word"
year = 1958

[sets.wugs]
title = "Made-up wugs"
family = "pairs"
languages = ["en"]
items = "2,003 pairs"
licence = "MIT"
cite = ["berko1958"]
repository = "github.com/nobody/wugs"
commit = "{COMMIT}"
suite = ["*.jsonl"]
training = ["*/train.tsv"]
parts.both = ["agreement.jsonl", "more"]
files = '''
{chr(10).join(map(line, CONTENT))}
'''

{small_set("guarded", "Not for trade", "fr-CA", 'licence = "CC-BY-NC-4.0"')}
{small_set("unlicensed", "Silent on licences", "fr")}
"""


def use_fake_datasets(patch: Callable[[object, str, object], None]) -> None:
    """Put the made-up catalogue in the place of the real one."""
    catalogue.catalogue.cache_clear()
    patch(catalogue, "_text", lambda: TEXT)


Behaviour = Callable[["Handler", bytes], None]


@dataclass
class Mirror:
    """What the server was asked, as path and range, and how it answers some paths; the others it answers truly."""

    url: str = ""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    behaviours: dict[str, Behaviour] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mirror: Mirror

    def do_GET(self) -> None:
        _, _, _, commit, path = unquote(self.path).split("/", 4)
        self.mirror.asked.append((path, self.headers["Range"]))
        if commit != COMMIT or path not in CONTENT:
            self.answer(404, b"")
        else:
            self.mirror.behaviours.get(path, truly)(self, CONTENT[path])

    def answer(self, status: int, content: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def truly(handler: Handler, content: bytes) -> None:
    """The bytes that were asked for."""
    asked = handler.headers["Range"]
    if asked is None:
        return handler.answer(200, content)
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    if start >= len(content):
        return handler.answer(416, b"")
    return handler.answer(206, content[start:], Content_Range=f"bytes {start}-{len(content) - 1}/{len(content)}")


def flipped(handler: Handler, content: bytes) -> None:
    """One bit is wrong."""
    handler.answer(200, content[:10] + bytes([content[10] ^ 1]) + content[11:])


def cut(handler: Handler, content: bytes) -> None:
    """Send half a file, then close the connection; ranges are ignored."""
    handler.answer(200, content[: len(content) // 2], len(content))
    handler.close_connection = True


def first(behaviour: Behaviour) -> Behaviour:
    """Badly the first time, truly from then on."""
    waiting = [behaviour]
    return lambda handler, content: (waiting.pop() if waiting else truly)(handler, content)


@contextmanager
def mirror() -> Iterator[Mirror]:
    told = Mirror()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Handler,), {"mirror": told}))
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
