"""Runs all benchmarks and records them; docs/benchmarks.md and docs/benchmark-log.md are made from the records.

    python benchmarks/recorded.py                 on the CPU: an hour or two
    python benchmarks/recorded.py --aims          those with a target: 20 minutes on two quiet cores
    python benchmarks/recorded.py --quick         small versions of some: ten minutes
    python benchmarks/recorded.py --device cuda   GPU benchmarks: 15 minutes, without a network
    python benchmarks/recorded.py --device cuda --dry    the same code in miniature, on the CPU
    python benchmarks/recorded.py --only million  some of them; the records of the others are kept
    python benchmarks/recorded.py --docs          update the tables of the docs without measuring

Every benchmark is a separate command. Its tables are kept as it printed them, in benchmarks/results/cpu.json,
quick.json or cuda.json, with targets and measurements, its command, the machine, the load before and after, and the
versions of all programs. A benchmark that fails is recorded with its last output, and the others continue.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from timing import ROOT, took

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
"""Gets one table of targets and measurements."""
LOG = ROOT / "docs" / "benchmark-log.md"
"""Gets what each benchmark printed."""
BEGIN, END = "<!-- recorded -->", "<!-- end -->"
PACKAGES = (
    "wug",
    "torch",
    "transformers",
    "tokenizers",
    "ctranslate2",
    "numpy",
    "lm_eval",
    "minicons",
    "lark",
    "nltk",
    "statsmodels",
)
TITLES = {
    "scoring": "Sentences scored by a GPT-2 of 124M",
    "scoring, 1.3B": "Sentences scored by a GPT-2 of 1.3B",
    "one layer": "Sentences scored by a GPT-2 of one layer with 50,257 words",
    "masked": "Sentences scored by a masked model",
    "cogs": "COGS judged",
    "decoding": "PCFG SET answered",
    "localism": "Localism, whole command",
    "cached": "BLiMP answered by the cache, whole command",
    "million": "A million pairs, whole commands",
    "choices": "Options in a context",
    "coverage": "How often intervals hold what they should",
    "store": "The store: size, commands and pages",
    "large": "Sentences scored by a 7B model",
    "large, other sizes": "Sentences scored by models of 1.3B and 13B",
    "large, float32": "Sentences scored by a 7B model in float32",
    "large, rounding": "Rounding of three 7B models in bfloat16",
    "reading": "ΔLL of reading times",
}
AIMED = {
    "decoding": ["decoding.py", "--localism", "0", "--generate", "100"],
    "cached": ["cached.py"],
    "million": ["million.py"],
    "reading": ["reading.py"],
    "scoring": ["scoring.py", "--peers", "wug", "lm-eval"],
    "one layer": ["scoring.py", *shlex.split("--sizes one-layer --sets blimp --sample 0 --peers wug")],
    "localism": ["decoding.py", "--count", "0", "--localism", "957"],
}
FULL = {
    **AIMED,
    "scoring": ["scoring.py"],
    "decoding": ["decoding.py", "--localism", "0"],
    "localism": ["decoding.py", "--count", "0", "--localism", "9567"],
    "masked": ["masked.py"],
    "cogs": ["cogs.py"],
    "choices": ["choices.py"],
    "coverage": ["compare_coverage.py"],
    "store": ["store.py"],
}
QUICK = {
    "scoring": ["scoring.py", "--sample", "268", "--part", "10", "--peers", "wug", "lm-eval"],
    "cogs": ["cogs.py"],
    "decoding": ["decoding.py", "--count", "300", "--localism", "100", "--generate", "50"],
    "million": ["million.py", "--pairs", "100000"],
}


def on_gpu(*, dry: bool) -> dict[str, list[str]]:
    """What is measured on a GPU: compared with lm-eval or, if it is not installed, with a similar loop."""
    peers = ["--peers", "wug", "plain" if find_spec("lm_eval") is None else "lm-eval"]
    bf16 = ["--dtypes", "bfloat16", "--sets", "blimp", *peers]
    if dry:
        return {
            "scoring": ["scoring.py", *bf16, *shlex.split("--sizes tiny --sample 268 --batch 64")],
            "localism": ["decoding.py", *shlex.split("--count 0 --localism 5")],
            "decoding": ["decoding.py", *shlex.split("--count 20 --localism 0 --generate 4")],
            "large": ["large.py", *shlex.split("--device cpu --sizes tiny --sample 268")],
            "large, rounding": ["large.py", *shlex.split("--device cpu --sizes tiny --sample 134 --noise 0 1")],
        }
    return {
        "localism": ["decoding.py", *shlex.split("--device cuda --count 0 --localism 9567")],
        "scoring": ["scoring.py", *bf16, *shlex.split("--device cuda --sizes 124M --sample 0 --batch 512")],
        "scoring, 1.3B": ["scoring.py", *bf16, *shlex.split("--device cuda --sizes 1.3B --sample 0 --batch 256")],
        "decoding": ["decoding.py", *shlex.split("--device cuda --localism 0 --generate 200")],
        "large": ["large.py", *shlex.split("--sizes 7B")],
        "large, other sizes": ["large.py", *shlex.split("--sizes 1.3B 13B")],
        "large, float32": ["large.py", *shlex.split("--sizes 7B --dtypes float32 --sample 2010")],
        "large, rounding": ["large.py", *shlex.split("--sizes 7B --sample 2010 --noise 0 1 2")],
    }


def machine() -> dict[str, Any]:
    """What the figures depend on in addition to the programs."""
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "")
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0")
    return {
        "processor": model or platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(int(memory) / 2**20, 1),
        "gpu": _gpu(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """The versions of the programs that are there, and the commit."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {**found, "commit": commit.stdout.strip()} if commit.returncode == 0 else found


def measure(command: Sequence[str]) -> dict[str, Any]:
    """What a benchmark printed and took, or how it failed."""
    before, begun = os.getloadavg()[0], datetime.now(UTC).isoformat(timespec="seconds")
    record: dict[str, Any] = {"command": f"python benchmarks/{shlex.join(command)}", "begun": begun}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        aims = Path(folder, "aims.jsonl")
        try:
            whole = [sys.executable, str(ROOT / "benchmarks" / command[0]), *command[1:]]
            used = took(whole, WUG_BENCH_AIMS=str(aims))
            record |= {"cpu_s": round(used.cpu, 1), "printed": used.printed}
        except SystemExit as failure:  # as `took` says it
            record["failed"] = str(failure).strip()[-2000:]
        told = aims.read_text(encoding="utf-8").splitlines() if aims.exists() else []
        record["aims"] = [json.loads(line) for line in told]
    load = [round(before, 1), round(os.getloadavg()[0], 1)]
    return {**record, "wall_s": round(time.perf_counter() - start, 1), "load": load}


def tables(printed: str) -> str:
    """The tables of what a benchmark printed, and the lines between them that say what they are about."""
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())


def details(record: Mapping[str, Any]) -> str:
    """A recorded run as Markdown: machine and versions once if they are the same for all, then each benchmark."""
    kept = record["benchmarks"].values()
    wheres, withs = [_where(found["machine"]) for found in kept], [_with(found["versions"]) for found in kept]
    one_machine, one_version = len(set(wheres)) == 1, len(set(withs)) == 1
    parts = [f"On {wheres[0]}{f' with {withs[0]}' if one_version else ''}:"] if one_machine else []
    for (name, found), where, programs in zip(record["benchmarks"].items(), wheres, withs, strict=True):
        low, high = found["load"]
        about = [
            f"`{found['command']}`",
            found["begun"][:10],
            f"load {low:g} before and {high:g} after",
            *([] if one_machine else [f"on {where}"]),
            *([] if one_machine and one_version else [f"with {programs}"]),
        ]
        parts += [
            f"### {TITLES.get(name, name)}",
            f"{', '.join(about)}:",
            tables(found["printed"]) if "printed" in found else f"Failed: {found['failed'].splitlines()[-1]}",
        ]
    return "\n\n".join(parts)


def _where(machine: Mapping[str, Any]) -> str:
    """A machine in words."""
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB",
        machine["gpu"],
        machine["system"],
        f"Python {machine['python']}",
    ]
    return ", ".join(part for part in parts if part)


def _with(versions: Mapping[str, str]) -> str:
    """Programs with their versions, in words."""
    return ", ".join(map(" ".join, versions.items()))


def targets_table(*records: Mapping[str, Any]) -> str:
    """One row per target of all benchmarks; empty if there are none."""
    rows = [
        (row["line"], row["wanted"], row["got"], row["peer"], "yes" if row["met"] else "**no**", _place(found))
        for record in records
        for found in record["benchmarks"].values()
        for row in found.get("aims", ())
    ]
    lines = [
        "| benchmark | target | measured | for comparison | met | machine, date, commit |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) if rows else ""


def _place(found: Mapping[str, Any]) -> str:
    """Machine, date and commit of a benchmark, in a few words."""
    machine = found["machine"]
    where = machine["gpu"] or f"{machine['processor']}, {machine['cores']} cores"
    return ", ".join([where, found["begun"][:10], found["versions"].get("commit", "unknown commit")])


def write_docs() -> None:
    """Update the table of targets and the log, each between its markers."""
    found = [RESULTS / f"{name}.json" for name in ("cpu", "cuda")]
    records = [json.loads(path.read_text(encoding="utf-8")) for path in found if path.exists()]
    missing = "None yet: `make bench` writes it."
    for path, body in ((PAGE, targets_table(*records)), (LOG, "\n\n".join(map(details, records)))):
        text = path.read_text(encoding="utf-8")
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END, text.index(BEGIN))
        path.write_text(f"{text[:begin]}\n{body or missing}\n{text[end:]}", encoding="utf-8")


def main() -> None:
    """Measure, keep, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--aims", action="store_true")
    parser.add_argument("--dry", action="store_true", help="with --device cuda: a trial on the CPU, not kept")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", nargs="+", help="names of benchmarks")
    parser.add_argument("--docs", action="store_true")
    given = parser.parse_args()
    if not given.docs:
        if given.device == "cuda":
            kind, plan = "dry" if given.dry else "cuda", on_gpu(dry=given.dry)
        else:
            kind, plan = ("quick", QUICK) if given.quick else ("cpu", AIMED if given.aims else FULL)
        record(RESULTS / f"{kind}.json", plan, given.only)
    write_docs()


def record(path: Path, plan: Mapping[str, list[str]], only: Sequence[str] | None) -> None:
    """Run what is planned, and keep each as soon as it is known."""
    if unknown := set(only or ()) - set(plan):
        sys.exit(f"no benchmark is called {', '.join(sorted(unknown))}: {', '.join(plan)}")
    path.parent.mkdir(exist_ok=True)
    kept = json.loads(path.read_text(encoding="utf-8"))["benchmarks"] if only and path.exists() else {}
    whole: dict[str, Any] = {"benchmarks": kept}
    about = {"machine": machine(), "versions": versions()}
    for name in only or plan:
        print(f"{name}: {shlex.join(plan[name])}", file=sys.stderr, flush=True)
        kept[name] = found = {**measure(plan[name]), **about}
        print(found.get("printed") or f"failed: {found['failed']}", flush=True)
        path.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(targets_table(whole))


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _gpu() -> str:
    try:
        found = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return found.stdout.strip().replace("\n", ", ")


if __name__ == "__main__":
    main()
