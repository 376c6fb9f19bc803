"""`wug surprisal`: the surprisal of every word of some texts."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.errors import InputError
from wug.families.commands import OUTPUT_FILE, POSITIVE, option
from wug.files import user_path
from wug.labels import short_names
from wug.tables import Table, format_suffixes

if TYPE_CHECKING:
    from wug.texts import Text
    from wug.texts.files import TextUnit

FILES = click.Argument(["files"], nargs=-1, required=True, metavar="FILE...")
GROUPS: Mapping[str, Sequence[click.Option]] = {
    "Texts": (
        common.choice("--text", "line", "paragraph", "file", help="What one text is; it is scored on its own."),
        option("--column", "Column with the texts, if FILE is a table; the other columns are kept."),
        option("--source", "Column with the sources of an encoder-decoder (-M score=source).", metavar="COLUMN"),
        common.choice(
            "--words",
            "space",
            "tokenizer",
            "given",
            help="Word boundaries: white space, the tokenizer's rule, or the file (one word per line, or CoNLL-U).",
        ),
    ),
    "Scoring": (
        option(
            "--model models",
            "Model, such as causal:gpt2, 'causal:runs/*/checkpoint-*' or @LIST; repeatable.",
            multiple=True,
            envvar="WUG_MODEL",
            default=("wug-causal",),
        ),
        common.MODEL_OPTIONS,
        common.choice("--unit", "word", "token", "sentence", help="Unit of a row."),
        option(
            "--context",
            "Context of a word: its text before it, or only its sentence.  [default: sentence for models trained "
            "on single sentences, such as the built-in ones; text for others]",
            type=click.Choice(("text", "sentence")),
        ),
        option("--boundary", "Count the end of each word with that word: surprisal_boundary.", is_flag=True),
        option("--entropy/--no-entropy", "Add entropy and rank.", default=True),
        option("--window", "Tokens per window.  [default: the model's context]", type=POSITIVE),
        option("--stride", "Tokens from one window to the next.  [default: half a window]", type=POSITIVE),
        option(
            "--window-bos/--no-window-bos",
            "Begin each window with a BOS token, or only the text (causal models).",
            default=True,
        ),
    ),
    "Output": (
        option("-o --output", "Output file.  [default: stdout]", type=OUTPUT_FILE),
        option(
            "--format",
            "Output format.  [default: that of the file's suffix; a table on stdout]",
            type=common.FORMATS,
        ),
        option("--raw", "In csv and tsv, do not escape cells that a spreadsheet would evaluate.", is_flag=True),
    ),
    "Where it runs": (common.DEVICE, common.CACHE, common.NO_CACHE),
}


def surprisal(*, files: tuple[str, ...], output: Path | None, format: str | None, raw: bool, **options: Any) -> None:
    """Print the surprisal of every word of texts, in bits.

    The table has one row per word and model, with entropy and rank. FILE is a file with one text per line; a table
    (--column); one word per line, or CoNLL-U (--words given); or - for stdin. A text that is longer than the model's
    context is read in windows.

    \b
    wug surprisal story.txt --text file -o words.csv                       with the built-in model
    echo "The keys to the cabinet are here." | wug surprisal - --model causal:gpt2
    wug surprisal items.csv --column sentence --boundary -o words.parquet
    wug surprisal corpus.conllu --words given --model causal:gpt2 --model wug-lstm --format tsv
    """
    from wug.evaluation.service import opened_cache
    from wug.texts import surprisal as surprisal_table

    format = common.resolve_format(format, output, format_suffixes()) or "table"
    common.require_format(format, output)
    text, column = options.pop("text"), options.pop("column")
    if column is not None and text != "line":
        raise click.UsageError(f"--text {text} is for plain files: with --column, each row is a text")
    texts = _read_texts(files, column, options.pop("source"), words=options["words"] == "given", part=text)
    models = options.pop("models")
    model_options = options.pop("model_options")
    device = options.pop("device")
    cache_path, no_cache = options.pop("cache"), options.pop("no_cache")
    if no_cache:
        cache_path = None
    common.log_paths(None, cache_path)
    common.notify(f"loading {', '.join(models)}")
    with opened_cache(cache_path) as cache:
        handles = common.open_models(models, model_options, device)
        with common.progress(f"reading {len(texts):,} texts") as update:
            table = surprisal_table(texts, handles, cache=cache, progress=update, **options)
    _deliver(table, format, output, raw=raw)
    if len(texts) > 1 and text == "line" and column is None:
        common.notify(f"{len(texts):,} texts, one per line, each scored on its own (--text paragraph, --text file)")


command = common.GroupedCommand(surprisal, [FILES], GROUPS)


def _read_texts(
    files: Sequence[str], column: str | None, source: str | None, *, words: bool, part: TextUnit
) -> list[Text]:
    """The texts of all files, with the column `file` if there are several."""
    from wug.texts import read_texts

    all_texts: list[Text] = []
    for name in files:
        with _stdin() if name == "-" else nullcontext(user_path(name)) as path:
            if " " in name and not path.exists():
                fix = f"To score a text itself: echo {shlex.quote(name)} | wug surprisal -"
                raise InputError(f"no such file. {fix}", file=name)
            texts = read_texts(path, column=column, words=words, part=part, source=source)
        if len(files) > 1:
            texts = [replace(text, columns={"file": name, **text.columns}) for text in texts]
        all_texts += texts
    return all_texts


@contextmanager
def _stdin() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        path.write_bytes(sys.stdin.buffer.read())
        yield path


def _deliver(table: Table, format: str, output: Path | None, *, raw: bool) -> None:
    if format != "table":
        if output is None:
            common.deliver_table(table, format, None, raw=raw)
        else:
            table.write(output, format, raw=raw)
            common.notify(f"wrote {len(table):,} rows to {output}")
        return
    names = short_names(table["model"])
    columns = {name: table[name] for name in table.names}
    columns["model"] = [names[model] for model in table["model"]]
    text = Table(columns, table.kinds, labels=table.labels, units=table.units).text(format)
    if output is None:
        printing.print_text(text, end="")
    else:
        common.deliver_text(text.removesuffix("\n"), output)
