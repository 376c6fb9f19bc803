"""Who is let in: names, origins, tokens, sizes, paths, many at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

import sample_results
from browsing import Served, client_of
from timeouts import PATIENCE
from wug.web import security
from wug.web.app import ErrorPages
from wug.web.site import ForbiddenPath, Site

OWN = "http://127.0.0.1:8000"


@pytest.fixture
def writer(site: Site) -> TestClient:
    """A page that takes what it is sent, behind the guard."""

    async def take(request: Request) -> Response:
        return PlainTextResponse(str(len(await request.body())))

    def fail(request: Request) -> Response:
        raise RuntimeError("a fault of our own")

    app = Starlette(
        routes=[Route("/take", take, methods=["POST", "PUT", "DELETE"]), Route("/fail", fail)],
        middleware=[
            Middleware(security.RequestGuard, site=site),
            Middleware(ErrorPages, site=site),
        ],
    )
    shown = {"authorization": f"Bearer {site.access_token}"}
    return TestClient(app, base_url=OWN, headers=shown, raise_server_exceptions=False)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "192.168.0.7"]
)
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 403
    assert "does not accept the host name" in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST"])
def test_names_of_this_machine_are_let_in(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


def test_a_numeric_address_is_let_in_where_the_user_bound_to_all(site: Site) -> None:
    client = client_of(replace(site, any_ip_address=True), "http://192.168.0.7:8000")
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://localhost", "http://["]
)
def test_a_foreign_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/", headers={"origin": origin}).status_code == 403


def test_our_own_origin_is_let_in(client: TestClient) -> None:
    assert client.get("/", headers={"origin": OWN}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_write_without_the_token_is_refused(writer: TestClient, method: str) -> None:
    answer = writer.request(method, "/take")
    assert answer.status_code == 403
    assert "token" in answer.text
    assert answer.headers["x-wug-reason"] == "token"


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_write_with_another_token_is_refused(writer: TestClient, token: str) -> None:
    assert writer.post("/take", headers={b"x-wug-token": token.encode("latin-1")}).status_code == 403


def test_the_token_is_taken_from_a_header(writer: TestClient, site: Site) -> None:
    assert writer.post("/take", content=b"12345", headers={"x-wug-token": site.csrf_token}).text == "5"


def test_the_token_is_not_taken_from_a_form(writer: TestClient, site: Site) -> None:
    assert writer.post("/take", data={"token": site.csrf_token}).status_code == 403


def test_a_page_carries_the_token_of_its_server(client: TestClient, site: Site) -> None:
    assert f'name="wug-token" content="{site.csrf_token}"' in client.get("/").text
    assert client.get("/token").json() == {"token": site.csrf_token}


def test_a_body_over_the_limit_is_refused_by_its_length(writer: TestClient, site: Site) -> None:
    answer = writer.post(
        "/take", content=b"x" * (security.MAX_BODY_BYTES + 1), headers={"x-wug-token": site.csrf_token}
    )
    assert answer.status_code == 413


def test_a_body_over_the_limit_is_refused_while_it_comes(writer: TestClient, site: Site) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(9):
            yield b"x" * (1024 * 1024)

    answer = writer.post("/take", content=chunks(), headers={"x-wug-token": site.csrf_token})
    assert answer.status_code == 413
    assert "larger than 8 MB" in answer.text


def test_every_answer_binds_the_browser(client: TestClient, writer: TestClient) -> None:
    for answer in (client.get("/"), client.get("/nowhere"), client.get("/static/site.js"), writer.get("/fail")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_fault_of_our_own_is_a_page(writer: TestClient) -> None:
    answer = writer.get("/fail")
    assert answer.status_code == 500
    assert "This is a bug: please report it" in answer.text


@pytest.mark.parametrize("name", ["../secret.json", "a/../../secret.json", "/etc/passwd", "", "x\0y", "~root/x"])
def test_a_name_outside_the_folders_is_forbidden(site: Site, name: str) -> None:
    with pytest.raises(ForbiddenPath):
        site.resolve_path(name)


def test_a_link_out_of_the_folders_is_forbidden(site: Site, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text("{}")
    (site.folders[0] / "link.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(ForbiddenPath):
        site.resolve_path("link.json")


def test_a_name_inside_the_folders_is_found(site: Site) -> None:
    assert site.resolve_path("deep/a.json") == site.folders[0].resolve() / "deep" / "a.json"
    assert site.resolve_path(str(site.folders[0] / "a.json")) == site.folders[0].resolve() / "a.json"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/../../etc/passwd", "/static/no.js"]
)
def test_no_file_outside_the_static_folder_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_file_that_the_reader_has_already_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/static/site.css")
    assert first.headers["content-type"].startswith("text/css")
    assert ".shut" in first.text
    again = client.get("/static/site.css", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content
    other = client.get("/static/site.js", headers={"if-none-match": first.headers["etag"]})
    assert other.status_code == 200
    assert other.headers["content-type"].startswith("text/javascript")


def test_two_hundred_at_once_are_answered(served: Served) -> None:
    sample_results.keep(served.site.store, *sample_results.every())
    addresses = ["/", "/result/2/items", "/state.json", "/runs.csv", "/run/1"] * 40
    limits = httpx.Limits(max_connections=200)
    shown = {"authorization": f"Bearer {served.site.access_token}"}
    asking = httpx.Client(base_url=served.address, limits=limits, timeout=PATIENCE, headers=shown)
    with asking as client, ThreadPoolExecutor(200) as many:
        codes = list(many.map(lambda address: client.get(address).status_code, addresses))
    assert codes == [200] * 200


def test_a_hundred_megabytes_do_not_stop_the_server(served: Served) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * (1024 * 1024)

    shown = {"authorization": f"Bearer {served.site.access_token}"}
    with httpx.Client(base_url=served.address, timeout=PATIENCE, headers=shown) as client:
        try:
            answer = client.post("/anything", content=chunks(), headers={"x-wug-token": served.site.csrf_token})
            assert answer.status_code in (404, 405, 413)
        except (httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
            pass  # the server hung up, as it may
        assert client.get("/").status_code == 200
