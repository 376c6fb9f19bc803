"""ΔLL of a million rows: wug's shared factors of the folds, and a loop of statsmodels fits, in one run.

    python benchmarks/reading.py                       1,000,000 rows, 20 terms, 10 folds
    python benchmarks/reading.py --rows 100000         fewer

Both have the same arrays in memory, fit the baseline (17 terms) and the target model (20 terms) in every training set
of the same folds, and evaluate the test rows; reading the table is not part of it. Each is a separate process with
one BLAS thread, and its CPU seconds are given, so that other programs on the machine disturb both equally. The peer is
`OLS(...).fit()` with its defaults. Peak memory includes the arrays. The two must agree.

Then `wug reading` does the same with a CSV file of these columns (six digits each): it reads the table, fits and stores
the run with a row per word.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from timing import Took, aim, head, line, took

TERMS, BASELINE = 20, 17
FOLDS = 10
AIM, MAX_BYTES = 20, 1_000_000_000
MAX_COMMAND_SECONDS = 30
NEAR = 1e-9
"""Nats per row by which the two may differ."""


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, TERMS))
    y = 300 + x @ rng.normal(size=TERMS) + rng.normal(0, 20, rows)
    return x, y


def by_wug(rows: int) -> float:
    from wug.families.reading.regression import Regression, contiguous

    x, y = data(rows)
    began = time.process_time()
    model = Regression(x, y, contiguous(rows, FOLDS), [f"x{place}" for place in range(TERMS)])
    baseline = model.validate(list(range(BASELINE)), "train").loglik
    delta = float((model.validate(list(range(TERMS)), "train").loglik - baseline).mean())
    report(delta, time.process_time() - began)
    return delta


def by_statsmodels(rows: int) -> float:
    import statsmodels.api as sm

    x, y = data(rows)
    began = time.process_time()
    edges = np.linspace(0, rows, FOLDS + 1).astype(int)
    total = 0.0
    for width, sign in ((BASELINE, -1), (TERMS, 1)):
        design = np.column_stack([np.ones(rows), x[:, :width]])
        for first, last in pairwise(edges.tolist()):
            train = np.r_[0:first, last:rows]
            fit = sm.OLS(y[train], design[train]).fit()
            scale = np.sqrt(fit.scale)
            left = (y[first:last] - fit.predict(design[first:last])) / scale
            total += sign * float((-0.5 * left**2 - np.log(scale) - 0.5 * np.log(2 * np.pi)).sum())
    report(total / rows, time.process_time() - began)
    return total / rows


def whole_command(rows: int) -> Took:
    names = [f"x{place}" for place in range(TERMS)]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "times.csv"
        x, y = data(rows)
        header = ",".join([*names, "rt"])
        np.savetxt(table, np.column_stack([x, y]), "%.6g", ",", header=header, comments="")
        terms = ("--baseline", " + ".join(names[:BASELINE]), "--predictors", " + ".join(names[BASELINE:]))
        command = [sys.executable, "-m", "wug", "reading", str(table), "--measure", "rt", *terms, "--folds", str(FOLDS)]
        return took([*command, "--store", str(Path(folder) / "runs")], OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")


def report(delta: float, seconds: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"delta_ll": delta, "seconds": seconds, "peak": peak}))


def measured(which: str, rows: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--rows", str(rows), "--only", which]
    found: dict[str, float] = json.loads(took(command, OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1").printed)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("wug", "statsmodels"))
    given = parser.parse_args()
    if given.only:
        (by_wug if given.only == "wug" else by_statsmodels)(given.rows)
        return
    found = {which: measured(which, given.rows) for which in ("wug", "statsmodels")}
    print(f"\n{given.rows:,} rows, {TERMS} terms, {FOLDS} folds\n")
    head("program", "CPU seconds", "peak memory", "ΔLL")
    for which, one in found.items():
        line(which, f"{one['seconds']:.2f}", f"{one['peak'] / 1e6:,.0f} MB", f"{one['delta_ll']:.10f}")
    ours, peer = found["wug"], found["statsmodels"]
    faster = peer["seconds"] / ours["seconds"]
    aim(
        f"ΔLL of {given.rows:,} rows, {TERMS} terms, {FOLDS} folds",
        f"≥ {AIM} × a loop of statsmodels fits, by CPU time; < 1 GB",
        f"{faster:.0f} × ({ours['seconds']:.2f} s), {ours['peak'] / 1e6:,.0f} MB",
        met=faster >= AIM and ours["peak"] < MAX_BYTES,
        peer=f"statsmodels: {peer['seconds']:.1f} s, {peer['peak'] / 1e6:,.0f} MB",
    )
    whole = whole_command(given.rows)
    line("`wug reading` with a CSV file", f"{whole.cpu:.2f}", f"{whole.peak * 1.048576:,.0f} MB", "")
    aim(
        f"`wug reading` on {given.rows:,} rows, {TERMS} terms, {FOLDS} folds",
        f"< {MAX_COMMAND_SECONDS} s of CPU time, < 1 GB",
        f"{whole.cpu:.1f} s, {whole.peak * 1.048576:,.0f} MB",
        met=whole.cpu < MAX_COMMAND_SECONDS and whole.peak * 2**20 < MAX_BYTES,
    )
    if abs(found["wug"]["delta_ll"] - found["statsmodels"]["delta_ll"]) > NEAR:
        sys.exit("the two do not agree")


if __name__ == "__main__":
    main()
