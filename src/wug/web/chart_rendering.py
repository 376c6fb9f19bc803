"""Vega in a subprocess: the bundled script for the browser, and charts as images.

The JavaScript engine takes about 100 MB that the server would never get back, so each call runs in its own process.
The script is built once and stored next to the cache.
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
from wug.web.templating import make_printable

_BUILD_SCRIPT = "import sys; from wug.views import vega; sys.stdout.buffer.write(vega.javascript().encode())"
_RENDER_IMAGE = (
    "import json, sys; from wug.views.vega import KINDS;"
    "sys.stdout.buffer.write(KINDS[sys.argv[1]](json.load(sys.stdin)))"
)
_END_OF_SCRIPT = b"\n/* whole */"
"""Tells a complete script on disk from a truncated one."""

_scripts: dict[str, bytes] = {}
_lock = threading.Lock()


def vega_script(folder: Path) -> bytes:
    """The bundled Vega script, read from `folder` or built and saved there."""
    name = _script_name()
    with _lock:
        if name not in _scripts:
            _scripts[name] = _read_script(folder / name) or _build_script(folder / name)
        return _scripts[name]


def render_image(spec: dict[str, Any], suffix: str) -> bytes:
    """Render a chart as `.svg` or `.png`, one at a time."""
    with _lock:
        return _run_python([_RENDER_IMAGE, suffix], json.dumps(_printable(spec)).encode())


def _script_name() -> str:
    """File name of the script, which changes with the version of Vega."""
    try:
        return f"vega-{version('vl-convert-python')}-{version('altair')}.js"
    except PackageNotFoundError:
        raise MissingExtra("charts", "web") from None


def _printable(value: Any) -> Any:
    """The chart without control characters, which the engine rejects."""
    if isinstance(value, str):
        return make_printable(value)
    if isinstance(value, dict):
        return {make_printable(key): _printable(inner) for key, inner in value.items()}
    return [_printable(inner) for inner in value] if isinstance(value, list) else value


def _read_script(path: Path) -> bytes:
    try:
        found = path.read_bytes()
    except OSError:
        return b""
    return found if found.rstrip().endswith(_END_OF_SCRIPT) else b""


def _build_script(path: Path) -> bytes:
    script = _run_python([_BUILD_SCRIPT]) + _END_OF_SCRIPT
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".part")
        partial.write_bytes(script)
        partial.replace(path)
    except OSError:
        pass  # it is built again at the next start
    return script


def _run_python(code: list[str], stdin: bytes = b"") -> bytes:
    done = subprocess.run([sys.executable, "-c", *code], input=stdin, capture_output=True, check=False)
    if done.returncode:
        raise WugError(f"charts cannot be drawn: {done.stderr.decode(errors='replace').strip()[-400:]}")
    return done.stdout
