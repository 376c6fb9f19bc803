"""`wug surprisal`: the surprisal of every word of some texts."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _flags as flags
from wug.cli import _printing as printing

if TYPE_CHECKING:
    from wug.tables import Table
    from wug.texts import Text

FORMATS = ("table", "csv", "tsv", "json", "jsonl", "parquet")
WIDEST = 40
"""Columns of a terminal that a text takes at most."""


@common.having(flags.DEVICE, *common.ASKING)
@click.command("surprisal")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--model",
    "models",
    multiple=True,
    envvar="WUG_MODEL",
    default=("wug-causal",),
    show_default=True,
    help="Such as causal:gpt2, 'causal:runs/*/checkpoint-*' or @LIST; repeatable.",
)
@common.choice("--unit", "word", "token", "sentence", help="What has a row.")
@common.choice(
    "--words",
    "space",
    "tokenizer",
    "given",
    help="What parts words: white space, the tokenizer's own rule, or the file (words one a line, or CoNLL-U).",
)
@click.option("--column", help="FILE is a table, and this column of it has the texts; the other columns are kept.")
@click.option("--source", metavar="COLUMN", help="A column with what an encoder-decoder reads first (-M score=source).")
@common.choice("--text", "line", "paragraph", "file", help="What is one text: nothing before it counts as context.")
@click.option(
    "--context",
    type=click.Choice(("text", "sentence")),
    help="The context of a word: all of its text before it, or only its sentence.  [default: sentence for models "
    "trained on single sentences, such as the built-in ones; text for others]",
)
@click.option("--boundary", is_flag=True, help="Also count the end of each word with that word: surprisal_boundary.")
@click.option("--entropy/--no-entropy", default=True, show_default=True, help="Entropy and rank, too.")
@click.option("--window", type=common.POSITIVE, help="Tokens read at a time.  [default: the model's context]")
@click.option("--stride", type=common.POSITIVE, help="Tokens by which windows go on.  [default: half a window]")
@click.option(
    "--window-bos/--no-window-bos",
    default=True,
    show_default=True,
    help="Begin each window with a BOS token, or only the text (causal models).",
)
@click.option("-o", "--output", type=common.OUTPUT_FILE, help="A file.  [default: stdout]")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="[default: as the file's name ends; on stdout, a table]"
)
@click.option("--raw", is_flag=True, help="In csv and tsv, no apostrophe before what a spreadsheet would evaluate.")
def command(
    files: tuple[str, ...],
    models: tuple[str, ...],
    model_options: dict[str, str],
    device: str | None,
    column: str | None,
    source: str | None,
    text: Any,
    output: Path | None,
    form: str | None,
    cache: Path | None,
    no_cache: bool,
    raw: bool,
    **manner: Any,
) -> None:
    """Print the surprisal of every word of texts, in bits.

    The table has one row per word and model, with entropy and rank. FILE is a file with one text per line; a table
    (--column); one word per line, or CoNLL-U (--words given); or - for stdin. A text that is longer than the model's
    context is read in windows.

    \b
    wug surprisal story.txt --model causal:gpt2 --text file -o words.csv
    echo "The keys to the cabinet are here." | wug surprisal - --model causal:gpt2
    wug surprisal items.csv --column sentence --boundary -o words.parquet
    wug surprisal corpus.conllu --words given --model causal:gpt2 --model wug-lstm --format tsv
    """
    from wug.errors import InputError
    from wug.evaluation import model_patterns as patterns
    from wug.evaluation.cache import Cache
    from wug.evaluation.opening import model_spec, open_model
    from wug.tables import FORMATS as WRITTEN
    from wug.texts import surprisal

    form = common.agreed(form, output, {f".{name}": name for name in WRITTEN}) or "table"
    if form == "parquet" and output is None:
        raise InputError("Parquet is not text: name a file with -o")
    if column is not None and text != "line":
        raise click.UsageError(f"--text {text} is for plain files: with --column, each row is a text")
    texts = _read(files, column, source, given=manner["words"] == "given", part=text)
    answers = None if no_cache else Cache(cache or common.default_cache())
    common.tell_places(None, None if answers is None else answers.path)
    common.say(f"loading {', '.join(models)}")
    try:
        specs = [model_spec(one.text, model_options, device) for one in patterns.expand(models)]
        opened = (open_model(spec) for spec in specs)
        with common.progress(f"reading {len(texts):,} texts") as tell:
            table = surprisal(texts, opened, cache=answers, progress=tell, **manner)
    finally:
        if answers is not None:
            answers.close()
    _deliver(table, form, output, raw=raw)
    if len(texts) > 1 and text == "line" and column is None:
        common.say(
            f"{len(texts):,} texts, a line each, none with another as its context (--text paragraph, --text file)"
        )


def _read(files: Sequence[str], column: str | None, source: str | None, *, given: bool, part: Any) -> list[Text]:
    """The texts of all files, with the name of its file beside each where there are several."""
    from wug.errors import InputError
    from wug.files import user_path
    from wug.texts import read_texts

    found: list[Text] = []
    for name in files:
        with _stdin() if name == "-" else nullcontext(user_path(name)) as path:
            if " " in name and not path.exists():
                remedy = f"To score a text itself: echo {shlex.quote(name)} | wug surprisal -"
                raise InputError(f"no such file. {remedy}", file=name)
            texts = read_texts(path, column=column, given=given, part=part, source=source)
        several = {"file": name} if len(files) > 1 else {}
        found += [replace(text, columns={**several, **text.columns}) for text in texts] if several else texts
    return found


@contextmanager
def _stdin() -> Iterator[Path]:
    """What comes in, as a file for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        path.write_bytes(sys.stdin.buffer.read())
        yield path


def _deliver(table: Table, form: str, output: Path | None, *, raw: bool) -> None:
    if output is not None:
        if form == "table":
            common.deliver_text(_aligned(table), output)
            return
        table.write(output, form, raw=raw)
        common.say(f"wrote {len(table):,} rows to {output}")
    elif form == "table":
        printing.echo(_aligned(table))
    else:
        printing.emit(table.text(form, raw=raw), end="")


def _aligned(table: Table) -> str:
    """The table for a person: columns of one width, numbers to the right, models by their short names."""
    from rich.cells import cell_len, set_cell_size

    from wug.labels import short_names
    from wug.views.markup import visible

    called = short_names(table["model"])
    columns = []
    for name in table.names:
        values = [called[value] if name == "model" else _shown(value) for value in table[name]]
        cells = [visible(value).replace("\n", "\\n") for value in (name, *values)]
        wide = min(WIDEST, max(map(cell_len, cells)))
        numbers = not any(isinstance(value, str) for value in table[name])
        cells = [cell if cell_len(cell) <= wide else set_cell_size(cell, wide - 1) + "…" for cell in cells]
        columns.append(
            [
                " " * (wide - cell_len(cell)) + cell if numbers else cell + " " * (wide - cell_len(cell))
                for cell in cells
            ]
        )
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
