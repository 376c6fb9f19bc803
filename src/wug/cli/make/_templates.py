"""The command that makes minimal pairs from templates, the same for every category."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.make import _files as files

EACH = 200
"""Sentences of each pattern where the user does not say how many."""


def options(function: common.Function) -> common.Function:
    """How many pairs of which patterns, and where they go."""
    for option in reversed(
        (
            click.option(
                "--n", type=click.IntRange(min=1), help=f"Grammatical sentences of each pattern.  [default: {EACH}]"
            ),
            click.option("--all", "everything", is_flag=True, help="All sentences that there are, instead of --n."),
            files.seed_option,
            click.option(
                "-o",
                "--filename",
                "--output",
                "path",
                type=click.Path(path_type=Path, dir_okay=False),
                help="The file.  [default: stdout]",
            ),
            click.option(
                "--format",
                "shape",
                type=click.Choice(["sentence", "word"]),
                default="sentence",
                show_default=True,
                help="Two sentences a pair, or one sentence with two forms of a word.",
            ),
            click.option(
                "--spaced",
                is_flag=True,
                help="Punctuation as words, <eos> at the end: for models that split at white space. word is always so.",
            ),
            click.option("--pattern", "patterns", multiple=True, metavar="NAME", help="Only this one; repeatable."),
            click.option(
                "--lexicon", metavar="FILE", help="Patterns and words of your own (TOML).  [default: English, built in]"
            ),
            files.force_option,
        )
    ):
        function = option(function)
    return function


def make(category: str, given: dict[str, Any]) -> None:
    """Write the pairs of a category, as the options ask for them."""
    from wug.families.pairs import templates
    from wug.files import write_text

    path: Path | None = given["path"]
    if given["everything"] and given["n"] is not None:
        raise click.UsageError("--all and --n exclude each other")
    if path is not None:
        files.refuse_existing([path], given["force"])
    n = None if given["everything"] else given["n"] or EACH
    found = templates.generate(category, n, given["seed"], given["lexicon"], given["patterns"] or None)
    if given["shape"] == "word":
        written = templates.word_focused(found)
    else:
        written = templates.sentence_focused(found, given["spaced"])
    for notice in written.notices:
        common.say(f"note: {notice}")
    if path is None:
        printing.emit(written.text, end="")
        return
    write_text(path, written.text)
    pairs, patterns = written.text.count("\n") - 1, len({example.pattern for example in found})
    common.say(f"wrote {path}: {pairs:,} pairs from {patterns} pattern{'s' * (patterns != 1)}")
