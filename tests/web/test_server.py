"""`wug view`: the address it prints, the port it takes, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from command_line import start_wug, wug
from timeouts import PATIENCE
from wug.errors import WugError
from wug.web.app import ServerOptions, create_site, listen


def options(tmp_path: Path, host: str = "127.0.0.1", **given: object) -> ServerOptions:
    usual = {"store": tmp_path / "store", "cache": tmp_path / "answers.db", "folders": (tmp_path,), "models": ()}
    return ServerOptions(**{**usual, "host": host, "port": 0, "open_browser": False, **given})  # type: ignore[arg-type]


def test_help_has_an_example() -> None:
    said = wug("view", "--help")
    assert said.code == 0
    assert "wug view --store demo/store --no-open" in said.out


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_answers_at_the_address_it_prints_and_ends_clean(tmp_path: Path, how: signal.Signals) -> None:
    command = ("view", "--no-open", "--port", 0, "--store", tmp_path / "store")
    with start_wug(*command, env={**os.environ, "PYTHONWARNINGS": "default"}) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address) as answer:
            assert "No runs yet" in answer.read().decode()
            assert "token" not in answer.url
        server.send_signal(how)
        out, err = server.communicate(timeout=PATIENCE)
    assert server.returncode == 0
    assert out.endswith("ended\n")
    assert err == ""


def test_a_port_that_is_taken_gives_way_to_a_free_one() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with listen("127.0.0.1", port) as second:
            assert second.getsockname()[1] != port


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(WugError, match="cannot listen at"):
        listen("203.0.113.7", 0)


def test_a_site_on_this_machine_knows_no_other_name(tmp_path: Path) -> None:
    site = create_site(options(tmp_path))
    assert site.hosts == {"127.0.0.1", "localhost", "::1"}
    assert not site.any_ip_address


def test_a_site_on_all_addresses_knows_the_machine_by_name(tmp_path: Path) -> None:
    site = create_site(options(tmp_path, host="0.0.0.0"))
    assert socket.gethostname().lower() in site.hosts
    assert site.any_ip_address


def test_models_are_those_given_besides_the_built_in_ones(tmp_path: Path) -> None:
    assert create_site(options(tmp_path, models=("causal:gpt2", "causal:gpt2"))).models[-1:] == ("causal:gpt2",)


def test_a_store_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.db").write_text("plain text, and long enough to be looked at as a header of a database")
    said = wug("view", "--no-open", "--port", "0", "--store", tmp_path / "no.db")
    assert said.code == 1
    assert "is a file, and a store is a folder" in said.err
