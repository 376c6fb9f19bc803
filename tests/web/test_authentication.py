"""Who is let in: the secret in the printed address, the cookie that it is exchanged for, and those who have neither."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from starlette.testclient import TestClient

import sample_results
from browsing import HURRY, OWN, Served, follow
from wug.errors import InputError
from wug.web import app, security
from wug.web.app import create_app
from wug.web.site import Site

SECRET = "a-secret-of-my-own_0123456789"
PATHS = (
    "/", "/runs.csv", "/runs.json", "/run/1", "/run/1.csv", "/result/1", "/result/1/items", "/result/1/items.csv",
    "/result/1/outcome/0.json", "/result/1/figure/margins.vl.json", "/compare?run=1&run=1", "/compare.csv",
    "/suite?name=x", "/editor", "/editor/new.json", "/editor/aaaaaaaa/draft.json", "/editor/aaaaaaaa/suite.json",
    "/sentence",
    "/sentence/state.json", "/token", "/state.json", "/assets/vega.js", "/assets/report.css", "/static/site.js",
    "/favicon.ico", "/nowhere", "/result/99999999999999999999",
)  # fmt: skip


@pytest.fixture
def stranger(site: Site) -> TestClient:
    """Another user of the machine."""
    return TestClient(create_app(site), base_url=OWN, raise_server_exceptions=False)


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_given_out_without_the_secret(stranger: TestClient, site: Site, path: str) -> None:
    sample_results.keep(site.store, sample_results.pairs())
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert answer.headers["x-wug-reason"] == "secret"
    assert "Open the address that wug view printed" in answer.text
    assert site.access_token not in str(answer.headers) + answer.text
    assert site.csrf_token not in answer.text
    assert "set-cookie" not in answer.headers


def test_the_style_of_the_private_page_is_the_one_that_its_policy_allows(stranger: TestClient) -> None:
    answer = stranger.get("/")
    (style,) = re.findall("<style>(.*?)</style>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
def test_nothing_is_done_without_the_secret_even_with_the_token_of_a_page(
    stranger: TestClient, site: Site, method: str
) -> None:
    answer = stranger.request(method, "/editor/new.json", headers={"x-wug-token": site.csrf_token})
    assert answer.status_code == 403
    assert answer.headers["x-wug-reason"] == "secret"


def test_the_printed_address_is_exchanged_for_a_cookie_and_cleaned(stranger: TestClient, site: Site) -> None:
    first = stranger.get(f"/suite?name=a%26b&token={site.access_token}&page=2", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/suite?name=a%26b&page=2")
    given = first.headers["set-cookie"]
    assert given.startswith("wug-view-8000=")
    assert {part.strip() for part in given.split(";")[1:]} == {"HttpOnly", "SameSite=strict", "Path=/"}
    assert stranger.get("/").status_code == 200
    assert stranger.get("/static/site.js").status_code == 200


def test_a_browser_that_comes_from_elsewhere_is_led_on_by_a_page(stranger: TestClient, site: Site) -> None:
    # A redirect would be followed without the cookie: the link was a foreign page's.
    answer = stranger.get(f"/run/1?token={site.access_token}", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/run/1">' in answer.text
    assert site.access_token not in answer.text
    assert "wug-view-8000" in stranger.cookies


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/%5Cevil.example", "/%2F%2Fevil.example", "/\\evil.example/", "///"]
)
def test_the_way_in_leads_to_no_other_site(stranger: TestClient, site: Site, path: str) -> None:
    answer = stranger.get(f"{OWN}{path}?token={site.access_token}", follow_redirects=False)
    assert answer.status_code == 303
    assert urljoin(OWN, answer.headers["location"]).startswith(f"{OWN}/")
    assert not answer.headers["location"].startswith(("//", "/\\"))


@pytest.mark.parametrize("wrong", ["", "x", "é", "%ED%A0%80", "%00", "a" * 5000])
def test_another_secret_is_refused(stranger: TestClient, site: Site, wrong: str) -> None:
    assert stranger.get(f"/?token={wrong}").status_code == 403
    assert stranger.get("/", headers={b"cookie": b"wug-view-8000=" + wrong.encode()}).status_code == 403
    assert stranger.get("/", headers={b"authorization": b"Bearer " + wrong.encode()}).status_code == 403


def test_the_cookie_of_another_port_is_not_ours(stranger: TestClient, site: Site) -> None:
    assert stranger.get("/", headers={"cookie": f"wug-view-8001={site.access_token}"}).status_code == 403
    tunnel = {"host": "localhost:8001", "cookie": f"wug-view-8001={site.access_token}; wug-view-8000=another"}
    assert stranger.get("/", headers=tunnel).status_code == 200


def test_a_cookie_of_our_name_that_someone_else_put_before_ours_does_no_harm(stranger: TestClient, site: Site) -> None:
    assert (
        stranger.get("/", headers={"cookie": f"wug-view-8000=no; wug-view-8000={site.access_token}"}).status_code == 200
    )


def test_an_old_secret_in_the_address_of_who_is_let_in_is_taken_away(client: TestClient) -> None:
    answer = client.get("/compare?token=of-yesterday", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare")


def test_a_program_shows_the_secret_in_a_header(stranger: TestClient, site: Site) -> None:
    assert stranger.get("/runs.csv", headers={"authorization": f"bearer {site.access_token}"}).status_code == 200


def test_who_comes_by_a_link_from_elsewhere_may_go_on_by_a_click(stranger: TestClient, site: Site) -> None:
    answer = stranger.get('/suite?name="><script>', headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403
    assert 'href="/suite?name=%22%3E%3Cscript%3E">Open this page' in answer.text
    assert "Open this page" not in stranger.get("/suite?name=x").text


def test_a_program_gets_the_error_as_json(stranger: TestClient) -> None:
    assert "Open the address" in stranger.get("/state.json").json()["error"]


def test_the_private_page_loads_nothing(stranger: TestClient) -> None:
    answer = stranger.get("/")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-store"
    assert "<script" not in answer.text
    assert "<link" not in answer.text


def test_neither_secret_nor_token_is_in_what_a_site_prints_of_itself(site: Site) -> None:
    assert site.access_token not in repr(site)
    assert site.csrf_token not in repr(site)


@pytest.mark.parametrize("secret", ["", "short", "with space and more than 16", "ü" * 20, "a" * 200, "x" * 20 + "\n"])
def test_a_secret_that_is_easily_guessed_or_fits_no_address_is_refused(secret: str) -> None:
    with pytest.raises(InputError, match="16 to 128 letters") as told:
        security.validate_access_token(secret)
    assert not secret or secret not in str(told.value)


def test_the_user_chooses_the_secret(tmp_path: Path) -> None:
    options = app.ServerOptions(
        tmp_path / "store", tmp_path / "a.db", (), (), "127.0.0.1", 0, False, access_token=SECRET
    )
    assert app.create_site(options).access_token == SECRET
    assert SECRET not in repr(options)


def test_the_browser_gets_the_address_from_a_private_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    told: list[str] = []
    monkeypatch.setattr(webbrowser, "open", told.append)
    address = f"http://127.0.0.1:1/?token={SECRET}"
    before = os.umask(0)
    try:
        with app._browser(address, told.append):
            (path,) = tmp_path.iterdir()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert f'content="0; url={address}"' in path.read_text()
    finally:
        os.umask(before)
    assert not path.exists()
    assert told == [path.as_uri()]


def test_without_room_for_that_file_the_browser_is_not_opened_and_the_server_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    said: list[str] = []
    with app._browser("http://127.0.0.1:1/", said.append):
        assert said == ["The browser is not opened (No such file or directory): open the address yourself"]


def test_the_browser_comes_in_by_the_private_file_and_the_address_is_clean(
    new_context: Any, served: Served, recorder: Any, tmp_path: Path
) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=8))
    page = new_context(let_in=False).new_page()
    recorder.watch(page)
    referers: list[str] = []
    page.on("request", lambda request: referers.append(request.headers.get("referer", "")))
    file = tmp_path / "open.html"
    file.write_text(app._REDIRECT.format(served.entrance))
    page.goto(file.as_uri())
    page.wait_for_selector("td.value")
    assert page.url == f"{served.address}/"
    follow(page, lambda: page.click("td.value a"))
    assert page.url == f"{served.address}/result/1"
    assert page.evaluate("document.cookie") == ""  # no script can read it
    assert not any("token" in text for text in referers)
    recorder.check()


def test_the_browser_comes_in_by_the_printed_address_and_back_leads_past_it(
    new_context: Any, served: Served, recorder: Any
) -> None:
    page = new_context(let_in=False).new_page()
    recorder.watch(page)
    page.goto(served.entrance)
    assert page.url == f"{served.address}/"
    assert page.locator("h1").count() == 1
    page.goto("/compare")
    page.go_back()
    assert page.url == f"{served.address}/"
    assert page.locator("text=This page is private").count() == 0
    recorder.check()


def test_a_browser_without_the_secret_sees_what_to_do(new_context: Any, served: Served, recorder: Any) -> None:
    page = new_context(let_in=False).new_page()
    recorder.watch(page)
    recorder.expected.append("403")
    assert page.goto("/result/1").status == 403
    assert page.inner_text("h1") == "This page is private"
    assert page.evaluate("getComputedStyle(document.querySelector('main')).borderTopWidth") == "1px"  # its style holds
    recorder.check()


def test_two_sites_of_one_host_are_kept_apart(new_context: Any, served: Served, new_site: Any) -> None:
    with app.listen("127.0.0.1", 0) as free:
        other = Served(new_site(), free.getsockname()[1])
    other.start()
    try:
        page = new_context(let_in=False).new_page()
        for one in (served, other):
            page.goto(one.entrance)
        for one in (served, other):
            assert page.goto(f"{one.address}/compare").status == 200
    finally:
        other.stop()


def test_an_open_page_reports_a_restarted_server_and_continues_after_login(
    new_context: Any, served: Served, new_site: Any, recorder: Any
) -> None:
    recorder.expected += ["ERR_CONNECTION", "403"]
    number = sample_results.keep(served.site.store, sample_results.pairs(items=8), status="running")
    context = new_context()
    page = context.new_page()
    page.add_init_script(HURRY)
    recorder.watch(page)
    page.goto("/")
    served.stop()
    served.start(new_site())
    page.wait_for_selector("body.shut")
    context.new_page().goto(served.entrance)
    page.bring_to_front()
    served.site.store.add(number, sample_results.syntaxgym())
    page.wait_for_selector(f"tr[id$='-{number}'] td.value >> nth=1")
    page.wait_for_selector("body:not(.shut)")
    recorder.check()
