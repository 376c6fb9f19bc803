"""A hub that cannot be reached: one message at once, or what is in the local cache."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from command_line import run_python
from timeouts import PATIENCE
from wug.models.huggingface import hub
from wug.models.spec import parse


@pytest.fixture
def closed() -> str:
    """The address of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(params=[200, 404, 429, 502])
def answering(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The address of a server that answers everything with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(request.param)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", request.param
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _online(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user has it; nothing outside this machine is asked."""
    from huggingface_hub import close_session, constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    close_session()


def test_any_word_of_the_hub_itself_is_an_answer(answering: tuple[str, int]) -> None:
    address, status = answering
    assert hub.reachable(address, PATIENCE) == (status != 502)


def test_a_closed_port_and_a_server_that_says_nothing_are_none(closed: str) -> None:
    assert not hub.reachable(closed, PATIENCE)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert not hub.reachable(f"http://127.0.0.1:{silent.getsockname()[1]}", 0.05)


def test_a_model_that_is_nowhere_is_one_message_before_anything_heavy_is_imported(closed: str, tmp_path: Path) -> None:
    code = (
        "import sys; from wug.evaluation.models import open_model; from wug.errors import ModelError\n"
        "try: open_model('causal:gpt2')\n"
        "except ModelError as error: print(error)\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    output = run_python("-c", code, env={"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": closed, "HF_HOME": str(tmp_path)})
    assert output.err == ""
    assert output.out == (
        f"causal:gpt2: neither a local folder nor a model in the Hub's cache, and the Hub ({closed}) cannot be "
        "reached. Check the spelling and the network, or download the model elsewhere and give its folder\n"
    )


def test_a_model_in_the_local_cache_comes_from_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = parse("causal:gpt2", ["causal"], None)
    monkeypatch.setattr(hub, "reachable", lambda endpoint, patience: False)
    monkeypatch.setattr(hub, "snapshot", lambda spec: tmp_path)
    assert hub.must_be_cached(spec)
    monkeypatch.setattr(hub, "reachable", lambda endpoint, patience: True)
    assert not hub.must_be_cached(spec)
