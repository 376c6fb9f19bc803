"""Scoring of predictions from other tools: scores of forms, or free answers, matched to judgements by people."""

from __future__ import annotations

import math
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


def read_scores(path: Path) -> list[tuple[str, str, float, str]]:
    """Lemma, form, score and place of each line; SuiteError for a number that is not finite.

    Without a header, the columns are those of a judgement file with a score instead of the rating.
    """
    first = next(iter(read_lines(path)), "")
    columns = set(header_of(first))
    column = next((name for name in SCORE_COLUMNS if name in columns), "score")
    has_header = {"lemma", "form", column} <= columns
    table = read_table(path, header=() if has_header else ("lemma", "form", "tag", column), quoted="\t" not in first)
    rows, problems = [], table.problems
    for record in table.records:
        lemma, form, text = (plain(record.fields.get(name)) for name in ("lemma", "form", column))
        if math.isfinite(score := as_number(text)):
            rows.append((plain_g(lemma), plain_g(form), score, record.place))
        else:
            problems.error(record.place, f"the score {text!r} is not a finite number")
    refuse_errors(problems, path)
    if not rows:
        raise InputError("there are no scores in it", file=path)
    return rows


def match_scores(gold: ParsedForms, path: Path, *, as_merge: bool) -> tuple[list[metrics.ScoredItem], list[str]]:
    """The scores of a file for the forms of the gold items, and warnings; InputError for a missing or unknown form.

    Repeated forms are matched in order. `as_merge` combines them as R's merge does: every score with every rating.
    """
    rows = read_scores(path)
    scores: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for lemma, text, score, place in rows:
        scores.setdefault((joined(lemma), joined(text)), []).append((score, place))
    keys = {_key(item, form) for item in gold.items for form in item.forms}
    problems = ProblemList()
    for key, scores_of_form in scores.items():
        if key not in keys:
            problems.error(scores_of_form[0][1], f"the form {key[1]!r} of {key[0]!r} is not in the gold file")
    matched, used = [], dict.fromkeys(scores, 0)
    for item in gold.items:
        forms: list[Form] = []
        values: list[float] = []
        for form in item.forms:
            key = _key(item, form)
            used_scores = scores.get(key, [])
            if not as_merge:
                used_scores = used_scores[used.get(key, 0) :][:1]
            if not used_scores:
                problems.error("", f"no score for {form.symbols!r} of {item.symbols!r} ({form.place})")
                continue
            used[key] += 1
            forms += [form] * len(used_scores)
            values += [score for score, _ in used_scores]
        matched.append(metrics.ScoredItem(replace(item, forms=tuple(forms)), tuple(values)))
    if not as_merge:
        for key, count in used.items():
            for _, place in scores[key][count:] if key in keys else ():
                problems.error(place, f"{key[1]!r} of {key[0]!r} has more scores than the gold file")
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
    names = {item.item: item for item in gold.items}
    unknown = [name for name in answers if name not in names]
    missing = [name for name in names if name not in answers]
    if unknown or missing:
        what = f"the word {unknown[0]!r} is not in the gold file" if unknown else f"no answers to {missing[0]!r}"
        raise InputError(what, file=path)
    return [
        [
            *metrics.answer_rows(
                gold.items, [[answers[item.item][run]] for item in gold.items], [{}] * len(gold.items)
            ),
            *metrics.answer_ceiling(gold.answers),
        ]
        for run in range(len(next(iter(answers.values()))))
    ]


def _key(item: WugItem, form: Form) -> tuple[str, str]:
    return joined(item.symbols), joined(form.symbols)
