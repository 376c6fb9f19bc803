"""Requests that the site's pages never send: each is refused with a message, none is an internal error."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import sample_results
from browsing import Served
from timeouts import PATIENCE
from wug.web.site import Site

DIGITS = "9" * 5000
PATHS = (
    "/result/99999999999999999999", "/run/99999999999999999999", "/result/1/outcome/99999999999999999999",
    f"/result/{DIGITS}", f"/run/{DIGITS}", f"/run/{DIGITS}.csv", f"/run/{DIGITS}/groups", f"/result/{DIGITS}/items.csv",
    f"/result/1/outcome/{DIGITS}", f"/editor/runs/{DIGITS}.json", "/run/-1", "/run/1e3", "/run/0x1", "/run/%D9%A1",
    "/run/999999999999999999", "/result/999999999999999999/items", "/result/1/outcome/999999999999999999.json",
    "/static/%00", "/static/a%00b.js", f"/static/{'a' * 5000}", f"/static/{'%E2%82%AC' * 300}.js", "/static/",
    "/static", "/static/%ff%fe", "/static/%ED%A0%80", "/static//etc/passwd", "/static/%2e%2e%2f%2e%2e%2fapp.py",
    "/%00", "/%ff", "/%ED%A0%80", "/%", "/%zz", f"/{'a' * 20000}", "//", "//evil.example", "/run/1/../../etc",
    "/editor/%00", f"/editor/{'a' * 5000}", "/editor/%ED%A0%80", "/editor/..%2f..%2fwug/draft.json",
    "/editor/aaaaaaaa/draft.json", "/editor/aaaaaaaa/suite.exe", "/editor/%00/suite.json", "/editor/jobs/%00.json",
    "/result/1/figure/%00.svg", "/result/1/figure/x.vl.json", "/result/1/figure/margins.exe", "/result/1.exe",
    "/result/1/items.exe", f"/result/1/figure/{'a' * 3000}.png", "/run/1/figure.exe", "/compare.exe", "/suite.exe",
    "/suite?name=%00", "/suite?name=%ED%A0%80", f"/suite?name={'a' * 30000}", "/suite/figure.svg?name=%00",
    f"/compare?run={DIGITS}&run=1", "/compare?run=%00", "/compare?run=1&run=%D9%A1%D9%A2", "/compare?run=-1&run=1",
    "/compare?run=99999999999&run=1", "/compare?run=1&run=1", "/compare?side=1,,,2&side=%ff",
    "/compare?" + "&".join(["run=1"] * 3000), "/compare?run=1&run=2&suite=%00&metric=[", "/compare.csv",
    "/compare.json",
    "/compare/figure/compared-%00.svg?run=1&run=2", "/compare/figure/curve-1.svg?run=1",
    f"/compare?run=1&run=2&suite={'[' * 2000}", f"/edit?result={DIGITS}", "/edit?result=%00&item=%00", "/edit",
    "/edit?result=%D9%A1", "/edit?result=-1&item=1",
)  # fmt: skip
"""Addresses that name nothing."""
QUERIES = (
    "/?sort=%00", "/?sort=-suite%3A%ED%A0%80", f"/?page={DIGITS}", "/?page=-1", "/?page=%D9%A3", f"/?q={'(' * 9000}",
    "/?kind=%ff&status=%00", "/?" + "&".join(f"a{n}=1" for n in range(5000)), "/?%", "/?=&&&==", "/?%ff=%fe",
    f"/runs.csv?page={DIGITS}", "/runs.json?sort=%00", f"/result/1/items?after={DIGITS}", "/result/1/items?before=-1",
    f"/result/1/items?after={'9' * 15}", f"/result/1/items?before={'9' * 15}", "/result/1/items?metric=%00",
    "/result/1/items?group=%22%5D=x", "/result/1/items?group=%00%3D%00", "/result/1/items?group=%ED%A0%80=1",
    "/result/1/items?q=%00%25%27%22", f"/result/1/items?q={'x' * 20000}", "/result/1/items?value=maybe",
    f"/result/1/numbers?page={DIGITS}", "/result/1/numbers?metric=%00", f"/result/2?item={DIGITS}",
    "/result/2?item=%00",
    "/result/2?condition=%ED%A0%80", "/sentence?s=%00&s=%ED%A0%80", "/sentence?m=%00", f"/sentence?s={'x' * 20000}",
    "/sentence?" + "s=a&" * 4000,
    "/sentence?text=%00&model=%ED%A0%80", "/sentence?text=a&model=%00/@", "/compare?pool=%00&pairs=%ff",
    "/result/1/items?metric=%ED%A0%80&value=true",
)  # fmt: skip
"""Addresses of pages, with wishes that make no sense."""
SUITE: dict[str, Any] = {"meta": {"name": "x"}, "region_meta": {"1": "a"}, "predictions": [], "items": []}


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def written(**other: Any) -> str:
    return json.dumps({"document": {**SUITE, **other}, "changed": 1, "seen": 1})


HALF = '"\\ud800"'
BODIES = (
    b"", b"{", b"\xff\xfe\x00", b"null", b"[]", b"3", b'"x"', b"{}", b'{"from": null}', b'{"from": {"a": []}}',
    b'{"document": 3}', b'{"document": {}}', b'{"document": [], "changed": 1}', deep(100_000).encode(),
    ('{"document": ' + deep(900) + "}").encode(), ('{"a":' * 5000 + "1" + "}" * 5000).encode(),
    written(predictions=json.loads(deep(400))).encode(), written(meta={"name": float("nan")}).encode(),
    written(meta={"name": float("inf")}).encode(), written().replace('"changed": 1', '"changed": 1e999').encode(),
    written().replace('"changed": 1', '"changed": -1').encode(),
    written().replace('"changed": 1', f'"changed": {"9" * 4000}').encode(),
    written().replace('"changed": 1', f'"changed": {DIGITS}').encode(),
    written().replace('"changed": 1', '"changed": "soon"').encode(), written().replace('"changed": 1, ', "").encode(),
    written().replace('"changed": 1', '"changed": [1]').encode(), written().replace('"seen": 1', '"seen": {}').encode(),
    written().replace('"seen": 1', '"seen": true').encode(), written().replace('"x"', HALF).encode(),
    written(items=[HALF]).replace(HALF, "\\udfff").encode(), ('{"document": {}, ' + HALF + ": 1}").encode(),
    written(items=[1]).encode(), written(items=[{}]).encode(), written(items={"a": 1}).encode(),
    written(items=[{"conditions": [{"condition_name": "a"}]}]).encode(), written(region_meta=[]).encode(),
    written(items=[{"conditions": [{"condition_name": "a", "regions": 3}], "item_number": {}}]).encode(),
    written(items=[{"conditions": {}, "item_number": None}]).encode(), written(region_meta={DIGITS: "a"}).encode(),
    written(items=[{"conditions": [{"condition_name": None}]}]).encode(), written(predictions=3).encode(),
    written(predictions=[{"formula": 3}, None, []]).encode(), written(meta=[]).encode(), written(meta=None).encode(),
    written(predictions=["(" * 20_000]).encode(), written(predictions=[f"({DIGITS};%a%) > {DIGITS}"]).encode(),
    json.dumps({"document": SUITE, "formulas": 3}).encode(), json.dumps({"document": SUITE, "formulas": [{}]}).encode(),
    json.dumps({"document": SUITE, "formulas": {"a": 1}}).encode(),
    json.dumps({"document": SUITE, "formulas": ["(" * 20_000, f"(1;%a%) > {DIGITS}", "\0", "\x1b[2J"]}).encode(),
    ('{"document": ' + json.dumps(SUITE) + ', "formulas": [' + HALF + "]}").encode(),
    json.dumps({str(n): n for n in range(50_000)}).encode(), b'{"a": 1, "a": 2}',
    b'{"folder": 3, "name": []}', b'{"folder": "\\u0000", "name": "x"}', b'{"name": "\\u0000.json"}',
    b'{"name": "\\ud800.json"}', b'{"model": null}', b'{"model": "\\ud800"}', b'{"from": "file:\\u0000"}',
    b'{"from": "file:\\ud800.json"}', json.dumps({"from": "file:" + "a" * 5000}).encode(),
    b'{"from": "file:~nobody-of-this-name/x.json"}', b'{"from": "builtin:../../x"}', b'{"from": "builtin:\\ud800"}',
    b'{"text": 3}', b'{"text": "\\u0000,\\u0000"}', json.dumps({"text": "item,condition,a\n" * 9000}).encode(),
    json.dumps({"text": '"' * 9000 + "\n# :::\n"}).encode(),
    json.dumps({"text": "# prediction: " + "(" * 9000}).encode(),
    json.dumps({"text": "item,condition,a\n" + "x" * 300_000}).encode(), b'{"text": "a", "model": 3, "token": {}}',
    b'{"from": "\\ud800"}', b'{"from": "file:."}', b'{"from": "file:/dev/zero"}', b'{"from": "file:/dev/stdin"}',
)  # fmt: skip
"""What is sent to an address that takes JSON."""
TAKING = (
    ("POST", "/editor/new.json"), ("POST", "/editor/check.json"), ("POST", "/editor/table.json"),
    ("POST", "/sentence/likeliest.json"), ("PUT", "/editor/aaaaaaaa/draft.json"),
    ("POST", "/editor/bbbbbbbb/save.json"), ("POST", "/editor/bbbbbbbb/score.json"),
    ("DELETE", "/editor/cccccccc/draft.json"), ("POST", "/editor/jobs/x/stop.json"),
)  # fmt: skip
HEADERS: tuple[dict[str, str | bytes], ...] = (
    {"origin": "http://["}, {"origin": "http://[::1"}, {"origin": "\x00"}, {"origin": "//"}, {"origin": "http://[x]:y"},
    {"host": "["}, {"host": "127.0.0.1:99999999"}, {"host": "127.0.0.1:x"}, {"host": "127.0.0.1:" + DIGITS},
    {"host": "[127.0.0.1]"}, {"host": b"\xff\xfe"}, {"host": "a" * 30_000}, {"host": "127.0.0.1@evil.example"},
    {"content-length": DIGITS}, {"content-length": "-1"}, {"content-length": "x"}, {"cookie": ";" * 9000},
    {"cookie": b"wug-view-8000=\xff"}, {"authorization": "Bearer"}, {"authorization": "Bearer " + "x" * 30_000},
    {"authorization": b"\xff"}, {"accept": b"\xff" * 99}, {"x-wug-token": b"\xff"}, {"accept": "application/json;q=x"},
    {"sec-fetch-site": "nowhere"}, {"content-type": "multipart/form-data"}, {"range": "bytes=9-1"},
    {"if-modified-since": "never"}, {"accept-encoding": "gzip;q=x"}, {"transfer-encoding": "x"},
)  # fmt: skip
NAMES = (
    "%00.json", "a" * 300 + ".json", "%F0%9F%98%80" * 100 + ".json", "..json", "", "..", "/", "%", "%ff.json",
    "a/../../b.json", "%ED%A0%80.json", "%1b[2J.json", ".json", "con.json", "a%0D%0Ax: y.json", "x.exe", "a.csv",
    "a.tsv", "a.json.gz",
)  # fmt: skip
CONTENTS = (
    b"", b"\x00" * 100, b"\xff\xfe", b"{", b"[1", b"3", b'"\\ud800"', deep(100_000).encode(), DIGITS.encode(), b"NaN",
    b"\x1f\x8b\x08\x00 not gzip", b"item,condition\r\n", b'"', b"a,b\rc,d\r",
    b"item\tcondition\tregion_1\n1\ta\tb\tc\n",
    json.dumps({**SUITE, "region_meta": {DIGITS: "a"}}).encode(), json.dumps({**SUITE, "items": [{}]}).encode(),
    json.dumps({**SUITE, "items": [{"item_number": 1, "conditions": [3]}]}).encode(),
    ('{"meta": {"name": ' + HALF + '}, "region_meta": {"1": ' + HALF + '}, "predictions": [], "items": []}').encode(),
    ('{"meta": {"a": ' + deep(500) + '}, "region_meta": {"1": "a"}, "predictions": [], "items": []}').encode(),
    ('{"meta": {"a": ' + DIGITS + '}, "region_meta": {"1": "a"}, "predictions": [], "items": []}').encode(),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing may be logged as an error."""
    yield
    faults = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert not faults


@pytest.fixture
def send(site: Site, client: TestClient) -> Callable[..., Any]:
    """Send something with the page's token; returns the response, which is never an internal error."""

    def ask(method: str, address: str, **more: Any) -> Any:
        headers = {"x-wug-token": site.csrf_token, **more.pop("headers", {})}
        answer = client.request(method, f"http://127.0.0.1:8000{address}", headers=headers, **more)
        assert answer.status_code < 500, answer.text[:500]
        assert "a bug" not in answer.text.lower()  # with its space, which no token has
        assert "Traceback" not in answer.text
        return answer

    return ask


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_an_address_that_names_nothing_is_refused(site: Site, client: TestClient, path: str) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8), sample_results.syntaxgym())
    answer = client.get(f"http://127.0.0.1:8000{path}")
    assert answer.status_code in (400, 403, 404), answer.text[:500]
    assert len(answer.text) > 20
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", QUERIES, ids=range(len(QUERIES)))
def test_a_wish_that_makes_no_sense_is_passed_over_or_refused(site: Site, client: TestClient, path: str) -> None:
    sample_results.keep(site.store, sample_results.pairs(items=8), sample_results.syntaxgym())
    answer = client.get(f"http://127.0.0.1:8000{path}")
    assert answer.status_code in (200, 400, 404), answer.text[:500]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X" * 100])
@pytest.mark.parametrize("path", ["/", "/runs.csv", "/static/site.js", "/state.json", "/nowhere", "/editor/new.json"])
def test_a_method_that_an_address_does_not_have_is_refused(send: Callable[..., Any], method: str, path: str) -> None:
    expected = (400,) if (method, path) == ("POST", "/editor/new.json") else (404, 405)
    assert send(method, path).status_code in expected


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_no_page_of_ours_sends_is_refused_or_harmless(send: Callable[..., Any], body: bytes) -> None:
    made = send("POST", "/editor/new.json", json={"from": "2x2"}).json()["address"]
    for method, address in TAKING:
        answer = send(method, address.replace("/editor/bbbbbbbb", made), content=body)
        assert answer.status_code in (200, 400, 403, 404, 409), (address, answer.text[:500])
        if answer.status_code == 200 and method == "PUT":
            assert send("GET", address).status_code == 200
            for path in ("/editor/aaaaaaaa/suite.json", "/editor/aaaaaaaa/suite.csv", "/editor/aaaaaaaa/suite.tsv"):
                assert send("GET", path).status_code in (200, 400)
            assert send("POST", "/editor/aaaaaaaa/save.json", json={"name": "kept.json"}).status_code in (200, 400, 403)
    assert send("GET", "/editor").status_code == 200


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "é/\x7f"]
)
def test_a_body_of_another_kind_is_refused(send: Callable[..., Any], kind: str) -> None:
    headers = {b"content-type": kind.encode("latin-1")}
    assert send("POST", "/editor/new.json", content=b"from=blank", headers=headers).status_code == 400


@pytest.mark.parametrize("headers", HEADERS, ids=range(len(HEADERS)))
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_header_that_makes_no_sense_is_refused_or_passed_over(
    client: TestClient, method: str, headers: dict[str, str | bytes]
) -> None:
    raw = {name.encode(): value if isinstance(value, bytes) else value.encode() for name, value in headers.items()}
    answer = client.request(method, "/editor", headers=raw)
    assert answer.status_code in (200, 400, 403, 405, 413), answer.text[:500]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_any_name_is_uploaded_or_refused(send: Callable[..., Any], name: str) -> None:
    answer = send("POST", "/editor/upload.json", content=json.dumps(SUITE).encode(), headers={"x-file-name": name})
    assert answer.status_code in (200, 400)
    assert send("GET", "/editor").status_code == 200


@pytest.mark.parametrize("content", CONTENTS, ids=range(len(CONTENTS)))
@pytest.mark.parametrize("name", ["a.json", "a.csv", "a.tsv", "a.json.gz"])
def test_a_file_of_any_content_is_opened_or_refused(send: Callable[..., Any], name: str, content: bytes) -> None:
    answer = send("POST", "/editor/upload.json", content=content, headers={"x-file-name": name})
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        made = answer.json()["address"]
        assert send("GET", f"{made}/draft.json").status_code == 200
        assert send("GET", f"{made}/suite.json").status_code == 200
    assert send("GET", "/editor").status_code == 200


@pytest.mark.parametrize(
    "name", [".", "./", "..", "../x", "", " ", "/", "a" * 300, "ü" * 200, "\0", "\ud800", "~x/y", "a/b"]
)
def test_a_suite_is_saved_inside_the_folder_or_not_at_all(send: Callable[..., Any], site: Site, name: str) -> None:
    made = send("POST", "/editor/new.json", json={"from": "2x2"}).json()["address"]
    before = {path for path in site.folders[0].parent.rglob("*") if site.folders[0] not in path.parents}
    expected = 200 if name in ("a/b", "~x/y") else 403 if ".." in name or "\0" in name else 400
    where = json.dumps({"folder": str(site.folders[0]), "name": name})
    answer = send("POST", f"{made}/save.json", content=where)
    assert answer.status_code == expected, answer.text
    after = {path for path in site.folders[0].parent.rglob("*") if site.folders[0] not in path.parents}
    assert before == after


RAW = (
    b"\x00\xff\xfe garbage\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n",
    b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET /%zz%ff%00 HTTP/1.1\r\n@\r\n", b"GET foo HTTP/1.1\r\n@\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\n@\r\n", b"GET / HTTP/1.1\r\n@Origin: http://[\r\n\r\n",
    b"POST /editor/new.json HTTP/1.1\r\n@Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    b"POST /editor/new.json HTTP/1.1\r\n@Content-Length: -1\r\n\r\n",
    b"POST /editor/new.json HTTP/1.1\r\n@Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /editor/new.json HTTP/1.1\r\n@Content-Length: 100\r\n\r\n{",
    b"POST /editor/upload.json HTTP/1.1\r\n@Content-Length: 100\r\n\r\n{",
    b"GET / HTTP/1.1\r\n@X: " + b"a" * 200_000 + b"\r\n\r\n",
    b"GET /result/1/items.csv HTTP/1.1\r\n@\r\n", b"GET /result/" + b"9" * 5000 + b" HTTP/1.1\r\n@\r\n",
)  # fmt: skip
"""What no browser sends; `@` means the headers of one that is let in."""


def hang_up(line: socket.socket) -> None:
    """Say that nothing more comes, if the other side is there still."""
    try:
        line.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise


def test_what_is_no_request_and_who_leaves_in_the_middle_of_one_do_no_harm(served: Served) -> None:
    sample_results.keep(served.site.store, sample_results.pairs(items=60))
    known = (
        f"Host: 127.0.0.1:{served.port}\r\nAuthorization: Bearer {served.site.access_token}\r\n"
        f"X-Wug-Token: {served.site.csrf_token}\r\n"
    )
    for data in RAW:
        for stays in (True, False):
            line = socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE)
            with line, contextlib.suppress(ConnectionError):  # the server may hang up first
                line.sendall(data.replace(b"@", known.encode()))
                hang_up(line)
                answer = line.recv(100) if stays else b""
                assert not answer or answer.split()[1] in (b"200", b"400", b"403", b"404", b"413"), answer
    shown = {"authorization": f"Bearer {served.site.access_token}"}
    assert httpx.get(f"{served.address}/runs.csv", headers=shown, timeout=PATIENCE).status_code == 200
