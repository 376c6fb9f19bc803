"""Damaged files: a wrong number never comes out of them, and a clear word does."""

from __future__ import annotations

import logging
import os
import random
import resource
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import run_factory
from evaluating import cached
from fake_models import FakeGenerator, FakeScorer, length_scores
from wug.errors import StoreError
from wug.evaluation.cache import BLOCK_OUTPUTS, KEY_BYTES, Cache
from wug.evaluation.evaluate import evaluate
from wug.evaluation.handle import ModelHandle
from wug.models.spec import ModelSpec
from wug.outcomes import Result
from wug.requests import Answer, Request, Scored
from wug.results import sqlite as files
from wug.results.comparison import compare
from wug.results.reader import RunReader
from wug.results.schema import INDEX
from wug.results.store import Store
from wug.rows import Filter


def noticed_scores(text: str) -> Scored:
    return replace(length_scores(text), notices=("are short",))


def shout(source: str) -> Answer:
    """The first three letters in capitals, with a notice if there are more."""
    return Answer(source.upper()[:3], ("were cut off",) if len(source) > 3 else ())


TEXTS = [f"text {'x' * n}" for n in range(200)]


def lengths(path: Path) -> tuple[list[float], int]:
    """What a scorer behind the cache answers, and how much of it is asked."""
    model, cache = FakeScorer(chunk=50), Cache(path)
    found = cached(model, cache).score([Request(text) for text in TEXTS])
    cache.close()
    return [one.logprob() for one in found], len(model.requests)


EXPECTED = [-float(len(text)) for text in TEXTS]


@pytest.mark.parametrize("column", ["keys", "sizes", "outputs", "crc", "model"])
def test_an_altered_block_of_outputs_is_computed_again(tmp_path: Path, column: str) -> None:
    assert lengths(tmp_path / "a.db") == (EXPECTED, 200)
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        db.execute("INSERT INTO models (id, key, name) VALUES (2, x'00', 'other')")
        (number, value) = db.execute(f"SELECT id, {column} FROM blocks LIMIT 1").fetchone()
        changed = flipped(value) if isinstance(value, bytes) else value + 1
        db.execute(f"UPDATE blocks SET {column} = ? WHERE id = ?", (changed, number))
    assert lengths(tmp_path / "a.db") == (EXPECTED, 50)
    assert lengths(tmp_path / "a.db") == (EXPECTED, 0)


def test_outputs_that_came_one_by_one_are_in_the_cache_that_replaces_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    keys = [number.to_bytes(KEY_BYTES, "big") for number in range(BLOCK_OUTPUTS)]
    with closing(Cache(path)) as cache:
        for key in keys[:3]:
            cache.write(b"model", "model", [(key, key)])
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.write_bytes(path.read_bytes()[:100].ljust(path.stat().st_size, b"\xff"))
        cache.write(b"model", "model", [(keys[3], keys[3])])
        assert (tmp_path / "a.db.damaged").exists()
        cache.write(b"other", "other", [(keys[0], b"its own")])
        assert cache.read(b"model", b"".join(keys[:4])) == keys[:4]
        for key in keys[4:]:
            cache.write(b"model", "model", [(key, key)])
    with closing(Cache(path)) as again:
        assert again.read(b"model", b"".join(keys)) == keys
        assert again.read(b"other", keys[0]) == [b"its own"]


def test_damaged_outputs_are_counted(tmp_path: Path) -> None:
    lengths(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        number, outputs = db.execute("SELECT id, outputs FROM blocks LIMIT 1").fetchone()
        db.execute("UPDATE blocks SET outputs = ? WHERE id = ?", (flipped(outputs), number))
    cache = Cache(tmp_path / "a.db")
    through = cached(FakeScorer(chunk=50), cache)
    assert [found.logprob() for found in through.score([Request(text) for text in TEXTS])] == EXPECTED
    assert (through.computed, cache.damaged) == (50, 50)
    cache.close()


def flipped(value: bytes) -> bytes:
    return bytes([*value[:7], value[7] ^ 1, *value[8:]])


def test_the_outputs_of_another_block_are_computed_again(tmp_path: Path) -> None:
    lengths(tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as db, db:
        (first, _), (_, other) = db.execute("SELECT id, outputs FROM blocks LIMIT 2").fetchall()
        db.execute("UPDATE blocks SET outputs = ? WHERE id = ?", (other, first))
    assert lengths(tmp_path / "a.db") == (EXPECTED, 50)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_cache_gives_the_right_answers_or_a_clear_word(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.db"
    lengths(path)
    damage(path, random.Random(seed))
    try:
        found, _ = lengths(path)
    except StoreError:
        return
    assert found == EXPECTED


def test_a_cache_that_cannot_be_read_is_put_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "wug")
    path = tmp_path / "a.db"
    lengths(path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    assert lengths(path) == (EXPECTED, 200)
    assert "renamed to a.db.damaged" in caplog.text
    assert (tmp_path / "a.db.damaged").exists()
    assert lengths(path) == (EXPECTED, 0)


def test_another_programs_file_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE theirs (x)")
    text = tmp_path / "notes.txt"
    text.write_text("my notes, of some length, which are not to be lost\n" * 20)
    for one in (path, text):
        before = one.read_bytes()
        with pytest.raises(StoreError):
            Cache(one)
        with pytest.raises(StoreError):
            Store(one)
        assert one.read_bytes() == before


def test_an_option_that_the_user_gave_has_answers_of_its_own(tmp_path: Path) -> None:
    for given, asked in (({}, 1), ({"engine": "plain"}, 1), ({"engine": "plain"}, 0), ({}, 0)):
        model, cache = FakeScorer(chunk=50), Cache(tmp_path / "a.db")
        opened = ModelHandle.from_loaded(model, ModelSpec("fake", "lengths", None, given))
        cached(opened, cache).score([Request("a text")])
        cache.close()
        assert len(model.requests) == asked


def test_notices_are_kept_with_the_answers(tmp_path: Path) -> None:
    for asked in (2, 0):
        model, cache = FakeGenerator(shout, chunk=50), Cache(tmp_path / "a.db")
        answers = cached(model, cache).generate(["wug", "wugs"])
        cache.close()
        assert answers == [Answer("WUG"), Answer("WUG", ("were cut off",))]
        assert sum(map(len, model.batches)) == asked
    scored = cached(FakeScorer(noticed_scores), Cache(tmp_path / "a.db")).score([Request("a")])
    again = cached(FakeScorer(noticed_scores), Cache(tmp_path / "a.db")).score([Request("a")])
    assert scored == again
    assert scored[0].notices == ("are short",)


RESULT = run_factory.result(
    "one", "causal/x@1", run_factory.outcomes({"accuracy": [True, False] * 20, "margin": [0.5 * n for n in range(40)]})
)


def kept(path: Path) -> Result:
    """A store with a result in it, and the result."""
    run_factory.keep(path, RESULT)
    return RESULT


LOOKS: dict[str, Callable[[Path], object]] = {
    "the results": lambda path: Store(path).results(1),
    "the results without outcomes": lambda path: Store(path).results(1, outcomes=False),
    "a page": lambda path: (
        RunReader(path).result(1)[0].estimates,
        list(RunReader(path).rows(1).each(Filter(metric="accuracy"), limit=50)),
    ),
    "counts of a page": lambda path: (RunReader(path).result(1)[0].n, RunReader(path).rows(1).tally("accuracy")),
    "an overview": lambda path: [(one.estimates, one.n) for one in RunReader(path).overview() if not one.error],
    "a comparison": lambda path: [one.p for one in compare(Store(path), [[1], [2]]).contrasts],
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE results SET estimates = replace(estimates, '0.5', '0.75')",
        "UPDATE results SET summary = replace(summary, '0.5', '0.75')",
        "UPDATE results SET n = 41",
        "UPDATE results SET rows = rows - 1",
        "UPDATE results SET first = 1",
        "UPDATE results SET file = (SELECT file FROM results WHERE run = 2)",
        "UPDATE results SET sha256 = (SELECT sha256 FROM results WHERE run = 2)",
        "UPDATE results SET columns = replace(columns, 'sentence', 'text')",
        "UPDATE results SET checksum = NULL",
    ],
)
def test_an_altered_store_shows_no_other_number(tmp_path: Path, change: str, look: str) -> None:
    path = tmp_path / "store"
    kept(path)
    kept(path)
    expected = LOOKS[look](path)
    with closing(sqlite3.connect(path / INDEX)) as db, db:
        try:
            db.execute(f"{change} WHERE run = 1")
        except sqlite3.IntegrityError:  # the index refuses it
            return
    try:
        found = LOOKS[look](path)
    except StoreError:
        return
    assert found == expected or (look == "an overview" and found == expected[1:])  # type: ignore[index]


@pytest.mark.parametrize("how", ["flipped", "cut", "missing", "swapped", "emptied"])
@pytest.mark.parametrize("look", LOOKS)
def test_damaged_files_of_outcomes_show_no_other_number(tmp_path: Path, look: str, how: str) -> None:
    path = tmp_path / "store"
    kept(path)
    run_factory.keep(path, run_factory.result("one", "causal/y@1", RESULT.outcomes[:40]))
    expected = LOOKS[look](path)
    first, second = sorted((path / "outcomes").iterdir())
    data = first.read_bytes()
    match how:
        case "flipped":
            first.write_bytes(flipped(data))
        case "cut":
            first.write_bytes(data[:-9])
        case "missing":
            first.unlink()
        case "swapped":
            first.write_bytes(second.read_bytes())
            second.write_bytes(data)
        case "emptied":
            first.write_bytes(b"")
    if look in ("the results without outcomes", "an overview"):
        assert LOOKS[look](path) == expected
        return
    with pytest.raises(StoreError, match="the store is damaged here"):
        LOOKS[look](path)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_store_shows_the_right_numbers_or_a_clear_word(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "store"
    kept(path)
    kept(path)
    expected = {name: look(path) for name, look in LOOKS.items()}
    draw = random.Random(seed)
    damage(draw.choice([path / INDEX, *(path / "outcomes").iterdir()]), draw)
    for name, look in LOOKS.items():
        try:
            found = look(path)
        except StoreError:
            continue
        if name == "an overview":
            assert all(one in expected[name] for one in found)  # type: ignore[attr-defined, operator]
        else:
            assert found == expected[name]


def test_a_store_that_is_deleted_during_a_run_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    number = store.begin("key", "m", "c")
    shutil.rmtree(tmp_path / "store")
    with pytest.raises(StoreError, match="was deleted or replaced"):
        store.add(number, RESULT)


def test_a_full_disk_is_reported_and_keeps_nothing_half(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    number = store.begin("key", "m", "c")
    big = run_factory.result(
        "big", "m", run_factory.outcomes({"accuracy": [True] * 2000}, [str(n) for n in range(2000)])
    )
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, before[1]))  # no file may be larger, as on a full disk
    try:
        with pytest.raises(StoreError, match="cannot be read or written"):
            store.add(number, big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert store.results(number) == []
    assert list((tmp_path / "store" / "outcomes").iterdir()) == []


def test_a_full_disk_for_the_cache_is_reported(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "a.db")
    cache._db.execute("PRAGMA max_page_count=4")
    with pytest.raises(StoreError, match="the disk is full"):
        cache.write(b"model", "model", [(bytes(12), os.urandom(50_000))])


def test_half_characters_are_kept(tmp_path: Path) -> None:
    odd = run_factory.result("s\ud800", "m", run_factory.outcomes({"accuracy": [True]}, ["item \udfff"], text="\ud800"))
    run_factory.keep(tmp_path / "store", odd)
    (found,) = Store(tmp_path / "store").results(1)
    assert found.suite == "s\\ud800"
    assert found.outcomes[0].item == "item \\udfff"
    assert found.outcomes[0].detail["text"] == "\ud800"


def test_files_that_wug_makes_are_their_owners_alone(tmp_path: Path) -> None:
    Store(tmp_path / "made" / "store").close()
    Cache(tmp_path / "kept" / "a.db").close()
    for path in (tmp_path / "made" / "store" / INDEX, tmp_path / "kept" / "a.db"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_reasons_are_given_in_words(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / INDEX).write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match="it is not an SQLite file"):
        Store(tmp_path / "x")
    assert files.describe(OSError(28, "No space left on device")) == "No space left on device"


def damage(path: Path, draw: random.Random) -> None:
    """Change a file somewhere, in one of several ways."""
    data = bytearray(path.read_bytes())
    match draw.randrange(5):
        case 0:
            for _ in range(draw.choice([1, 8, 64])):
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        case 1:
            del data[draw.randrange(len(data)) :]
        case 2:
            page = 4096 * draw.randrange(max(1, len(data) // 4096))
            data[page : page + 4096] = bytes(4096)
        case 3:
            first, second = (4096 * draw.randrange(max(1, len(data) // 4096)) for _ in range(2))
            one, other = data[first : first + 4096], data[second : second + 4096]
            data[first : first + 4096], data[second : second + 4096] = other, one
        case 4:
            place = draw.randrange(len(data))
            data[place : place + 100] = draw.randbytes(100)
    path.write_bytes(data)


def test_a_result_says_what_the_model_said_of_its_answers(tmp_path: Path) -> None:
    from wug.evaluation.suites import open_suites

    suites = [suite.sample(2) for suite in open_suites("wug_agreement_pp")]
    for _ in range(2):
        cache = Cache(tmp_path / "a.db")
        (result,) = evaluate(suites, cached(FakeScorer(noticed_scores), cache))
        cache.close()
        assert any(text.startswith("8 of 8 outputs are short (for example for ") for text in result.warnings)
