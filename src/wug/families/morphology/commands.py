"""Commands that make wug tests, and score predicted forms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wug.families import commands as family
from wug.families.morphology import make


def _make(*, task: str, language: str, output: Path, seed: int, items: int, lexicon: Path | None, force: bool) -> None:
    from wug.files import refuse_existing, write_text
    from wug.tables import Table

    refuse_existing([output], force=force)
    forms = make.make(task, items, seed, lexicon, language)
    write_text(output, Table.of_rows(forms).text("csv", raw=True))
    family.notify(f"wrote {output}: {items:,} items, {len(forms):,} forms")


def score_morphology(
    paths: Sequence[Path],
    *,
    gold: Path,
    individual: Path | None,
    rating: str | None,
    scale: float,
    language: str | None,
    reference_compat: bool,
) -> family.ScoredSuites:
    """Score the forms of new words against judgements by people: agreement, correlations, and AIC.

    The gold file has ratings (SIGMORPHON 2021 task 0 part 2, or a table with lemma, form and rating) or free answers of
    people (one column per word). Predictions have the columns of the gold file, with a score instead of the rating.

    \b
    wug score morphology --gold nld.judgements.dev --predictions nld.tsv
    wug score morphology --gold eng.judgements.dev --predictions system.tsv --individual eng.judgements.individual.dev
    wug score morphology --gold eng_gold_data.csv --predictions eng_system.csv
    """
    from wug.families.morphology import read, scoring

    chosen = {"rating": rating, "language": language, "scale": f"{scale:g}"}
    (opened,) = read(gold, {name: value for name, value in chosen.items() if value is not None})
    columns = {} if rating is None else {"rating": rating}
    suite = opened.for_file(scale=f"{scale:g}", join="merge" if reference_compat else "order", **columns)
    for path in paths:
        if suite.parsed.answers:
            runs = scoring.answer_runs(suite.parsed, path, suite.items[0].language)
            for number, rows in enumerate(runs, 1):
                yield suite, family.model_id(path.name if len(runs) == 1 else f"{path.name} row {number}", path), rows
        else:
            scored = scoring.scored_rows(suite.parsed, path, scale, as_merge=reference_compat, individual=individual)
            yield suite, family.model_id(path.name, path), list(scored)


MAKE = (
    family.MakeCommand(
        "morphology",
        _make,
        (
            click.Argument(["task"], type=click.Choice(make.tasks())),
            family.option(
                "--language", "Language of the words.", type=click.Choice(list(make.languages())), default="eng"
            ),
            family.option("-o --output", "CSV file to write.", type=family.OUTPUT_FILE, required=True),
            family.SEED,
            family.option("--items", "Number of new words.", type=family.POSITIVE, default=60),
            family.option("--lexicon", "Word list, one per line: further words to stay away from.", type=family.PATH),
            family.FORCE,
        ),
        """Make a wug test: new words, and carrier sentences that ask for a form of each.

        The words are pronounceable, are not in a word list of the language, and differ in at least two letters from its
        10,000 most frequent words. There are six tasks for English (eng), plural and participle for German (deu), and
        plural and past_plural for Dutch (nld). The word lists of the last two are those of the extra frequency.

        \b
        wug make morphology plural --seed 1 --items 60 -o plurals.csv
        wug make morphology past --items 100 --lexicon words.txt -o past.csv
        wug make morphology plural --language deu -o german.csv
        """,
    ),
)
SCORE = (
    family.ScoreCommand(
        "morphology",
        score_morphology,
        (
            family.option("--gold", "Forms with human ratings, or free answers.", required=True, type=family.PATH),
            family.predictions("A system's scores or answers, in the format of the gold file"),
            family.FILES,
            family.option("--individual", "Individual ratings, for the human ceiling.", type=family.PATH),
            family.option("--rating", "Column with the ratings, in a table."),
            family.option("--scale", "Highest possible rating.", type=float, default=7.0),
            family.option("--language", "ISO 639-3 code.  [default: from the name of the gold file]"),
            family.option("--reference-compat", "Join repeated forms as R's merge does.", is_flag=True),
        ),
    ),
)
