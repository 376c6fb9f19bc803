"""Runs and trainings killed at random moments and started again: they end as unbroken ones do.

Processes are forked from one that has imported torch already, so that a kill costs no import.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import random
import shlex
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz import damage, seeds
from fuzz import server as completions
from fuzz.campaign import Case, Wrong, apart

CHUNK, PAUSE = 5, 0.01
"""Questions that are asked and kept at a time, and seconds before each answer: so that there is time to be killed."""
TINY = ("--batch-size", 4, "--device", "cpu", "--seed", 3, "--layers", 1, "--embedding-size", 16, "--ffn-size", 16)
ROWS = ("--vocab", 300, "--context-length", 16)
STEPS = ("--steps", 40, "--checkpoint-every", 7)

LATE = (
    "AutoTokenizer", "PreTrainedTokenizerFast", "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoModelForSeq2SeqLM",
    "GPT2LMHeadModel", "BertForMaskedLM", "T5ForConditionalGeneration",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """A command that is killed: what it needs, and its arguments."""

    make: Callable[[Path], object]
    """Puts a model or material into an empty folder."""
    arguments: Callable[[Path], tuple[object, ...]]
    trains: bool = False


class Campaign:
    """Commands and the moments at which they are killed."""

    name, batch, room, patience = "kills", 1_000, 32 * 2**30, 900

    def __init__(self, only: str | None = None) -> None:
        chosen = [name for name in jobs() if only is None or only in name]
        self._names = chosen
        self._folder = Path()
        self.notes: dict[str, int] = {}

    def prepare(self, folder: Path) -> None:
        """Import what the commands import, write the material, start a completions server."""
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        sys.path.append(str(Path(__file__).parents[1]))
        import torch  # noqa: F401
        import transformers

        import wug.cli.run
        import wug.evaluation.evaluate
        import wug.train.loop  # noqa: F401

        transformers.logging.set_verbosity_error()
        for name in LATE:  # imported when they are looked at
            getattr(transformers, name)
        for module in ("wug.views.result_tables", "wug.cli.export", "wug.cli.train", "safetensors.torch"):
            importlib.import_module(module)
        damage._write_material(folder)
        sentences = [
            f"{who} {what}." for who in ("The cat", "A dog", "My aunt") for what in ("sleeps", "ran", "saw a bird")
        ]
        (folder / "text.txt").write_text("\n".join(sentences * 6) + "\n", encoding="utf-8")
        for part in ("src", "tgt"):
            shutil.copy(folder / f"test.{part}", folder / f"train.{part}")
        self._folder = folder
        if any(name == "endpoint" for name in self._names):
            _serve(folder)

    def make(self, draw: random.Random) -> Case:
        """A command, with one to three moments as shares of its time."""
        name = draw.choice(self._names)
        moments = [draw.random() for _ in range(draw.choice((1, 1, 2, 3)))]
        return Case(name, {"plan.json": json.dumps({"job": name, "moments": moments}).encode()}, moments)

    def attempt(self, case: Case, folder: Path) -> None:
        """Kill the command at each moment, let it end, and compare."""
        job = jobs()[case.label]
        home = self._folder / f"job-{case.label}"
        if not (home / "unbroken.json").exists():
            self._unbroken(job, home)
        whole = json.loads((home / "unbroken.json").read_text(encoding="utf-8"))
        place = folder / "broken"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        killed = 0
        for moment in case.aside:
            killed += _run(job, home, place, kill=moment * whole["seconds"])[0]
        for _ in range(3):
            if killed:
                break
            # The machine was faster than before: once more from the beginning, and sooner.
            shutil.rmtree(place)
            place.mkdir()
            killed += _run(job, home, place, kill=0.5 * case.aside[0] * whole["seconds"])[0]
        self.notes["kills"] = self.notes.get("kills", 0) + killed
        self.notes[f"kills of {case.label}"] = self.notes.get(f"kills of {case.label}", 0) + killed
        _run(job, home, place)
        found = _found(job, place)
        if found != whole["found"]:
            raise Wrong(f"{case.label}: {damage._difference(whole['found'], found)} after {killed} kills")

    def _unbroken(self, job: Job, home: Path) -> None:
        """Make what the job needs, and its results without any kill."""
        shutil.rmtree(home, ignore_errors=True)
        (home / "model").mkdir(parents=True)
        code, said = apart(lambda: job.make(home / "model"), home / "made.txt")
        if code:
            raise RuntimeError(f"cannot make what {home.name} needs: {said}")
        place = home / "whole"
        place.mkdir()
        began = time.monotonic()
        _run(job, home, place)
        seconds = time.monotonic() - began
        told = {"seconds": seconds, "found": _found(job, place)}
        (home / "unbroken.json").write_text(json.dumps(told), encoding="utf-8")


def jobs() -> dict[str, Job]:
    """Every backend that can be made tiny, and every kind of training."""
    found = {
        "oracle": Job(_nothing, lambda m: ("test.src", "oracle:pcfgset?error=0.3")),
        "ngram": Job(_nothing, lambda m: ("suite.json", f"ngram:{m.parent.parent / 'one.arpa'}")),
        "replay": Job(_nothing, lambda m: ("pairs.tsv", f"replay:{m.parent.parent / 'replay.jsonl'}")),
        "command": Job(
            _filter, lambda m: ("test.src", f"command:{shlex.join([sys.executable, str(m / 'filter.py')])}")
        ),
        "endpoint": Job(_nothing, lambda m: ("suite.json", f"endpoint:{_address(m.parent.parent)}")),
        "causal": Job(_causal, lambda m: ("suite.json", f"causal:{m}", "-M", "device=cpu")),
        "prompt": Job(_causal, lambda m: ("test.src", f"prompt:{m}", "-M", "max_length=4", "-M", "device=cpu")),
        "masked": Job(_masked, lambda m: ("pairs.tsv", f"masked:{m}", "-M", "device=cpu")),
        "seq2seq": Job(_seq2seq, lambda m: ("test.src", f"seq2seq:{m}", "-M", "device=cpu", "-M", "max_length=6")),
        "lstm": Job(_lstm, lambda m: ("suite.json", f"lstm:{m}", "-M", "device=cpu")),
        "attention_lstm": Job(_attention_lstm, lambda m: ("test.src", f"attention_lstm:{m}", "-M", "device=cpu")),
    }
    if importlib.util.find_spec("ctranslate2") is not None:
        options = ("-M", "device=cpu", "-M", "threads=1", "-M", "max_length=6")
        found["ctranslate"] = Job(_opennmt, lambda m: ("test.src", f"ctranslate:{m / 'model.pt'}", *options))
    for kind, more in (("causal", ("--heads", 2, *ROWS)), ("masked", ("--heads", 2, *ROWS)), ("lstm", ROWS)):
        found[f"train {kind}"] = Job(_nothing, _training(kind, "text.txt", more), trains=True)
    for network in ("t5", "lstm"):
        found[f"train seq2seq {network}"] = Job(_nothing, _training("seq2seq", "", ("--network", network)), trains=True)
    return found


def _training(kind: str, material: str, more: tuple[object, ...]) -> Callable[[Path], tuple[object, ...]]:
    return lambda model: (kind, model.parent.parent / material, *TINY, *more, *STEPS)


def _run(job: Job, home: Path, place: Path, kill: float | None = None) -> tuple[bool, str]:
    """Run the command, and kill it after a number of seconds; returns whether it was killed, and its output."""
    given = job.arguments(home / "model")
    if job.trains:
        arguments = ["train", *given, "-o", place / "model"]
    else:
        suite, model, *more = given
        arguments = ["run", home.parent / str(suite), "--model", model, *more, "--format", "json"]
        arguments += ["--store", place / "store", "--cache", place / "answers.db"]
    code, said = apart(lambda: _command([str(word) for word in arguments]), place / "said.txt", kill)
    if code == -signal.SIGKILL and kill is not None:
        return True, ""
    if code:
        raise Wrong(f"{home.name}: exit {code}: {said[-400:]}")
    return False, said


def _command(arguments: list[str]) -> None:
    """The command line, with models that are asked little at a time."""
    from wug.cli.main import main
    from wug.evaluation import models
    from wug.evaluation.handle import ModelHandle

    load = models.open_model
    models.open_model = lambda named, options=None: ModelHandle.from_loaded(_Paced(load(named, options)))
    sys.argv = ["wug", "-q", *arguments]
    main()


class _Paced:
    """A model with small chunks and a pause before each answer."""

    def __init__(self, model: Any) -> None:
        self._model, self.chunk = model, CHUNK

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if name not in ("score", "generate"):
            return found
        if name != ("score" if self._model.returns == "scores" else "generate"):
            raise AttributeError(name)

        def paced(questions: Any) -> Any:
            time.sleep(PAUSE)
            return found(questions)

        return paced


def _found(job: Job, place: Path) -> Any:
    """What a run or a training came to; what a second look at the store says as well."""
    if job.trains:
        weights = hashlib.sha256((place / "model" / "model.safetensors").read_bytes()).hexdigest()
        lines = (place / "model" / "training" / "loss.tsv").read_text(encoding="utf-8").splitlines()
        if (place / "model" / "training" / "checkpoint.pt").exists():
            raise Wrong("a training that has ended left a checkpoint behind")
        return {"weights": weights, "losses": [line.split("\t")[:2] for line in lines]}
    with closing(sqlite3.connect(place / "store" / "index.sqlite")) as db, db:
        (sound,) = db.execute("PRAGMA integrity_check").fetchone()
        runs = db.execute("SELECT id, status FROM runs ORDER BY id").fetchall()
    db.close()
    # A command that ended before it was killed is a separate run when it is repeated.
    if sound != "ok" or {status for _, status in runs} != {"complete"}:
        raise Wrong(f"the store is {sound}, its runs are {runs}")
    code, said = apart(
        lambda: _command(["export", str(runs[-1][0]), "--to", "json", "--store", str(place / "store")]),
        place / "export.txt",
    )
    if code:
        raise Wrong(f"export: exit {code}: {said[-300:]}")
    printed = (place / "said.txt").read_text(encoding="utf-8")
    return {"printed": json.loads(printed[printed.index("[") :]), "outcomes": json.loads(said)}


# What the jobs need


def _nothing(folder: Path) -> None:
    pass


def _filter(folder: Path) -> None:
    code = "import sys\nfor line in sys.stdin:\n    print(' '.join(reversed(line.split()[1:])), flush=True)\n"
    (folder / "filter.py").write_text(code, encoding="utf-8")


def _causal(folder: Path) -> None:
    import tiny

    tiny.save_causal(folder)


def _masked(folder: Path) -> None:
    import tiny_masked

    tiny_masked.save_masked(folder)


def _seq2seq(folder: Path) -> None:
    import tiny_seq2seq

    tiny_seq2seq.save_seq2seq(folder)


def _opennmt(folder: Path) -> None:
    import torch

    import tiny_seq2seq

    torch.save(tiny_seq2seq.opennmt_checkpoint(), folder / "model.pt")


def _lstm(folder: Path) -> None:
    from safetensors.torch import load

    from wug.models.lstm.weights import save_word_lstm

    words = seeds.VOCABULARY.decode().split()
    save_word_lstm(folder, load(seeds.safetensors()), json.loads(seeds.LSTM_CONFIG), words)


def _attention_lstm(folder: Path) -> None:
    text = folder.parent.parent
    _command([str(word) for word in ("train", "seq2seq", text, "--network", "lstm", *TINY, "--steps", 2, "-o", folder)])


def _address(folder: Path) -> str:
    return (folder / "address.txt").read_text(encoding="utf-8")


def _serve(folder: Path) -> None:
    """Start an honest completions server in a process that ends with this one."""
    honest = completions.Server()
    (folder / "address.txt").write_text(honest.address, encoding="utf-8")
    parent = os.getpid()
    if os.fork() == 0:
        # In a thread of this process: one that was created before the fork cannot be started.
        threading.Thread(target=honest.run, daemon=True).start()
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(0)
    honest.close()
