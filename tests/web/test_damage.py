"""A store that is deleted, replaced or damaged while it is served; a disk without room; names that no page can hold."""

from __future__ import annotations

import json
import logging
import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import sample_results
from browsing import client_of, full_disk
from case_selection import cases
from wug.families.syntaxgym.editor import DESIGNS
from wug.outcomes import Outcome, Result, Signature
from wug.results.schema import INDEX, OUTCOMES
from wug.results.store import Store
from wug.web import downloads
from wug.web.editor import DraftStore
from wug.web.site import Site

pytestmark = pytest.mark.slow

PAGES = (
    "/", "/runs.csv", "/runs.json", "/run/1", "/run/1.csv", "/run/1/groups", "/run/1/figure.vl.json", "/result/1",
    "/result/1.csv", "/result/1/numbers", "/result/1/items", "/result/1/items.csv", "/result/1/items.json",
    "/result/1/items?value=false&q=a", "/result/1/outcome/0", "/result/1/outcome/0.json",
    "/result/1/figure/margins.vl.json", "/result/1/figure/regions.vl.json",
    "/result/2", "/result/2/items", "/result/3", "/result/3/items",
    "/result/4/items", "/compare?run=1&run=2", "/compare.json?run=1&run=2", "/suite?name=reflexives",
    "/suite.csv?name=reflexives",
    "/editor", "/editor/runs/1.json", "/state.json",
)  # fmt: skip
CONTROL = "es\x1b[2Jc \x07 n\x00ul \x9b31m \x7f"
HALF = "half \ud83d"


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing may be logged as an error."""
    yield
    faults = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert not faults


def fill(store: Store) -> None:
    sample_results.keep(
        store,
        sample_results.syntaxgym(),
        sample_results.pairs(items=12),
        sample_results.localism(),
        sample_results.cogs(),
    )
    sample_results.keep(store, sample_results.pairs(items=12, model="causal/other@1"))


def looked_at(client: TestClient) -> list[int]:
    """The answers of all pages, each a page or words about what is wrong."""
    codes = []
    for path in PAGES:
        answer = client.get(path)
        assert answer.status_code in (200, 400, 404), (path, answer.text[-900:])
        codes.append(answer.status_code)
    return codes


def replaced(site: Site, data: bytes) -> None:
    """Put another file in the place of the store's index."""
    index = site.store.path / INDEX
    other = index.with_suffix(".other")
    other.write_bytes(data)
    for ending in ("-wal", "-shm"):
        Path(f"{index}{ending}").unlink(missing_ok=True)
    other.replace(index)


def test_a_store_that_is_deleted_is_said_to_be_gone_and_no_new_one_is_made(site: Site, client: TestClient) -> None:
    fill(site.store)
    assert set(looked_at(client)) <= {200, 404}
    moved = site.store.path.with_suffix(".moved")
    site.store.path.rename(moved)
    looked_at(client)
    for path in ("/", "/run/1", "/result/1", "/compare?run=1&run=2", "/result/1/items.csv"):
        answer = client.get(path)
        assert answer.status_code in (400, 404)
        assert "is gone (No such file or directory): it was deleted or moved" in answer.text
    assert not site.store.path.exists()
    moved.rename(site.store.path)
    assert client.get("/run/1").status_code == 200


def test_another_store_in_its_place_is_read_instead(site: Site, client: TestClient, tmp_path: Path) -> None:
    fill(site.store)
    assert "gpt2" in client.get("/").text
    other = Store(tmp_path / "other" / "store")
    for model in ("causal/newer@1", "causal/newest@1"):
        sample_results.keep(other, sample_results.pairs(items=12, model=model))
    other.close()
    site.store.path.rename(tmp_path / "moved")
    other.path.rename(site.store.path)
    assert "newer" in client.get("/").text
    assert "newer" in client.get("/compare?run=1&run=2").text
    assert "gpt2" not in client.get("/compare?run=1&run=2").text


def foreign() -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE moz_cookies (id INTEGER PRIMARY KEY, name TEXT)")
        db.commit()
        return db.serialize()


def newer() -> bytes:
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE runs (id INTEGER)")
        db.execute("PRAGMA user_version=99")
        db.commit()
        return db.serialize()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (foreign(), "is not a store of this version of wug"),
        (newer(), "is not a store of this version of wug"),
        (b"plain text, and long enough to be looked at as the header of a database" * 20, "file is not a database"),
        (b"", "is not a store of this version of wug"),
    ],
    ids=["foreign", "newer", "text", "empty"],
)
def test_a_file_that_is_no_store_is_refused_in_words(site: Site, client: TestClient, data: bytes, words: str) -> None:
    fill(site.store)
    assert client.get("/").status_code == 200
    replaced(site, data)
    looked_at(client)
    for path in ("/", "/result/1", "/compare?run=1&run=2"):
        assert words in client.get(path).text
    assert (site.store.path / INDEX).read_bytes() == data


def test_a_damaged_store_gives_pages_or_words(site: Site, tmp_path: Path) -> None:
    fill(site.store)
    site.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (site.store.path / INDEX).read_bytes()
    chance = random.Random(11)
    for _ in cases(range(4), range(4, 25)):
        data = bytearray(whole)
        kind = chance.randrange(3)
        start = chance.randrange(100, len(data) - 600)
        if kind == 0:
            for _ in range(chance.choice((1, 5, 40))):
                data[chance.randrange(100, len(data))] = chance.randrange(256)
        elif kind == 1:
            data[start : start + 512] = bytes(512)
        else:
            del data[start:]
        replaced(site, bytes(data))
        looked_at(client_of(site))


COLUMNS = ("suite", "kind", "status", "signature", "n", "estimates", "warnings", "meta", "summary",
           "metrics", "file", "sha256", "first", "rows", "columns")  # fmt: skip
DAMAGES = ("x'ff00'", "'null'", "'[]'", "7", "'{}'", "CAST(x'fffe' AS TEXT)", "'[{\"metric\": 1}]'", "'[[[['")
KINDS: tuple[Callable[[], Result], ...] = (
    sample_results.syntaxgym,
    sample_results.pairs,
    sample_results.localism,
    sample_results.cogs,
)
BY_DAY, AT_NIGHT = (
    [(damage, kind) for n, damage in enumerate(DAMAGES) for m, kind in enumerate(KINDS) if bool((n + m) % 4) == night]
    for night in (False, True)
)
"""Every damage once, every family with two of them."""


@pytest.mark.parametrize(("damage", "kind"), cases(BY_DAY, AT_NIGHT))
def test_a_result_with_a_damaged_column_gives_pages_or_words(
    site: Site, client: TestClient, kind: Callable[[], Result], damage: str
) -> None:
    sample_results.keep(site.store, kind())
    pages = (
        "/",
        "/runs.csv",
        "/run/1",
        "/run/1.csv",
        "/run/1/groups",
        "/result/1",
        "/result/1/items",
        "/result/1/outcome/0",
    )
    for column in COLUMNS:
        (before,) = site.store._db.execute(f"SELECT {column} FROM results").fetchone()
        with suppress(sqlite3.IntegrityError):
            site.store._db.execute(f"UPDATE results SET {column} = {damage}")
        for path in (*pages, "/result/1/numbers", "/editor/runs/1.json", "/result/1/figure/margins.vl.json"):
            answer = client.get(path)
            assert answer.status_code in (200, 400, 404), (column, path, answer.text[-900:])
        site.store._db.execute(f"UPDATE results SET {column} = ?", (before,))


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_of_outcomes_gives_pages_or_words(
    site: Site, client: TestClient, kind: Callable[[], Result]
) -> None:
    sample_results.keep(site.store, kind())
    (file,) = (site.store.path / OUTCOMES).iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:50] + b"\xff" + whole[51:], whole + b"PAR1", None):
        if damaged is None:
            file.unlink()
        else:
            file.write_bytes(damaged)
        for path in ("/result/1", "/result/1/items", "/result/1/outcome/0", "/result/1/items.csv",
                     "/editor/runs/1.json", "/result/1/figure/margins.vl.json",
                     "/result/1/figure/regions.vl.json"):  # fmt: skip
            answer = client.get(path)
            assert answer.status_code in (400, 404), (path, answer.text[-900:])
        assert "the store is damaged here" in client.get("/result/1/items").text


def test_control_characters_in_names_are_shown_as_pictures(site: Site, client: TestClient) -> None:
    outcome = Outcome(CONTROL, CONTROL, True, {CONTROL: CONTROL}, {"good": CONTROL, "bad": "b"})
    sample_results.keep(
        site.store,
        Result(
            CONTROL,
            "pairs",
            f"causal/{CONTROL}@1",
            "complete",
            Signature.read(CONTROL),
            1,
            (),
            (CONTROL,),
            (outcome,),
            {},
        ),
    )
    for path in ("/", "/run/1", "/result/1", "/result/1/items", "/result/1/outcome/0", "/suite?name=" + "%1b"):
        text = client.get(path).text
        assert not set(text) & {"\x1b", "\x07", "\x00", "\x9b", "\x7f"}, path
    assert "es␛[2Jc ␇ n␀ul �31m ␡" in client.get("/result/1").text


def test_a_chart_with_control_characters_is_drawn() -> None:
    point = {"name": CONTROL, "value": 1}
    encoding = {"y": {"field": "name", "type": "nominal"}, "x": {"field": "value", "type": "quantitative"}}
    spec = {"mark": "bar", "data": {"values": [point]}, "title": f"a{CONTROL}", "encoding": encoding}
    assert b"<svg" in downloads.render_image(spec, ".svg")
    assert downloads.render_image(spec, ".png").startswith(b"\x89PNG")


def test_the_editor_begins_with_drafts_and_files_that_hold_halves_of_characters(site: Site, client: TestClient) -> None:
    drafts = DraftStore(site.store.path.parent / "drafts")
    made = drafts.create({**DESIGNS["2x2"], "meta": {"name": HALF}}, 1, HALF)
    named = os.fsencode(site.folders[0]) + b"/n\xff.json"
    Path(os.fsdecode(named)).write_text(json.dumps(DESIGNS["2x2"]))
    start = client.get("/editor")
    assert start.status_code == 200
    assert "half �" in start.text
    assert "n�.json <small>its name is not UTF-8" in start.text
    assert client.get(f"/editor/{made.id}").status_code == 200
    # The page gets it unchanged, to be corrected; no file can be made of it.
    assert client.get(f"/editor/{made.id}/draft.json").json()["document"]["meta"]["name"] == HALF
    for ending in ("json", "csv"):
        answer = client.get(f"/editor/{made.id}/suite.{ending}")
        assert answer.status_code in (200, 400)


def test_a_file_with_halves_of_characters_is_opened_with_marks_in_their_place(site: Site, client: TestClient) -> None:
    document = {**DESIGNS["2x2"], "meta": {"name": HALF}}
    (site.folders[0] / "a.json").write_text(json.dumps(document))
    shown = {"x-wug-token": site.csrf_token}
    made = client.post("/editor/new.json", json={"from": "file:a.json"}, headers=shown).json()["address"]
    draft = client.get(f"{made}/draft.json").json()
    assert draft["document"]["meta"]["name"] == "half �"
    assert "Halves of characters were replaced" in draft["origin"]


def test_on_a_full_disk_a_draft_stays_as_it_was_and_the_page_gets_an_error(
    site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {"x-wug-token": site.csrf_token}
    made = client.post("/editor/new.json", json={"from": "2x2"}, headers=shown).json()["address"]
    before = client.get(f"{made}/draft.json").json()
    full_disk(monkeypatch)
    document = {**before["document"], "meta": {"name": "new"}}
    answer = client.put(f"{made}/draft.json", json={"document": document, "changed": 2, "seen": 1}, headers=shown)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith("cannot be written: No space left on device")
    assert client.get(f"{made}/draft.json").json() == before
    assert len(list((site.store.path.parent / "drafts").iterdir())) == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_without_room_a_saved_file_stays_as_it_was_and_none_is_left_behind(
    site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    shown = {"x-wug-token": site.csrf_token}
    made = client.post("/editor/new.json", json={"from": "2x2"}, headers=shown).json()["address"]
    if overwrite:
        (site.folders[0] / "a.json").write_text("what was there")
    full_disk(monkeypatch)
    answer = client.post(f"{made}/save.json", json={"name": "a.json", "overwrite": overwrite,
                                                   "folder": str(site.folders[0])}, headers=shown)  # fmt: skip
    assert answer.status_code == 400
    assert answer.json()["error"].endswith("a.json: cannot be written: No space left on device")
    left = {path.name: path.read_text() for path in site.folders[0].iterdir()}
    assert left == ({"a.json": "what was there"} if overwrite else {})


def test_on_a_full_disk_pasting_a_table_is_an_error_of_the_page(
    site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_text(path: Path, text: str, encoding: str | None = None) -> int:
        with Path("/dev/full").open("w", encoding=encoding) as out:
            return out.write(text)

    monkeypatch.setattr(Path, "write_text", write_text)
    given = {"text": "item,condition,subject\n1,a,The boy\n"}
    answer = client.post("/editor/table.json", json=given, headers={"x-wug-token": site.csrf_token})
    assert answer.status_code == 507
    assert "the disk is full" in answer.json()["error"]
