"""Outputs for PCFG SET sources: the whole command `wug run`, cold, CTranslate2 itself and Hugging Face generate.

    python benchmarks/decoding.py                    1,000 sources, and localism on 100 samples
    python benchmarks/decoding.py --localism 300     more of localism
    python benchmarks/decoding.py --device cuda --localism 9567
    python benchmarks/decoding.py --count 0 --localism 9567      all of localism and nothing else
    python benchmarks/decoding.py --generate 100     Hugging Face generate on the first 100 sources only
    python benchmarks/decoding.py --threads 1        for a machine with other work: waiting threads use up CPU time
    python benchmarks/decoding.py --profile          where the time of the whole command goes

Each method is a separate process, the model is the built-in wug-pcfg, search is greedy in float32. No answer is kept
from before; the converted model is in the second line of wug's, is made in the first. CTranslate2's bare time is that
of one `translate_batch` over all sources, tokens given, with the threads and the batches with which it is fastest here;
what it needs to start (imports, tokenizer, loading) is separate. Wall-clock time means little on a machine with other
work, so CPU time is shown too; compare ratios within one run only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from timing import DATA, ROOT, Took, aim, head, took
from timing import line as table_line

MODEL = ROOT / "src" / "wug" / "assets" / "models" / "wug-pcfg"
BOUND = 512
LOCALISM = 9567
"""Published samples."""


def wug(suite: Path, home: Path, device: str, *options: str) -> tuple[Took, dict[str, Any]]:
    """The whole command, with a separate cache and store; returns its time and its results."""
    command = [sys.executable, "-m", "wug", "-q", "run", str(suite), "--model", str(MODEL), "--device", device]
    found = took(
        [*command, "--no-cache", "--store", str(home / "store"), "--format", "json", *options],
        WUG_CACHE=str(home / "answers.db"),
    )
    return found, json.loads(found.printed)


def bare(sources: Path, folder: Path) -> dict[str, Any]:
    """CTranslate2 by itself: how long until it is ready, and how long for all sources; in this process."""
    begun, cpu = time.perf_counter(), time.process_time()
    import ctranslate2
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokens = [encoding.tokens for encoding in tokenizer.encode_batch(sources.read_text().splitlines())]
    translator = ctranslate2.Translator(str(folder), device="cpu", compute_type="float32", intra_threads=1,
                                        inter_threads=int(os.environ["OMP_NUM_THREADS"]))  # fmt: skip
    ready, ready_cpu = time.perf_counter(), time.process_time()
    results = translator.translate_batch(
        tokens, beam_size=1, max_batch_size=4096, batch_type="tokens", max_input_length=0, max_decoding_length=BOUND
    )
    done, done_cpu = time.perf_counter(), time.process_time()
    answers = [" ".join(result.hypotheses[0]) for result in results]
    return {"start": ready - begun, "start_cpu": ready_cpu - cpu, "wall": done - ready, "cpu": done_cpu - ready_cpu,
            "answers": answers}  # fmt: skip


def convert(folder: Path) -> dict[str, Any]:
    """CTranslate2's own conversion; in this process."""
    from ctranslate2.converters import TransformersConverter

    TransformersConverter(str(MODEL)).convert(str(folder), quantization="float32")
    return {}


def generate(sources: Path, device: str) -> dict[str, Any]:
    """Hugging Face's generate, in batches of 64 of like length; in this process."""
    begun, cpu = time.perf_counter(), time.process_time()
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForSeq2SeqLM.from_pretrained(MODEL, dtype=torch.float32).to(device).eval()
    ready, ready_cpu = time.perf_counter(), time.process_time()
    texts = sources.read_text().splitlines()
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    answers: dict[int, str] = {}
    for first in range(0, len(order), 64):
        places = order[first : first + 64]
        batch = tokenizer([texts[place] for place in places], return_tensors="pt", padding=True).to(device)
        with torch.inference_mode():
            written = model.generate(
                input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=BOUND,
                do_sample=False, num_beams=1,
            )  # fmt: skip
        answers.update(zip(places, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True))
    done, done_cpu = time.perf_counter(), time.process_time()
    return {"start": ready - begun, "start_cpu": ready_cpu - cpu, "wall": done - ready, "cpu": done_cpu - ready_cpu,
            "answers": [answers[place] for place in range(len(texts))]}  # fmt: skip


def itself(*arguments: str) -> dict[str, Any]:
    """The output of one of the peers, in a separate process."""
    command = [sys.executable, __file__, "--threads", os.environ["OMP_NUM_THREADS"], *arguments]
    found: dict[str, Any] = json.loads(took(command).printed.splitlines()[-1])
    return found


def sample(home: Path, count: int) -> tuple[Path, list[str]]:
    """A folder with a number of sources and targets from the published test set or a new one; and the targets."""
    data = DATA / "pcfgset" / "pcfgset"
    if data.is_dir():
        lines = {end: gzip.decompress((data / f"test.{end}.gz").read_bytes()).decode() for end in ("src", "tgt")}
    else:
        made = home / "made"
        took([sys.executable, "-m", "wug", "make", "pcfgset", "--samples", str(12 * count), "-o", str(made)])
        lines = {end: next(made.rglob(f"test.{end}")).read_text() for end in ("src", "tgt")}
    folder = home / "pcfgset"
    folder.mkdir()
    for end, text in lines.items():
        rows = text.splitlines()
        chosen = [rows[place * len(rows) // count] for place in range(count)]
        (folder / f"test.{end}").write_text("".join(f"{row}\n" for row in chosen))
    return folder, (folder / "test.tgt").read_text().splitlines()


def accuracy(found: Mapping[str, Any]) -> str:
    """The first estimates of a run, in words."""
    return ", ".join(
        f"{name} {100 * value:.1f} %" for name, value in _estimates(found) if name in ("accuracy", "consistency")
    )


def _estimates(found: Any) -> list[tuple[str, float]]:
    rows: list[tuple[str, float]] = []
    if isinstance(found, dict):
        if "metric" in found and found.get("group", "all") == "all" and isinstance(found.get("value"), float):
            rows.append((found["metric"], found["value"]))
        found = list(found.values())
    if isinstance(found, list):
        for part in found:
            rows += _estimates(part)
    return rows


def line(name: str, wall: float, cpu: float, unit: tuple[float, float], note: str) -> None:
    """A method with its times, absolute and relative to those of the first."""
    table_line(name, f"{wall:.1f} s", f"{cpu:.1f} s", f"{wall / unit[0]:.1f}", f"{cpu / unit[1]:.1f}", note)


def ask_localism(count: int, home: Path, device: str) -> None:
    """The whole command on a number of the published samples of localism."""
    unrolled = DATA / "pcfgset" / "localism" / "unrolled_test.tsv.gz"
    if not unrolled.exists():
        return
    found, results = wug(unrolled, home, device, "--limit", str(count))
    share = LOCALISM / count
    print(f"\nLocalism, {count:,} of {LOCALISM:,} samples, whole command, {device}\n")
    head("wall", "CPU", "peak MB", "")
    table_line(f"{found.wall:.1f} s", f"{found.cpu:.1f} s", f"{found.peak:.0f}", accuracy(results))
    most = 25 if device == "cuda" else 480
    part = "" if share == 1 else f", as much as {found.wall * share:.0f} s for all"
    aim(
        f"localism, {count:,} samples, whole command, {device}",
        f"≤ {most} s for all {LOCALISM:,}",
        f"{found.wall:.0f} s (CPU {found.cpu:.0f} s){part}",
        met=found.wall * share <= most,
    )


def compare(count: int, localism: int, device: str, generated: int | None) -> None:
    """Print a table for each task; CTranslate2 is there on a CPU alone, as in wug."""
    with tempfile.TemporaryDirectory() as temporary:
        if count:
            answer(count, Path(temporary), device, generated)
        if localism:
            ask_localism(localism, Path(temporary), device)


def answer(count: int, home: Path, device: str, generated: int | None) -> None:
    """A table of the methods on a number of sources; `generate` may get only the first of them."""
    folder, targets = sample(home, count)
    sources = folder / "test.src"
    print(f"{count:,} sources, {device}, threads: {os.environ['OMP_NUM_THREADS']}\n")
    head("way", "wall", "CPU", "× the first's wall", "× its CPU", "")
    unit = None
    if device == "cpu":
        itself("--convert", str(home / "converted-bare"))
        peer = itself("--bare", str(sources), str(home / "converted-bare"))
        unit = (peer["wall"], peer["cpu"])
        line("CTranslate2, translate_batch alone", *unit, unit, _right(peer["answers"], targets))
        line("its start", peer["start"], peer["start_cpu"], unit, "imports, tokens, loading")
    ways = {
        "wug run, conversion made": (),
        "wug run": (),
        "wug run -M engine=transformers": ("-M", "engine=transformers"),
    }
    for name, options in ways.items() if device == "cpu" else [("wug run", ())]:
        found, results = wug(folder, home, device, *options)
        unit = unit or (found.wall, found.cpu)
        line(name, found.wall, found.cpu, unit, accuracy(results))
        if device == "cpu" and name == "wug run":
            _aimed_at(count, found, peer)
    assert unit is not None
    if generated == 0:
        return
    some = sources
    if generated is not None and generated < count:
        some = home / "some.src"
        some.write_text("".join(f"{source}\n" for source in sources.read_text().splitlines()[:generated]))
    other = itself("--generated", str(some), "--device", device)
    right = _right(other["answers"], targets[: len(other["answers"])])
    called = f"Hugging Face generate alone, {len(other['answers']):,} sources"
    line(called, other["wall"], other["cpu"], unit, right)
    line("its start", other["start"], other["start_cpu"], unit, "imports, loading")


def _aimed_at(count: int, found: Took, peer: Mapping[str, Any]) -> None:
    most = 2 * peer["cpu"] + peer["start_cpu"]
    aim(
        f"{count:,} PCFG SET sources, whole command, cpu",
        "≤ 2 × CTranslate2's bare translate_batch + its start, by CPU time",
        f"{found.cpu:.1f} s",
        met=found.cpu <= most,
        peer=f"2 × {peer['cpu']:.1f} + {peer['start_cpu']:.1f} = {most:.1f} s",
    )


def _right(answers: Sequence[str], targets: Sequence[str]) -> str:
    right = sum(answer.strip() == target.strip() for answer, target in zip(answers, targets, strict=True))
    return f"accuracy {100 * right / len(targets):.1f} %"


def profile(count: int) -> None:
    """Where the time of the whole command goes, by cumulated time."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        folder, _ = sample(home, count)
        wug(folder, home, "cpu")  # makes the conversion
        for engine in ("ctranslate", "transformers"):
            command = [sys.executable, "-c", _PROFILED, str(folder), str(MODEL), str(home / "store"), engine]
            print(took(command, WUG_CACHE=str(home / "answers.db")).printed)


_PROFILED = """
import cProfile, pstats, sys
from wug.cli.main import main
folder, model, store, engine = sys.argv[1:]
sys.argv = ["wug", "-q", "run", folder, "--model", model, "--device", "cpu", "--no-cache", "--store", store]
sys.argv += ["-M", f"engine={engine}"]
profile = cProfile.Profile()
try:
    profile.runcall(main)
except SystemExit:
    pass
pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="sources")
    parser.add_argument("--localism", type=int, default=100, help="samples of localism; 0: none")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--bare", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--convert", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--generated", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--generate", type=int, help="sources that Hugging Face generate is asked; all by default")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of every way")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    if given.profile:
        profile(given.count)
    elif given.bare or given.convert or given.generated:
        found = (
            bare(*given.bare)
            if given.bare
            else convert(given.convert)
            if given.convert
            else generate(given.generated, given.device)
        )
        print(json.dumps(found))
    else:
        compare(given.count, given.localism, given.device, given.generate)


if __name__ == "__main__":
    main()
