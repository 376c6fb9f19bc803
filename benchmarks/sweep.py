"""Sweeps that are interrupted and resumed: the same results as an unbroken one, and what many instant models cost.

python benchmarks/sweep.py --models 150              a cluster of three nodes, two kills, a node lost and one added
python benchmarks/sweep.py --instant 2000            n-gram models: CPU a model, memory, the first page afterwards
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNTING = """
import importlib.abc, importlib.machinery, os, sys

class _Counting(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "wug.models.huggingface.loading":
            return None
        sys.meta_path.remove(self)
        found = importlib.machinery.PathFinder.find_spec(name, path)
        plain = found.loader.exec_module
        def exec_module(module):
            plain(module)
            load = module.load
            def counted(spec, *given, **named):
                made = load(spec, *given, **named)
                with open(os.environ["WUG_LOADS"], "a") as file:
                    file.write(f"{spec.name}\\n")
                return made
            module.load = counted
        found.loader.exec_module = exec_module
        return found

if "WUG_LOADS" in os.environ:
    sys.meta_path.insert(0, _Counting())
"""
"""A `sitecustomize` that notes each time that weights are loaded, in whichever process."""


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--models", type=int, default=150)
    reader.add_argument("--suite", default="wug_syntaxgym")
    reader.add_argument("--instant", type=int, metavar="N", help="instead: a sweep of N n-gram models")
    reader.add_argument("--folder", type=Path, help="where to work; a temporary folder unless it is given")
    given = reader.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="wug-sweep-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        instant(folder, given.instant) if given.instant else broken(folder, given.models, given.suite)
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def broken(folder: Path, models: int, suite: str) -> None:
    """An unbroken sweep on this machine, then the same on a cluster that is ill-treated."""
    from ray.cluster_utils import Cluster

    make_checkpoints(folder / "run", models)
    (folder / "hook").mkdir(exist_ok=True)
    (folder / "hook" / "sitecustomize.py").write_text(COUNTING)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder / "hook"), os.environ.get("PYTHONPATH", "")])
    os.environ |= {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"}
    command = ["run", suite, "--model", f"causal:{folder}/run/checkpoint-*", "--sweep", "s", "--format", "csv"]
    began = time.monotonic()
    here = go(folder, command, "here")
    here.wait()
    print(f"unbroken, on this machine: {time.monotonic() - began:.0f} s, {loads(folder, 'here')} loads", flush=True)

    os.environ["WUG_LOADS"] = str(folder / "there.loads")  # for the processes of the nodes
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    os.environ["RAY_ADDRESS"] = cluster.address
    command += ["--executor", "ray"]
    began = time.monotonic()
    process = go(folder, command, "there")
    reached(folder, models // 4, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    under_way = [unfinished(folder)]
    print(f"killed with {done(folder)} models done", flush=True)
    process = go(folder, command, "there")
    reached(folder, models // 2, process)
    under_way.append(unfinished(folder))
    cluster.remove_node(nodes.pop(), allow_graceful=False)
    under_way.append(unfinished(folder))
    print(f"a node lost with {done(folder)} models done", flush=True)
    reached(folder, models * 5 // 8, process)
    nodes.append(cluster.add_node(num_cpus=1))
    print(f"a node added with {done(folder)} models done", flush=True)
    reached(folder, models * 3 // 4, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    under_way.append(unfinished(folder))
    print(f"killed with {done(folder)} models done", flush=True)
    process = go(folder, command, "there")
    process.wait()
    spent = time.monotonic() - began
    cluster.shutdown()
    first, second = kept(folder / "here.db"), kept(folder / "there.db")
    same = sum(second.get(key) == value for key, value in first.items())
    counted = Counter((folder / "there.loads").read_text().split())
    again = {name: times for name, times in counted.items() if times > 1}
    print(f"on the cluster: exit {process.returncode}, {spent:.0f} s, {sum(counted.values())} loads", flush=True)
    print(f"loaded more than once: {again or 'none'}")
    without = sorted(again.keys() - set().union(*under_way))
    print(f"of these not under way when something was killed: {without or 'none'}")
    print(f"{same} of {len(first)} results identical ({len(second)} on the cluster)")
    tables = [(folder / f"{name}.csv").read_text() for name in ("here", "there")]
    print(f"the tables printed are {'the same' if tables[0] == tables[1] else 'NOT the same'}")


def go(folder: Path, command: list[str], name: str) -> subprocess.Popen[bytes]:
    """A command with a separate store, cache and count."""
    environment = {**os.environ, "WUG_LOADS": str(folder / f"{name}.loads")}
    files = ["--store", str(folder / f"{name}.db"), "--cache", str(folder / f"{name}.cache")]
    with (folder / f"{name}.csv").open("wb") as out, (folder / f"{name}.err").open("ab") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "wug", *command, *files], stdout=out, stderr=err, env=environment
        )


def reached(folder: Path, models: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until that many models are done."""
    while done(folder) < models:
        if process.poll() is not None:
            raise SystemExit(f"ended early with {process.returncode}: see {folder}/there.err")
        time.sleep(0.2)


def done(folder: Path) -> int:
    path = folder / "there.db"
    if not path.exists():
        return 0
    return int(asked(path, "SELECT count(*) FROM runs WHERE status = 'complete'")[0][0])


def unfinished(folder: Path) -> set[str]:
    """The models that were loaded on the cluster, and whose runs are not complete."""
    rows = asked(folder / "there.db", "SELECT specification FROM runs WHERE status = 'complete'")
    complete = {str(row[0]).removeprefix("causal:") for row in rows}
    return set((folder / "there.loads").read_text().split()) - complete


def kept(path: Path) -> dict[tuple[str, str], Any]:
    """Every result with the seals of all its outcomes, by model and suite."""
    rows = asked(
        path,
        "SELECT specification, suite, results.status, signature, n, estimates, warnings, metrics, outcomes, chain"
        " FROM results JOIN runs ON runs.id = results.run WHERE runs.status = 'complete'",
    )
    return {(row[0], row[1]): tuple(row[2:]) for row in rows}


def asked(path: Path, sql: str) -> list[Any]:
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()
    except sqlite3.OperationalError:  # its tables are being made
        return [(0,)]


def loads(folder: Path, name: str) -> int:
    path = folder / f"{name}.loads"
    return len(path.read_text().split()) if path.exists() else 0


def make_checkpoints(folder: Path, count: int) -> None:
    """Checkpoints of a tiny GPT-2 with the tokenizer of wug-causal, each with other weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from wug.evaluation.models import builtin_models

    tokenizer = AutoTokenizer.from_pretrained(builtin_models()["wug-causal"])
    marks = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    shape = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
    config = AutoConfig.for_model("gpt2", vocab_size=len(tokenizer), **shape, **marks)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    for place in range(count):
        step = folder / f"checkpoint-{(place + 1) * 100}"
        if step.exists():
            continue
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.05 * torch.randn_like(parameter)
        model.save_pretrained(step)
        tokenizer.save_pretrained(step)


def instant(folder: Path, models: int) -> None:
    """A sweep of n-gram models: what it costs a model, and the pages of the store afterwards."""
    grams = folder / "grams"
    grams.mkdir(exist_ok=True)
    for place in range(models):
        rows = [("<unk>", -5.0), ("<s>", -99.0), ("</s>", -2.0), ("bad", -2.0), ("good", -1.0 - place / models)]
        lines = ["\\data\\", f"ngram 1={len(rows)}", "", "\\1-grams:", *(f"{value}\t{word}" for word, value in rows)]
        (grams / f"step{place}.arpa").write_text("\n".join([*lines, "", "\\end\\", ""]))
    pairs = [{"sentence_good": f"good {n}", "sentence_bad": f"bad {n}"} for n in range(20)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    files = ["--store", str(folder / "instant.db"), "--cache", str(folder / "instant.cache")]
    command = ["run", str(folder / "pairs.jsonl"), "--model", f"ngram:{grams}/*.arpa", "--sweep", "instant", *files]
    for name in ("first", "again"):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([sys.executable, "-m", "wug", *command], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        wall = time.monotonic() - began
        print(
            f"{name}: {1000 * spent / models:.1f} ms of CPU a model, {1000 * wall / models:.1f} ms of time, "
            f"{after.ru_maxrss / 1024:.0f} MB at most",
            flush=True,
        )
    pages(folder / "instant.db")


def pages(store: Path) -> None:
    """What the pages of a store cost, the first time and again."""
    from starlette.testclient import TestClient

    from wug.results.store import Store
    from wug.web.app import create_app
    from wug.web.site import Site

    site = Site(Store(store), store.with_suffix(".none"))
    client = TestClient(
        create_app(site), base_url="http://localhost", headers={"authorization": f"Bearer {site.access_token}"}
    )
    for address in ("/", "/sweeps/1"):
        for name in ("first", "again"):
            spent = timed(lambda address=address: client.get(address))  # type: ignore[misc]
            print(f"{address} {name}: {1000 * spent:.0f} ms of CPU", flush=True)


def timed(work: Callable[[], Any]) -> float:
    began = time.process_time()
    answer = work()
    assert answer.status_code == 200, answer.text[:500]
    return time.process_time() - began


if __name__ == "__main__":
    main()
