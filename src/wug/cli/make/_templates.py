"""The command that makes minimal pairs from templates, the same for every category."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli import _printing as printing

EACH = 200
"""Sentences of each pattern where the user does not say how many."""


OPTIONS = (
    click.Option(["--n"], type=common.POSITIVE, help=f"Grammatical sentences of each pattern.  [default: {EACH}]"),
    click.Option(["--all", "everything"], is_flag=True, help="All sentences that there are, instead of --n."),
    common.SEED_OF_MATERIAL,
    click.Option(
        ["-o", "--filename", "--output", "path"], type=common.OUTPUT_FILE, help="The file.  [default: stdout]"
    ),
    click.Option(
        ["--format", "shape"],
        type=click.Choice(["sentence", "word"]),
        default="sentence",
        show_default=True,
        help="Two sentences a pair, or one sentence with two forms of a word.",
    ),
    click.Option(
        ["--spaced"],
        is_flag=True,
        help="Punctuation as words, <eos> at the end: for models that split at white space. word is always so.",
    ),
    click.Option(["--pattern", "patterns"], multiple=True, metavar="NAME", help="Only this one; repeatable."),
    click.Option(
        ["--lexicon"], metavar="FILE", help="Patterns and words of your own (TOML).  [default: English, built in]"
    ),
    common.FORCE,
)
"""How many pairs of which patterns, and where they go."""


def make(
    category: str,
    *,
    n: int | None,
    everything: bool,
    seed: int,
    path: Path | None,
    shape: str,
    spaced: bool,
    patterns: tuple[str, ...],
    lexicon: str | None,
    force: bool,
) -> None:
    """Write the pairs of a category, as the options ask for them."""
    from wug.families.pairs import templates
    from wug.files import write_text

    if everything and n is not None:
        raise click.UsageError("--all and --n exclude each other")
    if path is not None:
        common.format_of(path, dict.fromkeys((".tab", ".tsv", ".txt", ""), "tsv"))
        common.refuse_existing([path], force)
    found = templates.generate(category, None if everything else n or EACH, seed, lexicon, patterns or None)
    written = templates.word_focused(found) if shape == "word" else templates.sentence_focused(found, spaced)
    for notice in written.notices:
        common.say(f"note: {notice}")
    if path is None:
        printing.emit(written.text, end="")
        return
    write_text(path, written.text)
    pairs, kinds = written.text.count("\n") - 1, len({example.pattern for example in found})
    common.say(f"wrote {path}: {pairs:,} pairs from {kinds} pattern{'s' * (kinds != 1)}")
