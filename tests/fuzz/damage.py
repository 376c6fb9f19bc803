"""Damaged run stores and output caches: the same numbers as before, or a clear refusal.

What is compared is every number that commands print and export, with what it is said of; warnings may come up.
"""

from __future__ import annotations

import gc
import json
import pickle
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from command_line import CommandOutput
from fuzz import seeds
from fuzz.campaign import Case, Wrong, apart
from fuzz.command import wug

Files = dict[str, bytes]
Arguments = tuple[object, ...]


class Campaign:
    """Copies of a sound store and a sound cache, damaged, and the commands that read them."""

    batch, room = 200, 3 * 2**30

    def __init__(self, only: str | None = None) -> None:
        self._only = only or ""
        self.name = "damage-causal" if "causal" in self._only else "damage"
        self._store: list[Files] = []
        self._cache: list[Files] = []
        self._said: dict[Arguments, Any] = {}
        self._asked: list[tuple[str, str]] = []
        self._material = Path()

    def prepare(self, folder: Path) -> None:
        """Make the store, the cache, and the answers of every command while both are sound."""
        asked = _write_material(folder)
        if "causal" in self._only:
            import torch
            import transformers  # noqa: F401

            torch.set_num_threads(1)
            _load_once()
            asked = [(suite, "wug-causal") for suite, _ in (asked[0], asked[-1])]
        self._asked, self._material = asked, folder
        code, text = apart(lambda: self._ask_while_sound(folder), folder / "made.txt")
        if code:
            raise RuntimeError(text)
        self._store, self._cache, self._said = pickle.loads((folder / "sound.pickle").read_bytes())

    def _ask_while_sound(self, folder: Path) -> None:
        db, cache = folder / "store", folder / "answers.db"
        for suite, model in self._asked:
            said = wug("run", suite, "--model", model, "--store", db, "--cache", cache, "--format", "json")
            if said.code:
                raise RuntimeError(said.err)
        gc.collect()
        outcomes = {f"store/outcomes/{path.name}": path.read_bytes() for path in (db / "outcomes").iterdir()}
        indexes = [_bytes_of(db / "index.sqlite"), _with_log(db, "index.sqlite")]
        store = [{**{f"store/{name}": data for name, data in index.items()}, **outcomes} for index in indexes]
        kept = [_bytes_of(cache), _with_log(folder, "answers.db")]
        told: dict[Arguments, Any] = {}
        for arguments in _reading(len(self._asked)):
            told[arguments] = _numbers(wug(*arguments, "--store", db))
        for place, (suite, model) in enumerate(self._asked):
            told[suite, model] = self._run(suite, model, folder / f"fresh{place}.db", folder / f"fresh{place}c.db")
        (folder / "sound.pickle").write_bytes(pickle.dumps((store, kept, told)))

    def make(self, draw: random.Random) -> Case:
        """A damaged store or a damaged cache, and what is to be done with it."""
        if draw.random() < 0.5 and "cache" not in self._only:
            files = dict(draw.choice(self._store))
            label, files = _damaged_store(draw, files)
            wanted = tuple(draw.sample(_reading(len(self._asked)), 3))
            again = draw.choice(self._asked) if draw.random() < 0.2 else None
            return Case(f"store, {label}", files, (wanted, again))
        files = dict(draw.choice(self._cache))
        label, files = _damaged(draw, files, "answers.db", _CACHE_EDITS)
        return Case(f"cache, {label}", files, draw.choice(self._asked))

    def attempt(self, case: Case, folder: Path) -> None:
        """Put the files there and give the commands."""
        for old in folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        for name, data in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        try:
            if case.label.startswith("cache"):
                suite, model = case.aside
                for turn in range(2):  # what was asked again is kept again
                    found = self._run(suite, model, folder / f"new{turn}.db", folder / "answers.db")
                    _same(self._said[case.aside], found, f"wug run {' '.join(case.aside)}")
                return
            wanted, again = case.aside
            for arguments in wanted:
                said = wug(*arguments, "--store", folder / "store")
                _same(self._said[arguments], _numbers(said), f"wug {' '.join(map(str, arguments))}")
            if again is not None:
                said = wug(
                    "run", again[0], "--model", again[1], "--store", folder / "store",
                    "--cache", self._material / "answers.db", "--format", "json",
                )  # fmt: skip
                _same(self._said[again][0], _numbers(said), "wug run into the store")
        finally:
            gc.collect()

    def _run(self, suite: str, model: str, db: Path, cache: Path) -> Any:
        """The estimates of a run and every outcome; None where it is refused."""
        said = wug("run", suite, "--model", model, "--store", db, "--cache", cache, "--format", "json")
        if said.code:
            return _numbers(said)
        return _numbers(said), _numbers(wug("export", 1, "--to", "json", "--store", db))


def _write_material(folder: Path) -> list[tuple[str, str]]:
    """Suites and models that cost nothing; comes back with who is asked what."""
    draw = random.Random(1)
    nouns, verbs = ("boy", "author", "guard", "poet"), (("swims", "swim"), ("laughs", "laugh"), ("sees", "see"))
    suite = json.loads(seeds.SUITE_JSON)
    suite["items"] = [
        {
            "item_number": number,
            "conditions": [
                {
                    "condition_name": name,
                    "regions": [
                        {"region_number": 1, "content": f"the {nouns[number % 4]}"},
                        {"region_number": 2, "content": verbs[number % 3][name == "mismatch"]},
                        {"region_number": 3, "content": "."},
                    ],
                }
                for name in ("match", "mismatch")
            ],
        }
        for number in range(1, 25)
    ]
    (folder / "suite.json").write_text(json.dumps(suite), encoding="utf-8")
    rows = [f"p{place % 3}\tthe {noun} {good} now\tthe {noun} {bad} now" for place, (noun, (good, bad)) in
            enumerate((noun, verb) for noun in nouns for verb in verbs)]  # fmt: skip
    (folder / "pairs.tsv").write_text("\n".join(["pattern\tsent\tsent_alt", *rows]) + "\n", encoding="utf-8")
    words = ["<unk>", "<s>", "</s>", "the", "now", ".", *nouns, *(word for verb in verbs for word in verb)]
    for name in ("one", "two"):
        grams = "".join(f"{-draw.uniform(0.5, 3):.4f}\t{word}\n" for word in words)
        arpa = f"\\data\\\nngram 1={len(words)}\n\n\\1-grams:\n{grams}\n\\end\\\n"
        (folder / f"{name}.arpa").write_text(arpa, encoding="utf-8")
    texts = {text for row in rows for text in row.split("\t")[1:]}
    lines = [
        json.dumps({"text": text, "tokens": text.split(), "logprobs": [-draw.uniform(0, 9) for _ in text.split()]})
        for text in sorted(texts)
    ]
    (folder / "replay.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    functions = ("copy", "reverse", "repeat", "echo", "shift")
    sources = [f"{draw.choice(functions)} {draw.choice(functions)} A{n % 20 + 1} B{n // 3 + 1} C7" for n in range(40)]
    from wug.families.pcfgset.language import meaning

    (folder / "test.src").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (folder / "test.tgt").write_text("\n".join(map(meaning, sources)) + "\n", encoding="utf-8")
    # By names that are the same in every process, since a store keeps the command.
    here = f"../{folder.name}"
    arpas = [(f"{here}/suite.json", f"ngram:{here}/{name}.arpa") for name in ("one", "two")]
    oracles = [(f"{here}/test.src", f"oracle:pcfgset?error={share}&seed=3") for share in ("0.3", "0.1")]
    return [*arpas, *oracles, (f"{here}/pairs.tsv", f"replay:{here}/replay.jsonl")]


def _load_once() -> None:
    """Keep loaded models for the whole process: only the first run pays."""
    import functools

    from wug.evaluation import models

    load = models.open_model
    kept = functools.cache(lambda text, options: load(text, dict(options)))
    models.open_model = lambda named, options=None: kept(named, tuple(sorted((options or {}).items())))


def _reading(runs: int) -> list[Arguments]:
    """The commands that read a store."""
    found: list[Arguments] = []
    for run in range(1, runs + 1):
        found += [("show", run, "--format", "json"), ("export", run, "--to", "json"), ("show", run, "--format", "csv")]
        found += [("export", run, "--what", "estimates", "--to", "json"), ("export", run, "--to", "tsv")]
    if runs > 3:
        found += [("compare", 1, 2, "--format", "json"), ("compare", 3, 4, "--format", "json", "--items", "40")]
    return found


def _bytes_of(path: Path) -> Files:
    return {path.name: path.read_bytes()} if path.exists() else {}


def _with_log(folder: Path, name: str) -> Files:
    """The same content with its latest part in the write-ahead log, as after a kill."""
    copy = folder / f"log-{name}"
    whole = sqlite3.connect(folder / name)
    try:
        target = sqlite3.connect(copy)
        target.execute("PRAGMA journal_mode=WAL")
        target.execute("PRAGMA wal_autocheckpoint=0")
        whole.backup(target)
        found = {name: copy.read_bytes(), f"{name}-wal": copy.with_name(f"{copy.name}-wal").read_bytes()}
        target.close()
    finally:
        whole.close()
    return found


Edit = Callable[[random.Random, sqlite3.Connection], object]


def _damaged(draw: random.Random, files: Files, name: str, edits: Sequence[Edit]) -> tuple[str, Files]:
    """The files with something wrong, and what that is."""
    if draw.random() < 0.3 and len(files) == 1 and edits:
        return "edited", {name: _edited(draw, files[name], draw.choice(edits))}
    if draw.random() < 0.08:
        return "another file", {name: draw.choice(_OTHERS)(draw)}
    victim = draw.choice(list(files))
    label, step = draw.choice(_STEPS)
    changed = bytearray(files[victim])
    for _ in range(draw.choice((1, 1, 2, 5))):
        changed = step(draw, changed) if changed else changed
    return f"{label}{' of the log' if victim != name else ''}", {**files, victim: bytes(changed)}


def _damaged_store(draw: random.Random, files: Files) -> tuple[str, Files]:
    """A store with something wrong in its index or in its files of outcomes."""
    outcomes = [name for name in files if "/outcomes/" in name]
    if draw.random() < 0.5:
        index = {name: data for name, data in files.items() if name not in outcomes}
        label, changed = _damaged(draw, index, "store/index.sqlite", _STORE_EDITS)
        return f"index, {label}", {**changed, **{name: files[name] for name in outcomes}}
    one, other = draw.sample(outcomes, 2)
    match draw.randrange(4):
        case 0:
            return "outcomes missing", {name: data for name, data in files.items() if name != one}
        case 1:
            return "outcomes swapped", {**files, one: files[other], other: files[one]}
        case _:
            label, changed = _damaged(draw, {one: files[one]}, one, ())
            return f"outcomes, {label}", {**files, **changed}


def _flipped(draw: random.Random, data: bytearray) -> bytearray:
    for _ in range(draw.choice((1, 2, 8, 60))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return data


def _cut(draw: random.Random, data: bytearray) -> bytearray:
    return data[: draw.choice((draw.randrange(len(data)), len(data) - 4096, len(data) // 4096 * 2048))]


def _page(draw: random.Random, data: bytearray) -> int:
    return 4096 * draw.randrange(max(1, len(data) // 4096))


def _zeroed(draw: random.Random, data: bytearray) -> bytearray:
    at = _page(draw, data)
    data[at : at + 4096] = bytes(min(4096, len(data) - at))
    return data


def _swapped(draw: random.Random, data: bytearray) -> bytearray:
    one, other = _page(draw, data), _page(draw, data)
    data[one : one + 4096], data[other : other + 4096] = data[other : other + 4096], data[one : one + 4096]
    return data


def _garbage(draw: random.Random, data: bytearray) -> bytearray:
    at, size = draw.randrange(len(data)), draw.choice((1, 16, 512, 4096))
    data[at : at + size] = draw.randbytes(min(size, len(data) - at))
    return data


def _digit(draw: random.Random, data: bytearray) -> bytearray:
    """Another digit in a number: what a checksum alone can see."""
    places = [place for place in range(len(data)) if 48 <= data[place] <= 57]
    for place in draw.sample(places, min(len(places), draw.choice((1, 5, 50)))):
        data[place] = 48 + draw.randrange(10)
    return data


_STEPS: tuple[tuple[str, Callable[[random.Random, bytearray], bytearray]], ...] = (
    ("flipped bits", _flipped),
    ("cut off", _cut),
    ("an empty page", _zeroed),
    ("exchanged pages", _swapped),
    ("garbage", _garbage),
    ("other digits", _digit),
)


def _foreign(draw: random.Random) -> bytes:
    """A sound database of another program, perhaps with a table of the same name."""
    tables = ("CREATE TABLE notes (a, b)", "CREATE TABLE answers (a)", "CREATE TABLE runs (id, x)")
    more = ("CREATE TABLE results (y)", "CREATE TABLE t (y)", "CREATE VIEW outcomes AS SELECT 1 AS a")
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(draw.choice(tables))
        db.execute(draw.choice(more))
        db.execute(f"PRAGMA user_version={draw.choice((0, 1, 2, 3, 99, -1))}")
        db.commit()
        return bytes(db.serialize())


_OTHERS: tuple[Callable[[random.Random], bytes], ...] = (
    _foreign,
    lambda draw: b"",
    lambda draw: b"SQLite format 3\0" + draw.randbytes(84),
    lambda draw: draw.randbytes(draw.choice((1, 100, 8192))),
    lambda draw: b"This is no database.\n" * 400,
)


def _edited(draw: random.Random, data: bytes, edit: Edit) -> bytes:
    """A database after a change by SQL; it is sound, and says something else."""
    plain = bytearray(data)
    plain[18:20] = b"\1\1"  # a database in memory has no log
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(bytes(plain))
        edit(draw, db)
        db.commit()
        changed = bytearray(db.serialize())
    changed[18:20] = data[18:20]
    return bytes(changed)


def _row(draw: random.Random, db: sqlite3.Connection, columns: str, table: str) -> Any:
    return draw.choice(db.execute(f"SELECT {columns} FROM {table}").fetchall())


def _other_place(draw: random.Random, db: sqlite3.Connection) -> None:
    """Outcomes that another result has, or fewer of them."""
    change = draw.choice(("first = first + 1", "rows = rows - 1", "columns = '[]'", "file = NULL", "sha256 = 'x'"))
    other = "file = (SELECT file FROM results WHERE id != results.id LIMIT 1)"
    db.execute(f"UPDATE results SET {draw.choice((change, other))} WHERE id = ?", _row(draw, db, "id", "results"))


def _other_estimate(draw: random.Random, db: sqlite3.Connection) -> None:
    number, text = _row(draw, db, "id, estimates", "results")
    found = json.loads(text)
    one = draw.choice(found)
    one["value"] = draw.choice((0.0, 0.123, 1e9, None, "x", one["value"] / 2 + 0.01))
    changed = draw.choice(
        (json.dumps(found, separators=(",", ":")), "[]", "{}", "null", text[:-2], text.replace("all", "al"))
    )
    db.execute("UPDATE results SET estimates = ? WHERE id = ?", (changed, number))


def _other_column(draw: random.Random, db: sqlite3.Connection) -> None:
    column = draw.choice(("n", "suite", "signature", "meta", "warnings", "summary", "kind", "status"))
    value = draw.choice((7, "x", None, b"\xff\xfe", "[", "{}", 10**18))
    try:
        db.execute(f"UPDATE results SET {column} = ? WHERE id = ?", (value, *_row(draw, db, "id", "results")))
    except sqlite3.IntegrityError:
        db.execute("UPDATE results SET n = n + 1")


def _other_answer(draw: random.Random, db: sqlite3.Connection) -> None:
    column = draw.choice(("model", "keys", "outputs", "outputs", "crc"))
    number, value = _row(draw, db, f"id, {column}", "blocks")
    value = value if isinstance(value, bytes) else str(value).encode()
    changed = bytearray(value or b"\0")
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    other = draw.choice((bytes(changed), value[:-1], value + b"\0", b"", None, "text", 7, 1.5))
    db.execute(f"UPDATE blocks SET {column} = ? WHERE id = ?", (other, number))


def _exchanged_answers(draw: random.Random, db: sqlite3.Connection) -> None:
    """Two blocks of answers to each other's questions: each is sound, and neither belongs there."""
    columns = draw.choice(("keys", "outputs", "outputs, crc"))
    rows = [_row(draw, db, f"id, {columns}", "blocks") for _ in range(2)]
    changes = ", ".join(f"{name} = ?" for name in columns.split(", "))
    for (number, *_), (_, *theirs) in zip(rows, reversed(rows), strict=True):
        db.execute(f"UPDATE blocks SET {changes} WHERE id = ?", (*theirs, number))


def _without_answers(draw: random.Random, db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM blocks WHERE id = ?", _row(draw, db, "id", "blocks"))


_STORE_EDITS: tuple[Edit, ...] = (
    _other_place, _other_estimate, _other_column,
)  # fmt: skip
_CACHE_EDITS: tuple[Edit, ...] = (_other_answer, _other_answer, _exchanged_answers, _without_answers)


ASIDE = ("warnings", "notices", "run", "command", "created", "started", "finished", "status")
"""What may differ: remarks, and when and how a run was made."""


def _numbers(said: CommandOutput) -> Any:
    """What a command said, as data; None where it refused."""
    if said.code:
        if said.code not in (1, 2) or not said.err.strip():
            raise Wrong(f"exit {said.code} with {said.err[:200]!r}")
        return None
    try:
        return _without(json.loads(said.out))
    except ValueError:
        return said.out


def _without(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without(value) for key, value in tree.items() if key not in ASIDE}
    return [_without(value) for value in tree] if isinstance(tree, list) else tree


def _same(wanted: Any, found: Any, what: str) -> None:
    if found is None or found == (None, None):
        return
    if found != wanted:
        raise Wrong(f"{what} says something else: {_difference(wanted, found)}")


def _difference(wanted: Any, found: Any) -> str:
    """The first place at which two values differ."""
    if isinstance(wanted, dict) and isinstance(found, dict) and wanted.keys() == found.keys():
        return next(f".{key}{_difference(wanted[key], found[key])}" for key in wanted if wanted[key] != found[key])
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple) and len(wanted) == len(found):
        return next(f"[]{_difference(one, other)}" for one, other in zip(wanted, found, strict=True) if one != other)
    return f" {str(wanted)[:60]!r} became {str(found)[:60]!r}"
