"""`wug list`: what there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.options import Declared


@common.having(common.DB)
@click.command("list")
@click.argument("what", type=click.Choice(["suites", "models", "runs"]))
@click.option("--tag", "tags", multiple=True, help="Only suites with this tag; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(what: str, tags: tuple[str, ...], as_json: bool, db: Path | None) -> None:
    """List built-in suites and families, kinds of models with their options, or runs.

    \b
    wug list suites --tag agreement
    wug list models
    wug list runs --json
    """
    rows = _suites(tags) if what == "suites" else _builtin_models() if what == "models" else _runs(db, as_json)
    if as_json:
        printing.emit(json.dumps(rows + _kinds() if what == "models" else rows, ensure_ascii=False, indent=2))
        return
    if not rows:
        common.say({"runs": "no runs yet: wug run SUITE --model MODEL"}.get(what, f"no {what} fit"))
    _print(rows)
    if what == "models" or (what == "suites" and not tags):
        printing.echo()
        _print(_kinds() if what == "models" else _families())


def _print(rows: list[dict[str, object]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
    for column in rows[0] if rows else ():
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(escape(_cell(value)) for value in row.values()))
    printing.console(width=140).print(table)


def _families() -> list[dict[str, object]]:
    from wug import registry

    return [
        {
            "family": name,
            "about": registry.summary("families", name),
            "scoring options (-S)": _described(family.OPTIONS),
        }
        for name, family in registry.usable("families")
    ]


def _suites(tags: tuple[str, ...]) -> list[dict[str, object]]:
    from wug.runs.opening import builtin_suites, open_suites

    rows: list[dict[str, object]] = []
    for name, path in builtin_suites().items():
        for suite in open_suites(str(path)):  # by its path: a file here may be called like it
            has = list(suite.meta.get("tags") or ())
            if not tags or set(tags) & set(has):
                about = suite.meta.get("description") or _about(name, path.parent)
                rows.append({"family": suite.kind, "suite": name, "items": len(suite), "about": about, "tags": has})
    return rows


def _about(name: str, family: Path) -> str:
    """What the card of a family says of a suite: the second cell of its row."""
    for line in (family / "README.md").read_text(encoding="utf-8").splitlines():
        cells = line.split("|")
        if len(cells) > 2 and cells[1].strip() == f"`{name}`":
            return cells[2].strip().replace("`", "")
    return ""


def _builtin_models() -> list[dict[str, object]]:
    from wug.runs.opening import BUILTIN_MODELS, builtin_models

    return [
        {
            "model": name,
            "about": _first_paragraph(folder / "README.md"),
            "asked by default": [family for family, fitting in BUILTIN_MODELS.items() if fitting == name],
        }
        for name, folder in builtin_models().items()
    ]


def _first_paragraph(card: Path) -> str:
    """What a card says first, below its title."""
    paragraphs = card.read_text(encoding="utf-8").split("\n\n")
    return paragraphs[1].strip().replace("`", "") if len(paragraphs) > 1 else ""


def _kinds() -> list[dict[str, object]]:
    from wug import registry

    rows: list[dict[str, object]] = []
    for name, backend in registry.usable("models"):
        about = registry.summary("models", name)
        rows.append({"kind": f"{name}:", "about": about, "options (-M)": _described(backend.OPTIONS)})
    return rows


def _described(options: Declared) -> dict[str, str]:
    """The options by name, with what there is to say of each."""
    from wug.options import declared

    return {option.name: option.described for option in declared(options)}


def _runs(db: Path | None, whole: bool) -> list[dict[str, object]]:
    """The runs; `whole` with what their commands say too."""
    from wug.runs.store import Store

    runs = Store(db or common.default_db()).runs()
    return [
        {
            "run": r.id,
            "status": r.status,
            "model": r.model,
            **({"specification": r.specification, "revision": r.revision} if whole else {}),
            "suites": r.suites,
            "started": r.started,
            "command": r.command,
        }
        for r in runs
    ]


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(f"{key}: {meaning}" for key, meaning in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
