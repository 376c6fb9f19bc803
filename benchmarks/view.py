"""`wug view` on a store with 200 runs and 5 million outcomes: time of its pages, memory of the server.

    python benchmarks/view.py                    makes the store in a temporary folder, a minute
    python benchmarks/view.py --keep store.db    keeps it, or takes it up where it is there already

The server is a process of its own. Times are from the request to the last byte; `first` is the first request of that
address after the start, `then` the median of ten more.
"""

from __future__ import annotations

import argparse
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from wug import stats
from wug.results.checksums import result_seal, summary_seal
from wug.results.store import Store
from wug.types import Outcome, Result, Signature

RUNS, SUITES, PAIRS = 200, 10, 2500
BLIMP = 67_000


def outcomes(count: int, paradigms: int) -> Iterator[Outcome]:
    for number in range(count):
        paradigm = number * paradigms // count
        groups = {"paradigm": f"paradigm_{paradigm}", "term": f"term_{paradigm % 13}", "field": "syntax"}
        good, bad = (f"Many girls who {verb} the neighbours insulted {word} {number}." for verb, word in
                     (("help", "themselves"), ("help", "herself")))  # fmt: skip
        scores = {"logprob_good": -41.25 - number % 17, "logprob_bad": -43.5 - number % 13}
        yield Outcome(str(number), "accuracy", number % 5 != 0, groups, {"good": good, "bad": bad, **scores})


def result(suite: str, model: str, count: int, paradigms: int) -> Result:
    rows = tuple(outcomes(count, paradigms))
    signature = Signature((("suite", f"{suite}@1"), ("model", model)))
    return Result(
        suite, "pairs", model, "complete", signature, count, tuple(stats.estimates(rows)),
        (), rows, {"accuracy": "the grammatical sentence has the higher log-probability"}, {"circuit": "Agreement"},
    )  # fmt: skip


def make(path: Path) -> None:
    """One run through the front door; the others are copies of its rows, made inside the database."""
    store = Store(path)
    db = store._db
    first = store.begin("0", "causal/model-0@0", "wug run")
    for suite in range(SUITES):
        store.add(first, result(f"suite_{suite:02}", "causal/model-0@0", PAIRS, 5))
    store.finish(first, "complete")
    rows = [{**row} for row in db.execute("SELECT * FROM results")]
    for number in range(1, RUNS - 1):
        run = store.begin(str(number), f"causal/model-{number}@{number:x}", f"wug run --model causal:model-{number}")
        db.execute("BEGIN")
        for row in rows:
            copy = {**row, "id": None, "run": run}
            copy |= {"seal": result_seal(copy, row["outcomes"], row["chain"]), "summary_seal": summary_seal(copy)}
            marks = ", ".join("?" * len(copy))
            made = db.execute(f"INSERT INTO results ({', '.join(copy)}) VALUES ({marks})", tuple(copy.values()))
            db.execute(
                "INSERT INTO outcomes SELECT ?, place, item, measure, value, judged, groups, detail, seal FROM outcomes"
                " WHERE result = ?",
                (made.lastrowid, row["id"]),
            )
        db.execute("COMMIT")
        store.finish(run, "complete")
    last = store.begin("blimp", "causal/gpt2@607a30d", "wug run blimp --model causal:gpt2")
    store.add(last, result("blimp", "causal/gpt2@607a30d", BLIMP, 67))
    store.finish(last, "complete")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()


def fetch(address: str) -> tuple[float, int]:
    start = time.perf_counter()
    shown = {"Authorization": f"Bearer {os.environ['WUG_VIEW_TOKEN']}"}
    with urllib.request.urlopen(urllib.request.Request(address, headers=shown)) as answer:
        size = len(answer.read())
    return time.perf_counter() - start, size


def memory(process: int) -> int:
    """Megabytes that a process had at most."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM"))


def measure(db: Path, folder: Path) -> None:
    os.environ["WUG_VIEW_TOKEN"] = secrets.token_urlsafe(24)
    start = [sys.executable, "-c", "from wug.cli.main import main; main()"]
    command = [*start, *("view", "--no-open", "--port", "0", "--db", str(db), "--cache", str(folder / "answers.db"))]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    own = server.stdout.readline().split()[-1].partition("/?")[0]
    last = last_result(db)
    pages = {
        "first page: runs by suites": "/",
        "the same, sorted by a suite": "/?sort=-suite%3Asuite_03&page=4",
        "a run": "/run/100",
        "BLiMP, 67,000 pairs: overview": f"/result/{last}",
        "its failing pairs": f"/result/{last}/items?value=false",
        "its failing pairs of one paradigm": f"/result/{last}/items?value=false&group=paradigm%3Dparadigm_60",
        "its pairs with a word": f"/result/{last}/items?q=insulted+herself+66990.",
        "a pair": f"/result/{last}/item/60000",
        "its margins, as a chart": f"/result/{last}/figure/margins.vl.json",
        "two runs compared, 25,000 pairs": "/compare?run=10&run=20",
        "all judgements of BLiMP as CSV": f"/result/{last}/items.csv",
    }
    try:
        print(f"{'page':40} {'first ms':>9} {'then ms':>9} {'kB':>8}")
        for name, path in pages.items():
            cold, size = fetch(own + path)
            warm = [fetch(own + path)[0] for _ in range(10 if not path.endswith("csv") else 1)]
            print(f"{name:40} {1000 * cold:9.0f} {1000 * statistics.median(warm):9.0f} {size / 1000:8.0f}", flush=True)
        print(f"memory of the server at most, one after the other: {memory(server.pid)} MB")
        began = time.perf_counter()
        with ThreadPoolExecutor(200) as many:
            list(many.map(fetch, [own + path for path in list(pages.values())[:5] * 40]))
        print(f"200 requests at once: {time.perf_counter() - began:.1f} s")
        print(f"memory of the server at most: {memory(server.pid)} MB")
    finally:
        server.terminate()
        server.wait()


def last_result(db: Path) -> int:
    import sqlite3

    with closing(sqlite3.connect(db)) as found, found:
        return int(found.execute("SELECT max(id) FROM results").fetchone()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="where the store is kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        db = given.keep or folder / "wug.db"
        if not db.exists():
            start = time.perf_counter()
            make(db)
            print(f"made {db.stat().st_size / 1e9:.1f} GB in {time.perf_counter() - start:.0f} s", flush=True)
        measure(db, folder)


if __name__ == "__main__":
    main()
