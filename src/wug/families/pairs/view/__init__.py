"""Minimal pairs: accuracy by pattern or paradigm, margins, both sentences of a pair with what differs in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wug.families.pairs.languages import MACRO
from wug.families.pairs.view import people
from wug.families.pairs.view.columns import columns_figure, hardest
from wug.families.pairs.view.figures import group_figures
from wug.families.pairs.view.judged import CHECK, SCORES, TEXTS, checks_of, finest_group, judged, judgements, tally
from wug.families.pairs.view.lines import pair, word_probabilities
from wug.families.pairs.view.margins import margins_figure
from wug.rows import Filter, Rows
from wug.types import Outcome, Result
from wug.views.grouped import overall_of, spread_note
from wug.views.numbers import headlines
from wug.views.parts import Figure, Items, Later, Numbers, Part, Prose, Sample, sort_by

__all__ = ["items", "parts", "word_probabilities"]

FEW = 20
"""Pairs that tell whether words were kept with their log-probabilities."""


def _surprisal(outcome: Outcome) -> float | None:
    score = judged(outcome).score_good
    return None if score is None else -score


SORTS = (
    sort_by("margin", "margin", lambda outcome: judged(outcome).margin, *SCORES, *TEXTS),
    sort_by("surprisal", "surprisal of the grammatical one", _surprisal, *SCORES, *TEXTS),
)


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Accuracy, what became of the pairs, charts, margins, the pairs that most columns fail."""
    checks = checks_of(rows)
    yield Numbers(tuple(overall_of(result, CHECK, MACRO)) or headlines(result))
    if note := spread_note(result):
        yield Prose(note)
    if len(checks) == 1:
        yield Later("tally", "What became of the pairs", partial(tally, rows, checks[0]), figure=False)
    if (columns := columns_figure(result)) is not None:
        yield columns
    yield from group_figures(result, partial(rows.groups, checks[0], "paradigm") if checks else list)
    if checks:
        yield Later("margins", "Margins", partial(_margins, rows, scale(result)))
    yield from people.parts(result, rows)
    if len(checks) > 1:
        title = "Pairs that most columns fail"
        yield Later("hardest", title, partial(hardest, rows, title), figure=False)


def items(result: Result, rows: Rows) -> Items:
    """Every pair with both sentences; those that fail by the finest group that they belong to."""
    checks = checks_of(rows)
    check = next(iter(checks), CHECK)
    failing = Sample(
        "Pairs that fail",
        check,
        group=finest_group,
        note=f"What differs between the two is marked. Numbers are the {scale(result)} of each.",
    )
    some = rows.each(Filter(check), keys=("words_good",), most=FEW)
    return Items(
        check,
        pair,
        (failing,) if len(checks) < 2 else (),
        size=50,
        noun="pair",
        scale=any(row.outcome.detail.get("words_good") for row in some),
        shaded="word",
        sorts=SORTS,
    )


def scale(result: Result) -> str:
    """What the scores of a pair are, as the signature says it."""
    fields = dict(result.signature.fields)
    if "slor" in fields:
        return "SLOR"
    per = fields.get("normalise", "none")
    return "log-probability (nats)" if per == "none" else f"log-probability per {per} (nats)"


def _margins(rows: Rows, scale: str) -> Figure | None:
    found = (pair for _, pair in judgements(rows, (*SCORES, *TEXTS)) if pair.value is not None)
    return margins_figure([pair.margin for pair in found if pair.margin is not None], scale)
