"""Commands that make minimal pairs from templates, and score the log-probabilities of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from wug.families import commands as family
from wug.formatting import plural

DEFAULT_SENTENCES = 200

TEMPLATE_OPTIONS = (
    family.option("--n", f"Grammatical sentences per pattern.  [default: {DEFAULT_SENTENCES}]", type=family.POSITIVE),
    family.option("--all everything", "Make all possible sentences, instead of --n.", is_flag=True),
    family.SEED,
    family.option("-o --filename --output path", "Output file.  [default: stdout]", type=family.OUTPUT_FILE),
    family.option(
        "--format layout",
        "Two sentences per pair, or one sentence with two forms of a word.",
        type=click.Choice(["sentence", "word"]),
        default="sentence",
    ),
    family.option(
        "--spaced",
        "Separate punctuation by spaces and end with <eos>, for models that split at spaces; always with "
        "--format word.",
        is_flag=True,
    ),
    family.option("--pattern patterns", "Only this pattern; repeatable.", multiple=True, metavar="NAME"),
    family.option("--lexicon", "Your own patterns and words (TOML).  [default: built-in English]", metavar="FILE"),
    family.FORCE,
)


def _make(category: str, *, path: Path | None, layout: str, spaced: bool, force: bool, **chosen: Any) -> str | None:
    """Write pairs to a file, or return their text; further options say which pairs are made."""
    from wug.families.pairs import templates
    from wug.files import format_of, refuse_existing, write_text

    if chosen["everything"] and chosen["n"] is not None:
        raise click.UsageError("--all and --n exclude each other")
    if path is not None:
        format_of(path, dict.fromkeys((".tab", ".tsv", ".txt", ""), "tsv"))
        refuse_existing([path], force=force)
    sentences = None if chosen["everything"] else chosen["n"] or DEFAULT_SENTENCES
    examples = templates.generate(category, sentences, chosen["seed"], chosen["lexicon"], chosen["patterns"] or None)
    words = layout == "word"
    written = templates.word_focused(examples) if words else templates.sentence_focused(examples, spaced)
    for notice in written.notices:
        family.notify(f"note: {notice}")
    if path is None:
        return str(written.text)
    write_text(path, written.text)
    pairs, patterns = written.text.count("\n") - 1, len({example.pattern for example in examples})
    family.notify(f"wrote {path}: {pairs:,} pairs from {plural(patterns, 'pattern')}")
    return None


CATEGORIES = {
    "agreement": """Make pairs with subject-verb agreement, in the categories of Marvin & Linzen (2018).

    --all makes as many grammatical sentences as the published sets have: 126,260.

    \b
    wug make agreement --n 100 --filename agreement.tab
    wug make agreement --all --pattern prep_anim --filename prep_anim.tab
    """,
    "coord": """Make pairs with coordinated subjects: The author and the guard are/*is tired.

    Patterns: coord_short_ss … coord_both_pp, and the controls simple_sing and simple_plur.

    \b
    wug make coord --filename coord.tab
    wug make coord --n 50 --seed 7 --pattern coord_long_rc1 --pattern simple_sing
    wug make coord --all --format word --filename coord_words.tab
    """,
    "npi": """Make pairs with negative polarity items, in the categories of Marvin & Linzen (2018).

    The sentences of a pair differ before the word that shows the error, so --format word is not possible.

    \b
    wug make npi --n 100 --filename npi.tab
    wug make npi --all --filename npi_all.tab
    """,
    "reflexives": """Make pairs with reflexive pronouns, in the categories of Marvin & Linzen (2018).

    Patterns: simple_reflexives, reflexive_sent_comp and reflexives_across.

    \b
    wug make reflexives --n 100 --filename reflexives.tab
    wug make reflexives --all --pattern simple_reflexives
    """,
    "tense": """Make pairs in which two tenses must agree: When the authors arrived, they had/*have left.

    Patterns: tense_when_past, tense_when_fut, tense_adv_past, tense_adv_fut and tense_vpe (graded).

    \b
    wug make tense --filename tense.tab
    wug make tense --n 50 --pattern tense_adv_past --format word
    """,
}


def score_pairs(
    paths: Sequence[Path], *, columns: Sequence[str], suite_options: Mapping[str, str]
) -> family.ScoredSuites:
    """Score minimal pairs from a table of scores.

    Name its columns with -S: good_score and bad_score for one pair per row; item, condition and score for one
    sentence per row; good_first and bad_first, or yes and no, for scores of labels. human correlates margins with
    people's judgements, and model gives one result per model. In the original format of Gulordava et al. (2018),
    every further column is a model, and the mean and the sample standard deviation are reported too.

    \b
    wug score pairs --predictions scores.csv -S good_score=slor_good -S bad_score=slor_bad
    wug score pairs --predictions all.csv -S margin=difference -S human=rating -S model=model
    wug score pairs --predictions all_models.tab.gz --format csv
    """
    from wug.families.pairs import read_published
    from wug.families.pairs.score_tables import score_table
    from wug.files import head
    from wug.record_tables import columns_of

    if columns and suite_options:
        raise click.UsageError("--column is for the original format: it excludes -S")
    for path in paths:
        if not columns and (suite_options or "constr_id" not in columns_of(head(path))):
            for suite, name, outcomes in score_table(path, suite_options):
                yield suite, family.model_id(name, path), outcomes
            continue
        published = read_published(path, columns)
        for name, rows in published.columns.items():
            yield published.suite, family.model_id(name, path), rows


def score_human_responses(paths: Sequence[Path], *, suite_options: Mapping[str, str]) -> family.ScoredSuites:
    """Compute how far people agree, from their responses.

    Reports agreement with the labels, agreement with each other, and noise ceilings; for ratings, z scores per rater.
    Formats of BLiMP, TurBLiMP, QFrBLiMP and ZhoBLiMP are recognised. For other tables, name the columns with -S: item
    and rater, with correct, response and label, or rating and condition.

    \b
    wug score people --responses answers.csv -S item=sentence -S rater=who -S correct=right
    wug score people --responses human_responses.csv                           BLiMP's own file
    wug score people --responses ratings.xlsx -S item=pair -S rater=who -S rating=score -S condition=type
    """
    from wug.families.people import score_people

    for path in paths:
        yield score_people(path, suite_options)


RESPONSES = family.option(
    "--responses paths", "File of responses; repeatable.", multiple=True, required=True, type=family.PATH
)
CATEGORY = family.option("--category", "Category of the patterns.", required=True, metavar="NAME")
COLUMNS = family.option(
    "--column columns",
    "Column of log-probabilities in the original format; repeatable.  [default: all additional columns]",
    multiple=True,
    metavar="NAME",
)
MAKE = (
    *(family.MakeCommand(name, partial(_make, name), TEMPLATE_OPTIONS, help) for name, help in CATEGORIES.items()),
    family.MakeCommand(
        "templates",
        _make,
        (CATEGORY, *TEMPLATE_OPTIONS),
        """Make pairs of any category, such as those of a custom --lexicon.

        \b
        wug make templates --lexicon french.toml --category accord --filename accord.tab
        """,
    ),
)
SCORE = (
    family.ScoreCommand(
        "pairs",
        score_pairs,
        (family.predictions("Table with scores"), family.FILES, family.table_options("Column of the table"), COLUMNS),
        spread="sample",
        unaveraged="model",
    ),
    family.ScoreCommand(
        "people",
        score_human_responses,
        (RESPONSES, family.table_options("Column of the table, or another option of how responses are read")),
        spread=None,
    ),
)
