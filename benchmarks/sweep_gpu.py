"""How busy a GPU is during a sweep: checkpoints of one model by some thousand sentences, compared with a shell loop.

    python benchmarks/sweep_gpu.py                                40 checkpoints of 160M, 6,700 sentences, cuda
    python benchmarks/sweep_gpu.py --workers 1                    all of the sweep in one process
    python benchmarks/sweep_gpu.py --device cpu --small           the same way with small models, on any machine

wug is run from the tree that this file is in. Besides torch and transformers it needs the few packages that the program
says are missing; without a network, bring them along: `pip install --target packages click …`, then
`PYTHONPATH=packages python benchmarks/sweep_gpu.py`.

Of the sweep it is also told how long no model was asked, since none was ready, as a share of the time from the first
question to the last, and what each stage took a model; stages of several models overlap, in one process or in several.
`evaluate` is a model asked and its answers judged; `wait`, in one process, is the turn's wait for its model. `load` is
the whole of a load after its files were hashed, in it `build` (tokenizer and weights, by transformers), `reference`
(probes on the CPU), `copy` to the GPU, `compare` (the probes there) and `check` (trees against single texts).
`asked_at_a_time` is how many models were asked at a time on average, while any was.

The GPU's utilisation is asked for every 50 ms, by NVML (pynvml) or else by nvidia-smi. It counts as idle for what is
left to 100%: of a sweep from the first question to the end of the last answer, of other commands from the first
sample in which it works to the last one. Each checkpoint of 160M takes 0.65 GB of
`--folder`. Of the shell loop, which takes as long for one model as for the next, only `--loop` models are asked.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EVERY = 0.05
"""Seconds between two samples."""
NEEDED = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "click", "filelock", "jinja2", "platformdirs")
"""What `wug run` imports for a causal model where it prints no table; modules are called as their packages."""
INSIDE = "--inside"
"""Before a file and a command of wug: run it in this process, and write into the file what its stages took."""
SMALL = {"models": 3, "sentences": 200, "layers": 2, "width": 64, "words": 0, "loop": 2}


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--models", type=int, default=40)
    reader.add_argument("--sentences", type=int, default=6700)
    reader.add_argument("--layers", type=int, default=12)
    reader.add_argument("--width", type=int, default=768)
    reader.add_argument("--words", type=int, default=50304, help="rows of the embedding")
    reader.add_argument("--loop", type=int, default=6, help="models of the shell loop")
    reader.add_argument("--small", action="store_true", help="small models, few of them, for a trial")
    reader.add_argument("--device", default="cuda")
    reader.add_argument("--workers", type=int, help="processes of the sweep; as many as wug finds best unless given")
    reader.add_argument("--suite", help="a suite to ask instead of made sentences, such as a folder of BLiMP")
    reader.add_argument("--folder", type=Path, help="where to work; a temporary folder unless it is given")
    given = reader.parse_args()
    if given.small:
        vars(given).update(SMALL)
    require_packages()
    require_device(given.device)
    sys.path.insert(0, str(ROOT / "src"))
    folder = given.folder or Path(tempfile.mkdtemp(prefix="wug-sweep-gpu-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        began = time.monotonic()
        make_checkpoints(folder / "run", given)
        suite = given.suite or str(make_pairs(folder / "pairs.jsonl", given.sentences // 2))
        names = sorted((folder / "run").iterdir(), key=lambda path: int(path.name.rpartition("-")[2]))
        told(what="checkpoints made", models=len(names), seconds=round(time.monotonic() - began, 1))
        alone(names[0], suite, given.device)
        how = [] if given.workers is None else ["--workers", str(given.workers)]
        report("one sweep", given.device, [f"{folder}/run/*"], suite, len(names), folder / "stages.json", how)
        report("a shell loop", given.device, [str(name) for name in names[: given.loop]], suite, given.loop)
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


def require_packages() -> None:
    """End with a message where a package is missing."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise SystemExit(
            f"missing: {', '.join(missing)}. Where there is a network: pip install --target packages "
            f"{' '.join(missing)}; then here: PYTHONPATH=packages python {' '.join(sys.argv)}"
        )


def require_device(name: str) -> None:
    """End with a message where there is no GPU."""
    import torch

    if name.startswith("cuda") and not torch.cuda.is_available():
        raise SystemExit("PyTorch finds no GPU here. For a trial: --device cpu --small")


def alone(model: Path, suite: str, device: str) -> None:
    """Print what one model takes by itself: a sweep cannot leave the GPU idle for less than loading exceeds asking."""
    from wug.evaluation.models import open_model
    from wug.evaluation.suites import open_suites

    requests = [request for one in open_suites([suite]) for request in one.requests()]
    began = time.monotonic()
    opened: Any = open_model(f"causal:{model}", {"device": device})
    opened.score(requests[:1])
    loaded = time.monotonic()
    opened.score(requests)
    first = time.monotonic()
    opened.score(requests)
    again = time.monotonic()
    seconds = {"loading": loaded - began, "asking": first - loaded, "asking_again": again - first}
    told(what="one model", questions=len(requests), **{name: round(value, 2) for name, value in seconds.items()})


def report(
    title: str,
    device: str,
    models: Sequence[str],
    suite: str,
    count: int,
    stages: Path | None = None,
    how: Sequence[str] = (),
) -> None:
    """Run commands one after the other, and print how long that took and how idle the GPU was.

    With a file for `stages`, also what those of a sweep took.
    """
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    began = time.monotonic()
    with watching() as samples:
        for model in models:
            program = ["-m", "wug"] if stages is None else [__file__, INSIDE, str(stages)]
            command = [sys.executable, *program, "-q", "run", suite, "--model", f"causal:{model}"]
            command += ["--device", device, "--no-cache", "--no-save", "--format", "csv", *how]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    spent = time.monotonic() - began
    found = {} if stages is None else json.loads(stages.read_text(encoding="utf-8"))
    asked = found.pop("asked", None)
    within = worked(samples) if asked is None else between(samples, *asked)
    idle, at_nought = idle_share(within), share_at_nought(within)
    told(
        what=title,
        models=count,
        seconds=round(spent, 1),
        seconds_a_model=round(spent / count, 2),
        idle="not known here" if idle is None else f"{100 * idle:.1f} %",
        samples_at_0="not known here" if at_nought is None else f"{100 * at_nought:.1f} %",
        samples=len(within),
    )
    if found:
        told(what="its stages", **found)


@dataclass(frozen=True, slots=True)
class Span:
    """A stage of some work: its name, and when it began and ended, in seconds."""

    name: str
    began: float
    ended: float


class Stages(logging.Handler):
    """The stages that wug logs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.spans: list[Span] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a stage, which ends as it is logged."""
        if isinstance(record.args, tuple):
            name, seconds = record.args
            self.spans.append(Span(str(name), record.created - float(str(seconds)), record.created))


def inside(file: Path, command: Sequence[str]) -> None:
    """Run a command of wug, and write what its stages took."""
    sys.path.insert(0, str(ROOT / "src"))
    from wug.cli.main import main as wug

    stages, log = Stages(), logging.getLogger("wug.timings")
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(stages)
    sys.argv = ["wug", *command]
    try:
        wug()
    finally:
        file.write_text(json.dumps(summary(stages.spans)), encoding="utf-8")


def summary(spans: Sequence[Span]) -> Mapping[str, Any]:
    """How long no model was asked, and what each stage took: for each model that was asked, and at most."""
    waited, whole = waiting(spans)
    asked = [span.ended - span.began for span in spans if span.name == "evaluate"]
    models = len(asked) or 1
    found: dict[str, Any] = {
        "asked": _from_first_to_last(spans),
        "from_first_to_last": round(whole, 2),
        "asked_at_a_time": round(sum(asked) / (whole - waited), 2) if whole > waited else "not known here",
        "waited": round(waited, 2),
        "waited_share": f"{100 * waited / whole:.1f} %" if whole else "not known here",
    }
    for name in dict.fromkeys(span.name for span in spans):
        took = [span.ended - span.began for span in spans if span.name == name]
        found[name] = {"a_model": round(sum(took) / models, 3), "longest": round(max(took), 3)}
    return found


def _from_first_to_last(spans: Sequence[Span]) -> tuple[float, float] | None:
    """When the first question was asked, and when the last answer was judged."""
    asked = [span for span in spans if span.name == "evaluate"]
    return (min(span.began for span in asked), max(span.ended for span in asked)) if asked else None


def waiting(spans: Sequence[Span]) -> tuple[float, float]:
    """Seconds between the first question and the last in which no model was asked, and all of these."""
    asked = sorted((span.began, span.ended) for span in spans if span.name == "evaluate")
    if not asked:
        return 0.0, 0.0
    first = until = asked[0][0]
    waited = 0.0
    for began, ended in asked:
        waited += max(0.0, began - until)
        until = max(until, ended)
    return waited, until - first


def told(**facts: Any) -> None:
    """Print a line of JSON."""
    print(json.dumps(facts), flush=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """How busy the GPU is, in per cent, and when that was asked for, in seconds since 1970."""

    at: float
    used: int


def worked(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples from the first that is not 0 to the last."""
    busy = [place for place, sample in enumerate(samples) if sample.used > 0]
    return samples[busy[0] : busy[-1] + 1] if busy else []


def between(samples: Sequence[Sample], first: float, last: float) -> Sequence[Sample]:
    """The samples of some time."""
    return [sample for sample in samples if first <= sample.at <= last]


def idle_share(samples: Sequence[Sample]) -> float | None:
    """What is left to 100% on average, as a share; None without samples."""
    return 1 - sum(sample.used for sample in samples) / len(samples) / 100 if samples else None


def share_at_nought(samples: Sequence[Sample]) -> float | None:
    """The share of samples in which nothing worked at all; None without samples."""
    return sum(sample.used == 0 for sample in samples) / len(samples) if samples else None


@contextmanager
def watching() -> Iterator[list[Sample]]:
    """Samples of how busy the first GPU is, in per cent; none where nothing tells."""
    samples: list[Sample] = []
    ended = threading.Event()
    ask = by_nvml()
    if ask is not None:
        thread = threading.Thread(target=_ask_on, args=(ask, samples, ended), daemon=True)
        thread.start()
        try:
            yield samples
        finally:
            ended.set()
            thread.join()
    elif (program := shutil.which("nvidia-smi")) is not None:
        query = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--id=0"]
        command = [program, *query, f"--loop-ms={int(1000 * EVERY)}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            thread = threading.Thread(target=_read_on, args=(process, samples), daemon=True)
            thread.start()
            try:
                yield samples
            finally:
                process.terminate()
                thread.join()
    else:
        yield samples


def by_nvml() -> Callable[[], int] | None:
    """A function that says how busy the first GPU is, in per cent; None without pynvml or a GPU."""
    try:
        pynvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
    except pynvml.NVMLError:
        return None
    return lambda: int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)


def _ask_on(ask: Callable[[], int], samples: list[Sample], ended: threading.Event) -> None:
    while not ended.wait(EVERY):
        samples.append(Sample(time.time(), ask()))


def _read_on(process: subprocess.Popen[str], samples: list[Sample]) -> None:
    assert process.stdout is not None
    samples.extend(Sample(time.time(), int(line)) for line in process.stdout if line.strip().isdigit())


def make_checkpoints(folder: Path, given: argparse.Namespace) -> None:
    """Checkpoints of a model of Pythia's shape with the tokenizer of wug-causal, each with other weights."""
    import torch
    import transformers
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    from wug.evaluation.models import builtin_models

    transformers.logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(builtin_models()["wug-causal"])
    shape: dict[str, Any] = {
        "hidden_size": given.width,
        "num_hidden_layers": given.layers,
        "num_attention_heads": max(1, given.width // 64),
        "intermediate_size": 4 * given.width,
        "vocab_size": max(given.words, len(tokenizer)),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("gpt_neox", **shape)).eval()
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    told(what="a model", parameters=f"{size:.1f}M", torch=torch.__version__, device=_device(given.device))
    for place in range(given.models):
        step = folder / f"checkpoint-{(place + 1) * 1000}"
        if not step.exists():
            with torch.no_grad():
                next(model.parameters()).add_(0.01)
            model.save_pretrained(step)
            tokenizer.save_pretrained(step)


def _device(name: str) -> str:
    import torch

    return torch.cuda.get_device_name() if name.startswith("cuda") else name


def make_pairs(path: Path, pairs: int) -> Path:
    """Pairs of sentences about as long and as like one another as BLiMP's."""
    chance = random.Random(0)
    words = (
        "the a many some teacher doctor girls boys cat dogs who that sees helps like near old small often here".split()
    )
    with path.open("w", encoding="utf-8") as file:
        for number in range(pairs):
            sentence = [chance.choice(words) for _ in range(chance.randint(5, 12))]
            other = [*sentence[:-1], chance.choice(words)]
            row = {
                f"sentence_{name}": f"{' '.join(some)} {number}." for name, some in (("good", sentence), ("bad", other))
            }
            file.write(json.dumps(row) + "\n")
    return path


if __name__ == "__main__":
    if sys.argv[1:2] == [INSIDE]:
        inside(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
