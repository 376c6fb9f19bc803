"""`wug data`: published test sets by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug import registry
from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.list import print_table
from wug.cli.main import SuggestingGroup
from wug.errors import UnknownName
from wug.families.commands import OUTPUT_FILE
from wug.files import user_path
from wug.tables import RowTable, Table

if TYPE_CHECKING:
    from wug.data import SetSelection


@click.group("data", cls=SuggestingGroup)
def command() -> None:
    """List, fetch, find and cite published test sets.

    \b
    wug data list --language tr
    wug data get blimp cogs/gen
    wug data path blimp/anaphor_agreement

    Sets are stored in the user's data folder, or in the folder that WUG_DATA names.
    """


@common.with_options(common.TABLE_FORMAT)
@command.command("list")
@click.option("--family", help="Only sets of this family; other: sets that wug does not run.")
@click.option("--language", help="Only sets in this language, such as nl.")
def list_(family: str | None, language: str | None, format: str) -> None:
    """List the sets of the catalogue.

    \b
    wug data list --language tr
    """
    from wug import data
    from wug.data.folder import missing

    families = {*registry.names("families"), *(data.find(name).set.family for name in data.names())}
    if family is not None and family not in families:
        raise UnknownName("family", family, families)
    rows = []
    for selection in map(data.find, data.names(family, language)):
        data_set = selection.set
        rows.append(
            {
                "set": data_set.name,
                "title": data_set.title,
                "family": data_set.family,
                "languages": list(data_set.languages),
                "items": data_set.items,
                "size": selection.extent,
                "licence": data_set.licence,
                "fetched": not missing(selection),
            }
        )
    if format != "table":
        common.deliver_table(Table.of_rows(rows), format, None)
        return
    if not rows:
        common.notify("no such set")
        return
    columns = ("set", "family", "languages", "items", "size", "licence", "fetched")
    printed_rows = (
        row | {"licence": row["licence"] or "none named", "fetched": "yes" if row["fetched"] else ""} for row in rows
    )
    print_table([{name: row[name] for name in columns} for row in printed_rows])


@common.with_options(common.TABLE_FORMAT)
@command.command()
@click.argument("name")
def show(name: str, format: str) -> None:
    """Describe a set: licence, citation, source, parts; as json, also every file.

    \b
    wug data show blimp
    """
    from wug import data

    selection = data.find(name)
    data_set = selection.set
    local_path = str(data.path(name)) if data.fetched(name) else None
    lines = {
        "family": data_set.family,
        "languages": ", ".join(data_set.languages),
        "items": data_set.items,
        "size": selection.extent,
        "licence": data_set.licence or "none named",
        "terms": data_set.terms,
        "cite": data_set.citation,
        "source": f"{data_set.repository} at {data_set.commit}",
        "note": data_set.note,
        "path": local_path
        or f"not fetched: wug data get {selection.name}{' --accept' if data_set.restriction else ''}",
        "parts": ", ".join(data_set.part_names()) if not selection.part else None,
    }
    if format != "table":
        files = [asdict(file) for file in selection.files]
        document = asdict(data_set) | {"part": selection.part, "files": files, "path": local_path}
        common.deliver_table(RowTable(("field", "value"), lines.items(), document=document), format, None)
        return
    printing.print_text(f"{selection.name}: {data_set.title}")
    for label, value in lines.items():
        if value:
            printing.print_text(f"  {label:10} {value}")


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@click.option("--accept", is_flag=True, help="Accept licences that forbid commercial use, or are missing.")
@click.option("--from", "source", type=click.Path(path_type=Path), help="Copy the files from this folder instead.")
def get(names: tuple[str, ...], accept: bool, source: Path | None) -> None:
    """Fetch sets, or parts of them, and verify their checksums.

    \b
    wug data get blimp syntaxgym/number_prep
    wug data get gulordava-en --accept
    wug data get blimp --from ~/checkouts/blimp      a copy, found by checksum: no network
    wug data get babylm --from evaluation_data       data that is in no repository, checked by size
    """
    from wug import data

    downloads = [name for name in names if source is None or not _adopt(name, source)]
    fetch([data.find(name) for name in downloads], accept, source)
    for name in names:
        printing.print_text(str(data.path(name) if name in downloads else data.adopted(name)))


def _adopt(name: str, source: Path) -> bool:
    """Copy data that is in no repository, if its family has such and the folder has some."""
    from wug import data

    lines = registry.family_of(data.find(name).set.family).adopt(user_path(source), data.adopted(name))
    for line in lines:
        common.notify(line)
    return bool(lines)


def fetch(selections: Sequence[SetSelection], accept: bool, source: Path | None = None) -> None:
    """Show licences, then fetch what is missing; nothing if a licence is not accepted."""
    from wug.data import fetch as fetching
    from wug.data.folder import missing

    for selection in selections:
        common.notify(_licence(selection))
    for selection in selections:  # all of them before the first is fetched
        if missing(selection):
            fetching.require_acceptance(selection, accept)
    for selection in selections:
        with common.progress(selection.name, in_bytes=True) as progress:
            fetching.fetch_selection(selection, accept=accept, source=source, progress=progress)


@command.command()
@click.argument("name")
def path(name: str) -> None:
    """Print the path of a set: its folder, or its files, one per line.

    \b
    wug data path blimp/anaphor_agreement
    """
    from wug import data

    for file in data.paths(name):
        printing.print_data(str(file))


@command.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
def cite(names: tuple[str, ...]) -> None:
    """Print the BibTeX entries, licence and version.

    \b
    wug data cite blimp cogs
    """
    from wug import data

    printing.print_data("\n\n".join(data.cite(name) for name in names))


@command.command()
@click.argument("name")
@click.option("-o", "--output", type=OUTPUT_FILE, help="A file.  [default: stdout]")
def croissant(name: str, output: Path | None) -> None:
    """Describe a set as Croissant 1.1, for catalogues of data sets.

    \b
    wug data croissant blimp -o croissant.json
    """
    from wug.data.croissant import croissant as describe

    document, warnings = describe(name)
    for warning in warnings:
        common.notify(warning, "warning")
    common.deliver_text(json.dumps(document, ensure_ascii=False, indent=1), output)


def _licence(selection: SetSelection) -> str:
    data_set = selection.set
    licence = data_set.licence or "none named"
    summary = f"{selection.name}: {selection.extent}, licence: {licence} · cite {data_set.citation}"
    return "\n  ".join([summary, *(text for text in (data_set.restriction, data_set.note) if text)])
