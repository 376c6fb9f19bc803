"""Scoring of predictions from other tools: scores of forms, or free answers, matched to judgements by people."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from wug.errors import InputError
from wug.families.morphology import metrics
from wug.families.morphology.formats import individual_ratings, read_answers
from wug.families.morphology.item import Form, ParsedForms, WugItem, joined, plain_g
from wug.files import read_lines
from wug.outcomes import Notice, SuiteOutput
from wug.problems import ProblemList, refuse_errors
from wug.record_tables import as_number, header_of, plain, read_table

SCORE_COLUMNS = ("score", "logprob", "model_rating", "prediction", "rating")
"""Columns of a table that may have the scores, in the order in which they are looked for."""


def _read_scores(path: Path) -> dict[tuple[str, str], list[tuple[float, str]]]:
    """Scores and their places by lemma and form; SuiteError for a number that is not finite.

    Without a header, the columns are those of a judgement file with a score instead of the rating.
    """
    first = next(iter(read_lines(path)), "")
    columns = set(header_of(first))
    column = next((name for name in SCORE_COLUMNS if name in columns), "score")
    has_header = {"lemma", "form", column} <= columns
    table = read_table(path, header=() if has_header else ("lemma", "form", "tag", column), quoted="\t" not in first)
    scores: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for record in table.records:
        lemma, form, text = (plain(record.fields.get(name)) for name in ("lemma", "form", column))
        if math.isfinite(score := as_number(text)):
            scores[joined(plain_g(lemma)), joined(plain_g(form))].append((score, record.place))
        else:
            table.problems.error(record.place, f"the score {text!r} is not a finite number")
    refuse_errors(table.problems, path)
    if not scores:
        raise InputError("there are no scores in it", file=path)
    return scores


def match_scores(gold: ParsedForms, path: Path, *, as_merge: bool) -> tuple[list[metrics.ScoredItem], list[str]]:
    """The scores of a file for the forms of the gold items, and warnings; InputError for a missing or unknown form.

    Repeated forms are matched in order. `as_merge` combines them as R's merge does: every score with every rating.
    """
    scores = _read_scores(path)
    problems = ProblemList()
    known = {_key(item, form) for item in gold.items for form in item.forms}
    for lemma, text in [key for key in scores if key not in known]:
        place = scores.pop((lemma, text))[0][1]
        problems.error(place, f"the form {text!r} of {lemma!r} is not in the gold file")
    matched = []
    for item in gold.items:
        pairs: list[tuple[Form, float]] = []
        for form in item.forms:
            available = scores[_key(item, form)]
            if not available:
                problems.error("", f"no score for {form.symbols!r} of {item.symbols!r} ({form.place})")
            pairs += [(form, score) for score, _ in (available if as_merge else available[:1])]
            if not as_merge:
                del available[:1]
        forms, values = tuple(form for form, _ in pairs), tuple(value for _, value in pairs)
        matched.append(metrics.ScoredItem(replace(item, forms=forms), values))
    if not as_merge:
        for (lemma, text), remaining in scores.items():
            for _, place in remaining:
                problems.error(place, f"{text!r} of {lemma!r} has more scores than the gold file")
    refuse_errors(problems, path)
    mapped = sum("ɡ" in line for line in read_lines(path))
    return matched, [f"{path.name}: {mapped:,} lines have the IPA letter ɡ, which is read as g"] if mapped else []


def scored_rows(
    gold: ParsedForms, path: Path, scale: float, *, as_merge: bool, individual: Path | None
) -> Iterator[SuiteOutput]:
    """Outcomes, estimates and warnings for one file of scores."""
    matched, warnings = match_scores(gold, path, as_merge=as_merge)
    alone = [scored for scored in matched if len(scored.item.forms) < 2]
    if alone:
        lines = ", ".join(form.place for scored in alone for form in scored.item.forms)
        warnings.append(f"{len(alone)} lemmas with one form only are left out of comparisons of forms ({lines})")
    yield from metrics.score_rows(matched, scale)
    if individual is not None:
        yield from metrics.rating_ceiling(individual_ratings(individual)[0])
    about_gold = (str(problem) for problem in gold.problems if problem.level == "warning")
    yield from map(Notice, (*about_gold, *warnings))


def answer_runs(gold: ParsedForms, path: Path, language: str) -> list[list[SuiteOutput]]:
    """The rows of each run in a file of free answers: one column per word, one row per run."""
    answers = read_answers(path, language)
    names = [item.item for item in gold.items]
    for name in answers:
        if name not in names:
            raise InputError(f"the word {name!r} is not in the gold file", file=path)
    for name in names:
        if name not in answers:
            raise InputError(f"no answers to {name!r}", file=path)
    return [
        [
            *metrics.answer_rows(gold.items, [[answers[name][run]] for name in names], [{}] * len(names)),
            *metrics.answer_ceiling(gold.answers),
        ]
        for run in range(len(next(iter(answers.values()))))
    ]


def _key(item: WugItem, form: Form) -> tuple[str, str]:
    return joined(item.symbols), joined(form.symbols)
