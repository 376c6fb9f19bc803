"""The first page of `wug view` on large stores: a server's CPU time for it, and its bytes.

    python benchmarks/first_page.py                  300 runs of 40 suites, and a sweep of 150 checkpoints
    python benchmarks/first_page.py --keep FOLDER    keeps both stores, or takes them up where they are there already

Values are drawn with a fixed seed; results have no outcomes, which the first page does not read. The application is
asked in this process, without a network; what comes back is not compressed. `first` is the first request after the
start, which `wug view` makes itself before it opens the browser.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from wug.outcomes import Estimate, Metric, Result, Signature
from wug.results.store import Store
from wug.results.sweeps import PlannedModel, plan_text
from wug.stats import wilson
from wug.web.app import warm_up
from wug.web.site import Site

FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    "syntaxgym": {
        "Agreement": ("number_orc", "number_prep", "number_src", "reflexive_orc", "reflexive_prep", "reflexive_src"),
        "Licensing": ("npi_orc_any", "npi_orc_ever", "npi_src_any", "npi_src_ever"),
        "Garden paths": ("mvrr", "mvrr_mod", "npz_obj", "npz_obj_mod", "npz_ambig"),
        "Long distance": ("cleft", "cleft_mod", "fgd_embed", "fgd_hierarchy", "fgd_object", "fgd_pp", "fgd_subject"),
        "Gross syntax": ("subordination", "subordination_orc", "subordination_pp", "subordination_src"),
    },
    "pairs": {
        "Binding": ("principle_a_case", "principle_a_c_command", "principle_a_domain"),
        "Islands": ("adjunct_island", "complex_np_island", "wh_island"),
        "Quantifiers": ("existential_there", "superlative_quantifiers"),
    },
    "cogs": {"": ("cogs_gen", "cogs_test")},
    "pcfgset": {"": ("localism", "overgeneralisation", "productivity", "systematicity")},
}
"""Forty suites, as their families group them."""
SIZES = ("14m", "31m", "70m", "160m", "410m", "1b", "1.4b", "2.8b", "6.9b", "12b")
ITEMS = 120
STEPS = 150


def suites() -> list[tuple[str, str, str]]:
    """Family, phenomenon and name of each suite."""
    return [(kind, group, name) for kind, groups in FAMILIES.items() for group, some in groups.items() for name in some]


def result(kind: str, group: str, suite: str, model: str, value: float) -> Result:
    """A result with its headline alone."""
    right = round(ITEMS * min(1.0, max(0.0, value)))
    interval = wilson(right, ITEMS)
    metric = {"syntaxgym": "all_predictions", "pairs": "accuracy", "cogs": "exact_match", "pcfgset": "accuracy"}[kind]
    return Result(
        suite, kind, model, "complete", Signature((("suite", f"{suite}@1"), ("model", model))), ITEMS,
        (Estimate(metric, "all", right / ITEMS, ITEMS, interval.low, interval.high, "wilson"),),
        meta={"phenomenon": group},
        metrics=(Metric(metric, "share", "higher", True, "the share of items that are right"),),
    )  # fmt: skip


def make_runs(path: Path, runs: int = 300) -> None:
    """Models of several sizes and seeds, each asked every suite; larger ones are better."""
    chance = random.Random(0)
    store = Store(path)
    store._db.execute("PRAGMA synchronous=OFF")
    hard = {name: chance.uniform(-0.25, 0.2) for _, _, name in suites()}
    for number in range(runs):
        size, seed = SIZES[number % len(SIZES)], number // len(SIZES)
        model = f"causal/lab/babylm-{size}-seed{seed}@{chance.getrandbits(48):012x}"
        run = store.begin(str(number), model, f"wug run suites/ --model causal:lab/babylm-{size}-seed{seed}")
        for kind, group, name in suites():
            value = 0.45 + 0.045 * SIZES.index(size) + hard[name] + chance.gauss(0, 0.03)
            store.add(run, result(kind, group, name, model, value))
        store.finish(run, "complete")
    store.close()


def make_sweep(path: Path, steps: int = STEPS) -> None:
    """A sweep over the checkpoints of a model, which learns some things early and some late, and two other models."""
    chance = random.Random(1)
    store = Store(path)
    store._db.execute("PRAGMA synchronous=OFF")
    begins = {name: chance.uniform(0.05, 0.8) for _, _, name in suites()}
    names = [name for _, _, name in suites()]
    store.change(
        "INSERT INTO sweeps (key, name, command, started, plan) VALUES (?, ?, ?, ?, ?)",
        *("1", "pythia-160m@step*", "wug run suites/ --model 'causal:pythia-160m@step*'", "2026-01-05T10:00:00+00:00"),
        plan_text(
            [PlannedModel(f"causal:EleutherAI/pythia-160m@step{1000 * number}") for number in range(steps)], names
        ),
    )
    for number in range(steps):
        step = 1000 * number
        model = f"causal/EleutherAI/pythia-160m@{chance.getrandbits(48):012x}"
        spec, revision = f"causal:EleutherAI/pythia-160m@step{step}", f"step{step}"
        run = store.begin(f"s{number}", model, "wug run suites/", specification=spec, revision=revision, sweep=1)
        for kind, group, name in suites():
            learnt = 1 / (1 + 2.718 ** (-12 * (number / steps - begins[name])))
            store.add(run, result(kind, group, name, model, 0.35 + 0.55 * learnt + chance.gauss(0, 0.02)))
        store.finish(run, "complete")
    for name, level in (("gpt2", 0.72), ("gpt2-medium", 0.8)):
        model = f"causal/{name}@{chance.getrandbits(48):012x}"
        run = store.begin(name, model, f"wug run suites/ --model causal:{name}")
        for kind, group, suite in suites():
            store.add(run, result(kind, group, suite, model, level + chance.gauss(0, 0.08)))
        store.finish(run, "complete")
    store.close()


STORES = {"runs": make_runs, "sweep": make_sweep}


def made(folder: Path, names: Sequence[str] = ("runs", "sweep")) -> dict[str, Path]:
    """Both stores, or some, made where they are not there yet."""
    paths = {name: folder / f"{name}.db" for name in names}
    for name, path in paths.items():
        if not path.exists():
            STORES[name](path)
    return paths


def measure(path: Path, addresses: Sequence[str]) -> None:
    """Print CPU time and bytes of some pages of a store."""
    from starlette.testclient import TestClient

    from wug.web.app import create_app

    site = Site(store=Store(path), cache=path.with_name("answers.db"))
    warm_up(site)
    client = TestClient(
        create_app(site), base_url="http://127.0.0.1:8000", headers={"authorization": f"Bearer {site.access_token}"}
    )
    for address in addresses:
        times, size = [], 0
        for _ in range(8):
            start = time.process_time()
            answer = client.get(address, headers={"accept-encoding": "identity"})
            times.append(time.process_time() - start)
            assert answer.status_code == 200, answer.text[-500:]
            size = len(answer.content)
        first, then = 1000 * times[0], 1000 * statistics.median(times[1:])
        print(f"{path.stem:6} {address:40} {first:9.0f} {then:9.0f} {size / 1000:8.0f}", flush=True)
    site.store.close()


def main() -> None:
    """Make the stores, ask for their pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="the folder where the stores are kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = given.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        paths = made(folder)
        print(f"{'store':6} {'page':40} {'first ms':>9} {'then ms':>9} {'kB':>8}   (CPU)")
        for name, path in paths.items():
            measure(
                path,
                ("/", "/?sort=-suite%3Acogs_gen&page=3", "/runs", "/compare") if name == "runs" else ("/", "/runs"),
            )


if __name__ == "__main__":
    main()
