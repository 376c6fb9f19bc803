"""Every file that wug reads, damaged: the reader takes it or says what is wrong with it, soon and in little memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fuzz import mutate, seeds
from fuzz.campaign import Case
from fuzz.command import wug

Use = Callable[[Path], object]
"""What is done with the files in a folder."""


@dataclass(frozen=True, slots=True)
class Target:
    """A format: good files, and what reads them."""

    label: str
    files: Mapping[str, bytes]
    uses: Sequence[Use]
    command: Sequence[str] = ()
    """A command line, in which names of files are unchanged."""
    change: Callable[[random.Random, bytes], bytes] = mutate.document


class Campaign:
    """Mutated documents through the readers."""

    name, batch, room = "readers", 5_000, 3 * 2**29

    def __init__(self, only: str | None = None) -> None:
        self._only = only
        self.targets: list[Target] = []

    def prepare(self, folder: Path) -> None:
        """Import the readers; torch is needed for weights."""
        import torch  # noqa: F401
        from safetensors.torch import load_file  # noqa: F401

        self.targets = [target for target in targets() if self._only is None or self._only in target.label]
        for target in self.targets:  # what is good must be read, or nothing would be tried
            try:
                self.attempt(Case(target.label, target.files, target), folder)
            except Exception as error:
                raise RuntimeError(f"the good files of {target.label} are refused: {error}") from error

    def make(self, draw: random.Random) -> Case:
        """A format with one of its files damaged."""
        target = draw.choice(self.targets)
        name = draw.choice(list(target.files))
        damaged = {name: target.change(draw, target.files[name])}
        return Case(
            target.label, {**damaged, **{k: v for k, v in target.files.items() if k != name}}, (target, draw.random())
        )

    def attempt(self, case: Case, folder: Path) -> None:
        """Read the files in every way that there is; a refusal by one does not exempt the others."""
        from wug.errors import WugError

        target, chance = case.aside if isinstance(case.aside, tuple) else (case.aside, 0.0)
        for old in folder.iterdir():
            old.unlink()
        for name, data in case.files.items():
            (folder / name).write_bytes(data)
        refusal: WugError | None = None
        for use in target.uses:
            try:
                use(folder)
            except WugError as error:
                str(error).encode("utf-8", "backslashreplace")
                refusal = error
        if target.command and chance < 0.05:
            wug(*(str(folder / word) if word in target.files else word for word in target.command), "--no-save")
        if refusal is not None:
            raise refusal


def targets() -> list[Target]:
    """All formats."""
    return [*_suites(), *_answers(), *_models(), *_aside()]


def _suites() -> list[Target]:
    one: dict[str, bytes] = {
        "suite.json": seeds.SUITE_JSON,
        "suite.csv": seeds.SUITE_CSV,
        "suite.tsv": seeds.SUITE_CSV.replace(b",", b"\t"),
        "original.tab": seeds.ORIGINAL,
        "words.tsv": seeds.WORDS,
        "sentences.csv": seeds.SENTENCES,
        "blimp.jsonl": seeds.BLIMP,
        "marks.txt": seeds.MARKS,
        "cases.tsv": seeds.CASES,
        "cogs.tsv": seeds.COGS,
        "recogs.tsv": seeds.RECOGS,
        "slog.tsv": seeds.SLOG,
        "variable_free.tsv": seeds.VARIABLE_FREE,
        "unrolled_test.tsv": seeds.UNROLLED,
    }
    found = [
        Target(name, {name: data}, [partial(_checked, name), partial(_opened, name)]) for name, data in one.items()
    ]
    for target in found[:9]:
        target.uses.append(partial(_converted, target.label))  # type: ignore[attr-defined]
    columns = {"good": "sent", "bad": "sent_alt", "groups": "condition", "item": "pattern"}
    found.append(
        Target(
            "named columns", {"own.csv": seeds.SENTENCES}, [partial(_opened, "own.csv", options=columns, kind="pairs")]
        )
    )
    lines = {"few.text": seeds.TEXT, "few.gold": seeds.GOLD, "few.eval": seeds.EVAL}
    found.append(Target("line-aligned", lines, [partial(_checked, "few.text"), partial(_opened, "few.gold")]))
    test = {"test.src": seeds.SOURCES, "test.tgt": seeds.TARGETS}
    twin = {**test, "test_twin.src": seeds.TWINS, "test_twin.tgt": seeds.TARGETS}
    exceptions = {
        "test_exception.src": seeds.EXCEPTION_SOURCES,
        "test_exception.tgt": seeds.EXCEPTION_TARGETS,
        "test_original.src": seeds.EXCEPTION_SOURCES,
        "test_original.tgt": b"B2 B2 A1\nC3 B2\n",
    }
    for label, files in (("pcfg", test), ("twins", twin), ("exceptions", exceptions)):
        found.append(Target(label, files, [partial(_checked, ""), partial(_opened, "")]))
    return found


def _answers() -> list[Target]:
    """Answers of models, and whatever else `wug score` judges."""
    gold = {"gold.tsv": seeds.COGS}
    test = {"test.src": seeds.SOURCES, "test.tgt": seeds.TARGETS}
    found = [
        Target(
            "evaluated",
            {"done.json": seeds.evaluated()},
            [_evaluated],
            ["score", "syntaxgym", "--predictions", "done.json"],
        ),
        Target(
            "published", {"best.tab": seeds.ORIGINAL}, [_published], ["score", "pairs", "--predictions", "best.tab"]
        ),
    ]
    for name, data in (("p.tsv", seeds.COGS_ANSWERS), ("p.txt", seeds.COGS_LINES), ("p.jsonl", seeds.COGS_JSON)):
        command = ["score", "cogs", "--gold", "gold.tsv", "--predictions", name]
        found.append(Target(f"forms {name}", {name: data, **gold}, [partial(_forms, name)], command))
    for label, name, data, use in (
        ("table", "run.txt", seeds.TABLE, _plain),
        ("fairseq", "run.txt", seeds.FAIRSEQ, partial(_plain, gold=True)),
        ("trace", "run.txt", seeds.TRACE, _steps),
        ("log", "ratio=0.1_run=1.txt", seeds.LOG, _exceptions),
    ):
        kinds = {"table": "pcfgset", "trace": "localism", "log": "overgeneralisation"}
        command = ["score", kinds[label], "--predictions", name] if label in kinds else []
        found.append(Target(label, {name: data, **(test if label == "fairseq" else {})}, [use], command))
    both = {"a.txt": seeds.TWIN_TABLE, "b.txt": seeds.TWIN_OTHER}
    found.append(
        Target("twin answers", both, [_twins], ["score", "substitutivity", "--predictions", "a.txt", "--twin", "b.txt"])
    )
    return found


def _models() -> list[Target]:
    lstm = {"config.json": seeds.LSTM_CONFIG, "model.safetensors": seeds.safetensors(), "vocab.txt": seeds.VOCABULARY}
    return [
        Target("arpa", {"m.arpa": seeds.ARPA}, [_ngram]),
        Target("replay scores", {"r.jsonl": seeds.REPLAY_SCORES}, [partial(_replay, "r.jsonl")]),
        Target("replay texts", {"r.jsonl": seeds.REPLAY_TEXTS}, [partial(_replay, "r.jsonl")]),
        Target("replay table", {"r.tsv": seeds.TABLE}, [partial(_replay, "r.tsv")]),
        Target("surprisals", {"r.tsv": seeds.ZOO, "sentences.txt": seeds.ZOO_SENTENCES}, [partial(_replay, "r.tsv")]),
        Target("lstm folder", lstm, [_folder], change=_weights),
        Target("config", {"config.json": seeds.LSTM_CONFIG}, [_kind]),
        Target("pt archive", {"m.pt": seeds.pt_archive()}, [_pt], change=_archive),
        Target("pt legacy", {"m.pt": seeds.pt_legacy()}, [_pt], change=_weights),
    ]


def _aside() -> list[Target]:
    """What goes with suites and models."""
    return [
        Target("unigrams", {"u.txt": seeds.UNIGRAMS}, [_unigrams]),
        Target("lexicon", {"l.toml": seeds.LEXICON}, [_lexicon]),
        Target("examples", {"e.tsv": seeds.EXAMPLES}, [_examples]),
        Target("training tables", {"train.src": seeds.SOURCES, "train.tgt": seeds.TARGETS}, [_training_tables]),
    ]


def _weights(draw: random.Random, data: bytes) -> bytes:
    """Mostly bytes: weights are not text. What describes them is changed as JSON now and then."""
    if data[8:9] == b"{" and draw.random() < 0.4:
        size = int.from_bytes(data[:8], "little")
        header = mutate.document(draw, data[8 : 8 + size])
        return len(header).to_bytes(8, "little") + header + data[8 + size :]
    return mutate.document(draw, data)


def _archive(draw: random.Random, data: bytes) -> bytes:
    return _weights(draw, data) if draw.random() < 0.3 else seeds.repacked(data, partial(_weights, draw))


def _checked(name: str, folder: Path) -> None:
    from wug.evaluation.checking import check_file

    for problem in check_file(folder / name):
        str(problem).encode("utf-8", "backslashreplace")


def _opened(name: str, folder: Path, options: Mapping[str, str] | None = None, kind: str | None = None) -> None:
    from wug.evaluation.evaluate import build_signature
    from wug.evaluation.suites import open_suites

    for suite in open_suites(str(folder / name), options or {}, kind):
        _ = (suite.requests(), suite.metrics, suite.meta, len(suite.sample(1)))
        str(build_signature(suite.name, suite.checksum, suite.options, "fuzz/x@1", {}))


def _converted(name: str, folder: Path) -> None:
    from wug.evaluation.suites import recognised_family

    if convert := recognised_family(folder / name).convert:
        convert(folder / name, folder / "converted.tsv", {})


def _rows(rows: Any) -> None:
    """Go through judgements and estimate from them, as a result does."""
    from wug.outcomes import Outcome
    from wug.stats import estimates

    list(estimates([row for row in rows if isinstance(row, Outcome)]))


def _evaluated(folder: Path) -> None:
    from wug.families.syntaxgym.commands import read_evaluated

    _rows(read_evaluated(folder / "done.json").rows())


def _published(folder: Path) -> None:
    from wug.families.pairs import read_published

    for rows in read_published(folder / "best.tab").columns.values():
        _rows(rows)


def _forms(name: str, folder: Path) -> None:
    from wug.families import cogs

    for system in cogs.score(folder / "gold.tsv", [folder / name], smatch=True):
        _rows(system.rows(lines=True))


def _plain(folder: Path, gold: bool = False) -> None:
    from wug.families.pcfgset.suite import score_plain

    _rows(score_plain(folder / "run.txt", (folder / "test.src", folder / "test.tgt") if gold else None).rows)


def _steps(folder: Path) -> None:
    from wug.families.pcfgset.localism import score_trace

    _rows(score_trace(folder / "run.txt").rows)


def _exceptions(folder: Path) -> None:
    from wug.families.pcfgset.overgeneralisation import score_exceptions

    _rows(score_exceptions(folder / "ratio=0.1_run=1.txt", None).rows)


def _twins(folder: Path) -> None:
    from wug.families.pcfgset.substitutivity import score_synonyms

    _rows(score_synonyms(folder / "a.txt", folder / "b.txt", None).rows)


def _ngram(folder: Path) -> None:
    from wug.models import ngram
    from wug.models.spec import ModelSpec
    from wug.requests import Request

    model = ngram.load(ModelSpec("ngram", str(folder / "m.arpa")))
    model.score([Request("the boy swims"), Request("a boy swim ."), Request("")])


def _replay(name: str, folder: Path) -> None:
    from wug.models import replay
    from wug.models.spec import ModelSpec

    replay.load(ModelSpec("replay", str(folder / name)))


def _folder(folder: Path) -> None:
    from wug.models.lstm import read_vocabulary
    from wug.models.lstm.weights import load_weights, read_shape, require_fit

    read_vocabulary(folder / "vocab.txt")
    shape = read_shape(folder / "config.json")
    require_fit(folder, shape, load_weights(folder / "model.safetensors", shape.kind))


def _kind(folder: Path) -> None:
    from wug.evaluation.models import model_spec

    model_spec(str(folder))


def _pt(folder: Path) -> None:
    from wug.models.lstm.weights import load_weights

    load_weights(folder / "m.pt")


def _unigrams(folder: Path) -> None:
    from wug.families.pairs.scoring import read_unigrams

    read_unigrams(folder / "u.txt")


def _lexicon(folder: Path) -> None:
    from wug.families.pairs import templates
    from wug.families.pairs.templates.grammar import load

    for category in load(folder / "l.toml").categories:
        templates.generate(category, n=2, lexicon=folder / "l.toml")


def _examples(folder: Path) -> None:
    from wug.models.prompt import read_examples

    read_examples(folder / "e.tsv")


def _training_tables(folder: Path) -> None:
    from wug.train.examples import read_examples

    read_examples(folder)
