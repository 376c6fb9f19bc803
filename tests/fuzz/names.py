"""Hostile names on their way through a run, the store, and every format that wug writes."""

from __future__ import annotations

import csv
import gc
import io
import json
import random
import re
from pathlib import Path
from typing import Any

from command_line import CommandOutput
from fuzz import mutate, seeds
from fuzz.campaign import Case, Wrong
from fuzz.command import wug

NAMES = (
    "\x1b[31mred\x1b[0m", "\x1b]0;owned\x07", "a\x08b", "\x9b31mx", "\x07", "a\x7f", "a\x00b", "line\nbreak", "a\rb",
    "tab\tbed", "\u202eabc",
    "\ud800", "a\udfffb", "=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "+1", "-1", "a,b", 'a"b', "a;b", "[red]x[/red]",
    "[/]", "a|b", "a\\b",
    "<b>x</b>", "{x}", "%d", "$x_1$", "a&b", "~", "^", "#", "*x*", "`x`", "_x_", "é", "e\u0301", "😀", "👩\u200d💻",
    "漢字", "العربية", " ", "",
    "a" * 300, "漢" * 200, "x " * 500, "\ufeff", "\u2028", "\ufffe", "all", "model", "NaN", "null", "1e5",
)  # fmt: skip
SEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a terminal obeys instead of showing."""
SHOWN = ("table", "md", "latex")
DATA = ("json", "csv", "tsv")


class Campaign:
    """Suites and models with hostile names, run with cheap models and written in every format."""

    name, batch, room = "names", 100, 2**46

    def __init__(self, only: str | None = None) -> None:
        self._only = only

    def prepare(self, folder: Path) -> None:
        """A model that knows any words."""
        (folder / "m.arpa").write_bytes(seeds.ARPA)
        (folder / "n.arpa").write_bytes(seeds.ARPA.replace(b"-1.1", b"-2.2"))
        self._folder = folder

    def make(self, draw: random.Random) -> Case:
        """A suite with one to five names replaced, and the commands to give."""
        kind = draw.choice(("syntaxgym", "blimp", "table", "pcfg"))
        data, name = {
            "syntaxgym": (_suite, "suite.json"),
            "blimp": (_blimp, "pairs.jsonl"),
            "table": (_table, "pairs.tsv"),
            "pcfg": (lambda draw: seeds.SOURCES, "test.src"),
        }[kind]
        files = {name: data(draw)} | ({"test.tgt": seeds.TARGETS} if kind == "pcfg" else {})
        called = _file_name(draw) if draw.random() < 0.3 else ""
        plan = {
            "folder": called,
            "encoding": draw.choice(("utf-8", "utf-8", "utf-8", "ascii", "latin-1", "cp1252")),
            "forms": [draw.choice((*SHOWN, *DATA)) for _ in range(3)],
            "export": [
                draw.choice(("csv", "tsv", "json", "md", "latex")),
                draw.choice(("outcomes", "estimates", "comparison")),
            ],
            "report": draw.random() < 0.04,
        }
        if self._only:
            plan["report"] = self._only == "report"
        return Case(f"names, {kind}", {**files, "plan.json": json.dumps(plan).encode()}, (kind, plan))

    def attempt(self, case: Case, folder: Path) -> None:
        """Run it twice with two models, then write what was found in several ways."""
        kind, plan = case.aside
        import shutil

        for old in folder.iterdir():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        place = folder / plan["folder"] if plan["folder"] else folder
        try:
            place.mkdir(exist_ok=True)
        except (OSError, ValueError):
            place = folder
        for name, data in case.files.items():
            if name != "plan.json":
                (place / name).write_bytes(data)
        suite = place if kind == "pcfg" else place / next(iter(case.files))
        models = ("oracle:pcfgset", "oracle:pcfgset?error=0.5") if kind == "pcfg" else tuple(
            f"ngram:{self._folder / name}" for name in ("m.arpa", "n.arpa")
        )  # fmt: skip
        db, encoding, forms = folder / "store", plan["encoding"], plan["forms"]
        try:
            _look(wug("check", suite, encoding=encoding), "table", encoding)
            for model, form in zip(models, forms, strict=False):
                said = wug(
                    "run", suite, "--model", model, "--store", db, "--no-cache", "--format", form, encoding=encoding
                )
                _look(said, form, encoding)
                if said.code:
                    return
            more = ["--failing"] if forms[2] == "table" else []
            _look(wug("show", 1, "--format", forms[2], "--store", db, *more, encoding=encoding), forms[2], encoding)
            _look(wug("list", "runs", "--store", db, encoding=encoding), "table", encoding)
            form, what = plan["export"]
            said = wug("export", 1, 2, "--to", form, "--what", what, "--store", db, encoding=encoding)
            _look(said, form, encoding)
            if form == "csv" and said.code == 0:
                _refuse_formulas(said.out)
            _look(wug("compare", 1, 2, "--store", db, "--format", forms[0], encoding=encoding), forms[0], encoding)
            if plan["report"]:
                said = wug("report", 1, 2, "-o", folder / "page.html", "--store", db, encoding=encoding)
                _look(said, "table", encoding)
                if said.code == 0:
                    (folder / "page.html").read_text(encoding="utf-8")
        finally:
            gc.collect()


def _look(said: CommandOutput, form: str, encoding: str) -> None:
    """What was written can be shown, or read by other programs."""
    for text, what in ((said.out if form in SHOWN else "", "output"), (said.err, "messages")):
        if encoding == "utf-8" and (found := SEEN.search(text)):
            around = text[max(0, found.start() - 20) : found.end() + 20]
            raise Wrong(f"{form}: a control character in the {what}: {around!r}")
    if said.code not in (0, 1, 2):
        raise Wrong(f"exit {said.code}: {said.err[:200]!r}")
    if said.code == 0 and form == "json" and said.out.strip():
        try:
            json.loads(said.out)
        except ValueError as error:
            raise Wrong(f"json: cannot be read: {error}") from None
    if said.code == 0 and form in ("csv", "tsv") and said.out:
        rows = list(csv.reader(io.StringIO(said.out, newline=""), delimiter="," if form == "csv" else "\t"))
        widths = {len(row) for row in rows if row}
        if len(widths) > 1 and form == "csv":
            raise Wrong(f"csv: rows of {sorted(widths)} cells")


def _refuse_formulas(text: str) -> None:
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            if cell.startswith(("=", "@", "\t", "\r")):  # a number may begin with its sign
                raise Wrong(f"csv: a cell that a spreadsheet computes: {cell[:40]!r}")


def _name(draw: random.Random) -> str:
    return draw.choice(NAMES) if draw.random() < 0.8 else draw.choice(mutate.ODD_TEXTS)


def _file_name(draw: random.Random) -> str:
    """A name that a folder may have here."""
    name = _name(draw).replace("/", "_").replace("\0", "_")
    return (
        ""
        if name in (".", "..")
        else name.encode("utf-8", "surrogateescape" if "\udc80" in name else "ignore")[:200].decode("utf-8", "ignore")
    )


def _suite(draw: random.Random) -> bytes:
    tree: Any = json.loads(seeds.SUITE_JSON)
    for _ in range(draw.randint(1, 5)):
        name = _name(draw)
        match draw.randrange(6):
            case 0:
                tree["meta"]["name"] = name
            case 1:
                tree["region_meta"]["2"] = name
                tree["predictions"] = tree["predictions"][:1]
            case 2:
                tree["meta"][draw.choice(("author", "description", "reference"))] = name
            case 3:
                tree["meta"]["tags"] = [name]
            case 4 if "%" not in name and ";" not in name:
                for item in tree["items"]:
                    item["conditions"][0]["condition_name"] = name
                tree["predictions"] = [{"type": "formula", "formula": f"(2;%{name}%) < (2;%mismatch%)"}]
            case _:
                tree["items"][0]["conditions"][0]["regions"][0]["content"] = name
    return json.dumps(tree, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")


def _blimp(draw: random.Random) -> bytes:
    rows = [json.loads(line) for line in seeds.BLIMP.splitlines()]
    for row in rows:
        row[draw.choice(("UID", "linguistics_term", "field", "pairID", "item"))] = _name(draw)
        if draw.random() < 0.3:
            row["sentence_good"] = f"the {_name(draw)} swims"
    return "\n".join(json.dumps(row) for row in rows).encode()


def _table(draw: random.Random) -> bytes:
    rows = [[_name(draw), "the boy swims", "the boy swim", _name(draw)] for _ in range(4)]
    rows.insert(0, ["pattern", "sent", "sent_alt", "condition"])
    clean = [[cell.replace("\t", " ").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join("\t".join(row) for row in clean).encode("utf-8", "ignore")
