"""What takes a JavaScript engine: Vega as one script, and charts as pictures.

Each is made in a process of its own, since the engine takes a hundred megabytes which the server would never give
back. The script is made once and kept beside the answer cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, WugError
from wug.web.templating import visible

_MAKE = "import sys; from wug.show import vega; sys.stdout.buffer.write(vega.javascript().encode())"
_PICTURE = (
    "import json, sys; from wug.show.vega import KINDS;"
    "sys.stdout.buffer.write(KINDS[sys.argv[1]](json.load(sys.stdin)))"
)
_made: dict[str, bytes] = {}
_lock = threading.Lock()


def name() -> str:
    """What the script is called; another release of Vega is another file."""
    try:
        return f"vega-{version('vl-convert-python')}-{version('altair')}.js"
    except PackageNotFoundError:
        raise MissingExtra("charts", "web") from None


def script(folder: Path) -> bytes:
    """The script; `folder` is where it is kept for the next start."""
    with _lock:
        if name() not in _made:
            _made[name()] = _read(folder / name()) or _make(folder / name())
        return _made[name()]


def picture(spec: dict[str, Any], ending: str) -> bytes:
    """A chart, dressed for a file, as `.svg` or `.png`; one at a time, however many are asked for."""
    with _lock:
        return _process([_PICTURE, ending], json.dumps(_drawable(spec)).encode())


def _drawable(value: Any) -> Any:
    """The chart with pictures for control characters, at which the engine would give up."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _drawable(inner) for key, inner in value.items()}
    return [_drawable(inner) for inner in value] if isinstance(value, list) else value


def _read(path: Path) -> bytes:
    try:
        found = path.read_bytes()
    except OSError:
        return b""
    return found if found.rstrip().endswith(_END) else b""


def _make(path: Path) -> bytes:
    made = _process([_MAKE]) + _END
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(made)
        part.replace(path)
    except OSError:
        pass  # it is made again at the next start
    return made


def _process(code: list[str], given: bytes = b"") -> bytes:
    """What a piece of Python prints."""
    done = subprocess.run([sys.executable, "-c", *code], input=given, capture_output=True, check=False)
    if done.returncode:
        raise WugError(f"charts cannot be drawn: {done.stderr.decode(errors='replace').strip()[-400:]}")
    return done.stdout


_END = b"\n/* whole */"
