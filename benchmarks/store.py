"""The store: its size, and how long commands and pages take on stores of one run, a million pairs and 200 checkpoints.

    python benchmarks/store.py                       everything, in a temporary folder; some minutes
    python benchmarks/store.py --folder FOLDER       keep the stores there, and use those that exist
    python benchmarks/store.py --checkpoints 20      fewer checkpoints
    python benchmarks/store.py --only export         parts whose name contains this

`blimp` and `export` evaluate bigram models on pairs from a template (see million.py). `checkpoints` writes two sweeps
of checkpoints with random outcomes on suites of BLiMP's size. Times are CPU seconds unless a line says otherwise.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from cached import PLAIN
from million import make_model, make_pairs, python
from timing import aim, took
from wug import stats
from wug.outcomes import Estimate, Metric, Outcome, Result, Signature
from wug.results.columns import literal
from wug.results.database import connect
from wug.results.outcomes import OutcomeCollector, PackedOutcomes
from wug.results.store import Store
from wug.results.sweeps import PlannedModel, plan_text

SUITES, PAIRS = 67, 1_000
"""BLiMP's paradigms, and the pairs of each."""
ACCURACY = Metric("accuracy", meaning="the grammatical sentence has the higher log-probability")


def say(line: str, limit: str, found: str, *, met: bool) -> None:
    print(f"| {line} | {limit} | {found} |", flush=True)
    aim(f"store: {line}", limit, found, met=met)


def size_mb(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def blimp(folder: Path) -> None:
    """A run on as many pairs as BLiMP has, in as many suites."""
    suites = folder / "suites"
    if not suites.exists():
        suites.mkdir()
        make_pairs(folder / "whole.tsv", SUITES * PAIRS)
        head, *rows = (folder / "whole.tsv").read_text(encoding="utf-8").splitlines()
        for number in range(SUITES):
            text = "\n".join([head, *rows[number * PAIRS : (number + 1) * PAIRS]])
            (suites / f"paradigm_{number:02}.tsv").write_text(f"{text}\n", encoding="utf-8")
    make_model(folder / "first.arpa", 0)
    given = ["--model", f"ngram:{folder / 'first.arpa'}", "--cache", str(folder / "blimp.db")]
    first, second = (
        took(python(PLAIN, ["run", *map(str, sorted(suites.iterdir())), *given, "--store", str(folder / f"blimp-{n}")]))
        for n in range(2)
    )
    say("BLiMP, `wug run`", "–", f"{first.cpu:.1f} s, {first.peak:.0f} MB", met=True)
    say("BLiMP, `wug run`, all outputs in the cache", "–", f"{second.cpu:.1f} s, {second.peak:.0f} MB", met=True)
    store, cache = size_mb(folder / "blimp-0"), size_mb(folder / "blimp.db")
    say("BLiMP, size of the store", "≤ 3 MB", f"{store:.1f} MB", met=store <= 3)
    say("BLiMP, size of the cache", "≤ 15 MB", f"{cache:.1f} MB", met=cache <= 15)


def export(folder: Path) -> None:
    """`wug export` of a million pairs, and a bare COPY of the same file by DuckDB."""
    pairs, store = folder / "pairs.tsv", folder / "million"
    if not pairs.exists():
        make_pairs(pairs, 1_000_000)
    make_model(folder / "first.arpa", 0)
    if not store.exists():
        model = f"ngram:{folder / 'first.arpa'}"
        run = took(python(PLAIN, ["run", str(pairs), "--model", model, "--no-cache", "--store", str(store)]))
        met = run.cpu <= 20 and run.peak < 700
        say("a million pairs, `wug run`", "≤ 20 s, < 700 MB", f"{run.cpu:.1f} s, {run.peak:.0f} MB", met=met)
    (file,) = (store / "outcomes").glob("*.parquet")
    options = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json, ARRAY", "parquet": "FORMAT parquet, COMPRESSION zstd"}
    for form, how in options.items():
        code = f"""import duckdb; duckdb.execute({f"COPY (FROM '{file}') TO '{folder / f'bare.{form}'}' ({how})"!r})"""
        bare = took([sys.executable, "-c", code])
        own = took(python(PLAIN, ["export", "1", "-o", str(folder / f"wug.{form}"), "--store", str(store)]))
        found = f"{own.cpu / bare.cpu:.1f} × ({own.cpu:.1f} s ÷ {bare.cpu:.1f} s), {own.peak:.0f} MB"
        met = own.cpu <= 4 * bare.cpu and own.peak < 700
        say(f"a million pairs, `wug export`, {form} ÷ bare COPY", "≤ 4 ×, < 700 MB", found, met=met)


def outcomes() -> Iterator[Outcome]:
    for number in range(PAIRS):
        good, bad = (f"Many girls who help the neighbours insulted {word} {number}." for word in ("themselves", "her"))
        detail = {"good": good, "bad": bad, "logprob_good": -41.25, "logprob_bad": -43.5}
        yield Outcome(str(number), "accuracy", True, {"term": f"term_{number % 13}", "field": "syntax"}, detail)


def make_sweeps(path: Path, checkpoints: int) -> None:
    """Two sweeps with random outcomes: a template file, with other values for each checkpoint."""
    with closing(Store(path)) as store, tempfile.TemporaryDirectory() as temporary, connect() as db:
        collector = OutcomeCollector()
        for outcome in outcomes():
            collector.add(outcome)
        template = collector.write(Path(temporary) / "template.parquet", "s", "m")
        made = Path(temporary) / "made.parquet"
        for size in ("small", "large"):
            planned = [PlannedModel(f"causal:{size}@step{1000 * (n + 1)}") for n in range(checkpoints // 2)]
            names = [f"paradigm_{number:02}" for number in range(SUITES)]
            sweep = store.begin_sweep(size, size, "wug run", plan_text(planned, names))
            for number, one in enumerate(planned):
                model = f"causal/{size}-step{1000 * (number + 1)}@{secrets.token_hex(6)}"
                revision = f"step{1000 * (number + 1)}"
                run = store.begin(
                    model, model, "wug run", specification=one.specification, revision=revision, sweep=sweep
                )
                for suite in names:
                    random = "logprob_good - random() * 10 AS logprob_good, logprob_bad - random() * 10 AS logprob_bad"
                    query = f"""
                        SELECT * REPLACE ({literal(suite)} AS suite, {literal(model)} AS model,
                            CAST(logprob_good > logprob_bad AS DOUBLE) AS value)
                        FROM (SELECT * REPLACE ({random}) FROM '{template.path}')"""
                    db.execute(f"COPY ({query}) TO '{made}' (FORMAT parquet, COMPRESSION zstd)")
                    (right,) = db.execute(f"SELECT sum(value) FROM '{made}'").fetchone() or (0,)
                    interval = stats.wilson(right, PAIRS)
                    whole = Estimate("accuracy", "all", right / PAIRS, PAIRS, interval.low, interval.high, "wilson")
                    signature = Signature((("suite", f"{suite}@1"), ("model", model)))
                    result = Result(suite, "pairs", model, "complete", signature, PAIRS, (whole,), metrics=(ACCURACY,))
                    store.add(run, result, PackedOutcomes(made.read_bytes(), PAIRS, template.columns))
                store.finish(run, "complete")


def checkpoints(folder: Path, count: int) -> None:
    """Pages and commands on a store with many checkpoints of BLiMP's size."""
    from starlette.testclient import TestClient

    from wug.web.app import create_app, warm_up
    from wug.web.site import Site

    store = folder / f"checkpoints-{count}"
    if not store.exists():
        make_sweeps(store, count)
    rows = count * SUITES * PAIRS
    say(f"{count} checkpoints, {rows / 1e6:.1f} million outcomes, size", "–", f"{size_mb(store):.0f} MB", met=True)
    site = Site(store=Store(store), cache=folder / "none.db")
    warm_up(site)  # as `wug view` does before it prints its address
    header = {"authorization": f"Bearer {site.access_token}"}
    with TestClient(create_app(site), base_url="http://127.0.0.1", headers=header) as client:
        pages = {"first page": ("/", 300), "sweep page": ("/sweeps/1", 1_000)}
        pages["items sorted by margin"] = (f"/result/{count // 2 * SUITES}/items?sort=margin", 300)
        for name, (address, limit) in pages.items():
            for turn in ("first", "again"):
                start, cpu = time.perf_counter(), time.process_time()
                answer = client.get(address)
                took_ms, cpu_ms = 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - cpu)
                assert answer.status_code == 200, (address, answer.text[:500])
                say(
                    f"{name}, {turn}",
                    f"< {limit} ms (wall)",
                    f"{took_ms:.0f} ms, CPU {cpu_ms:.0f} ms",
                    met=took_ms < limit,
                )
    used = took(python(PLAIN, ["compare", "--curve", "sweep:small", "sweep:large", "--store", str(store)]))
    found = f"{used.wall:.1f} s wall, {used.cpu:.1f} s CPU, {used.peak:.0f} MB"
    say("`wug compare --curve` of two sweeps", "< 10 s (wall)", found, met=used.wall < 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--checkpoints", type=int, default=200)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    parts: dict[str, Callable[[Path], None]] = {
        "blimp": blimp,
        "export": export,
        "checkpoints": lambda folder: checkpoints(folder, given.checkpoints),
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print("| what | limit | found |\n|---|---|---|")
        for name, part in parts.items():
            if given.only in name:
                part(folder)


if __name__ == "__main__":
    main()
