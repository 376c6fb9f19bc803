"""The view of minimal pairs: accuracy by group, margins, and both sentences of each pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from wug.families.links import MARGIN, link_label, shown_scale
from wug.families.pairs import outcomes
from wug.families.pairs.scoring import TARGET_OF_FILE
from wug.families.pairs.view import figures
from wug.families.pairs.view.figures import across, is_question, question_figure
from wug.formatting import bits, headlines, plural
from wug.outcomes import Outcome, Result
from wug.requests import LN2
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import parts as page
from wug.views.effects import effects_part, group_effects
from wug.views.grouped import deviation_note, overall_of
from wug.views.text_display import Piece, Pieces, mark_differences, shorten_text, single_piece, word_differences

__all__ = ["across", "items", "parts", "question", "word_probabilities"]

GROUPS = ("paradigm", "pattern", "term", "phenomenon", "field", "type")
"""The groups that failures are sampled by, the finest first."""
PROBE_PAIRS = 20
MAX_SHADED_WORDS = 120
BAR_BITS = 9
"""The margin at which the bar has three quarters of its length."""
Words = list[tuple[str, float | None]]
"""Words with their log-probabilities in nats; None if unknown."""


def question(result: Result) -> str:
    """What a pair asks, by what was scored."""
    scored = "word" if (result.signature.get("target") or "sentence") != "sentence" else "sentence"
    return f"Does the model give the grammatical {scored} a higher probability than the ungrammatical one?"


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Accuracy, counts of outcomes, charts by group, margins, and correlations with people's judgements."""
    judged, asked = outcomes.ACCURACY in rows.metrics(), is_question(result)
    yield page.EstimatesPart(
        (() if asked else tuple(overall_of(result, outcomes.ACCURACY, outcomes.MACRO_ACCURACY))) or headlines(result)
    )
    if note := deviation_note(result):
        yield page.TextPart(note)
    if judged:
        yield page.DeferredPart("tally", "Outcomes", partial(_tally, rows), figure=False)
    if asked:
        yield question_figure(result)
    kinds = partial(rows.kinds, outcomes.ACCURACY) if judged else list
    yield from figures.group_figures(result, lambda: [outcome.groups for outcome, _ in kinds()])
    if judged:
        scale, factor = _scale(result)
        yield page.DeferredPart("margins", "Margins", lambda: figures.histogram(outcomes.margins(rows, factor), scale))
        if effects := effects_part(result):
            yield effects
        yield from group_effects(result, MARGIN, excluded_fields=figures.repeated_field(result))
    if correlations := overall_of(result, outcomes.PEARSON, outcomes.SPEARMAN):
        ceiling = overall_of(result, outcomes.CEILING)
        yield page.EstimatesPart((*correlations, *ceiling))
        if compared := figures.correlation_figure(result, ceiling[0].value if ceiling else None):
            yield compared
        draw = partial(figures.human_figure, rows, *_scale(result))
        yield page.DeferredPart("people", figures.HUMAN_TITLE, draw, note=figures.HUMAN_NOTE)


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every pair with both sentences; a sample of failures from each of the finest groups."""
    scale, factor = _scale(result)
    note = f"Differences between the two are marked. Numbers are the {scale} of each."
    failing = page.ItemSample("Pairs that fail", outcomes.ACCURACY, group=_finest_group, note=note)
    probe = rows.each(Filter(outcomes.ACCURACY), keys=("words_good",), limit=PROBE_PAIRS)
    with_words = any(row.outcome.detail.get("words_good") for row in probe)
    return page.ItemsView(
        outcomes.ACCURACY,
        partial(_item, factor=factor),
        (failing,),
        size=50,
        noun="pair",
        texts=("source", "good", "context"),
        scale=with_words,
        shaded="word",
        sorts=SORTS,
    )


def word_probabilities(result: Result) -> Iterator[str]:
    """The log-probability of every word in nats, one line per sentence, with `*` before the ungrammatical one."""
    for outcome in result.outcomes:
        for key, mark in (("words_good", " "), ("words_bad", "*")):
            if words := _words(outcome, key):
                shown = (f"{word} {'–' if logprob is None else format(logprob, '.3f')}" for word, logprob in words)
                yield f"{outcome.item} {mark} {'  '.join(shown)}"


def _scale(result: Result) -> tuple[str, float]:
    if is_question(result):
        return "log-probability of an answer's label (bits)", 1 / LN2
    fields = dict(result.signature.fields)
    return shown_scale(fields) if fields.get("target", TARGET_OF_FILE) != TARGET_OF_FILE else (link_label(fields), 1.0)


def _finest_group(outcome: Outcome) -> str:
    values = (outcome.groups.get(field) for field in GROUPS)
    return next((value for value in values if value), next(iter(outcome.groups.values()), ""))


def _surprisal(outcome: Outcome) -> float | None:
    score = outcomes.PairOutcome.of(outcome).score_good
    return None if score is None else -score


SORTS = (
    page.sort_by("margin", "margin", lambda outcome: outcomes.PairOutcome.of(outcome).margin, *outcomes.JUDGEMENT_KEYS),
    page.sort_by("surprisal", "surprisal of the grammatical one", _surprisal, *outcomes.JUDGEMENT_KEYS),
)


def _tally(rows: Rows) -> page.CountsPart:
    """The number of pairs that are tied, identical, not judged or split; of the correct ones, no details are read."""
    counts = rows.tally(outcomes.ACCURACY)
    tied = identical = 0
    tokens = rows.numbers(Filter(outcomes.ACCURACY), outcomes.TOKEN_KEYS)
    good, bad = (tokens[key].filled(0) if key in tokens else np.zeros(()) for key in outcomes.TOKEN_KEYS)
    split = int(np.count_nonzero(good - bad))
    for row in rows.each(Filter(outcomes.ACCURACY, value="false"), keys=outcomes.JUDGEMENT_KEYS):
        pair = outcomes.PairOutcome.of(row.outcome)
        tied += pair.tied
        identical += pair.identical
    unjudged = rows.each(Filter(outcomes.ACCURACY, value="none"), keys=("why",))
    why = Counter(reason for row in unjudged if (reason := outcomes.PairOutcome.of(row.outcome).why))
    reasons = "; ".join(reason if len(why) == 1 else f"{n:,}: {reason}" for reason, n in why.most_common(4))
    counted = (
        ("tied", tied, "equal scores; counted as wrong"),
        ("identical", identical, "identical sentences; counted as wrong"),
        ("not judged", counts["none"], reasons),
        (
            "split differently",
            split,
            "the words that differ have more tokens in one sentence, which may lower its score",
        ),
    )
    return page.CountsPart(tuple(row for row in counted if row[1]))


def _item(row: OutcomeRow, judgements: Sequence[OutcomeRow], *, factor: float) -> page.ItemView:
    pair = outcomes.PairOutcome.of(row.outcome, factor)
    shown: tuple[page.ViewPart, ...] = (page.LinesPart(tuple(_lines(row.outcome, pair))),)
    if not (pair.good or pair.bad) and pair.score_good is None and pair.score_bad is None:
        shown = (page.FactsPart(row.outcome.detail),) if row.outcome.detail else ()
    return page.ItemView(
        note=_note(pair),
        fails=pair.value is False,
        parts=shown,
        sentences=(pair.good, pair.bad) if pair.good and pair.bad else (),
    )


def _note(pair: outcomes.PairOutcome) -> str:
    if pair.identical:
        return "identical sentences"
    if pair.tied:
        return "tie"
    if pair.why or pair.margin is None:
        return pair.why
    longer = "grammatical" if pair.more_tokens > 0 else "ungrammatical"
    split = f", {plural(abs(pair.more_tokens), 'token')} more in the {longer} one" if pair.more_tokens else ""
    return f"by {bits(pair.margin)}{split}"


def _lines(outcome: Outcome, pair: outcomes.PairOutcome) -> Iterator[page.LabelledText]:
    good, bad = mark_differences(pair.good, pair.bad)
    words_good, words_bad = _words(outcome, "words_good"), _words(outcome, "words_bad")
    if words_good and words_bad:
        differ = word_differences([word for word, _ in words_good], [word for word, _ in words_bad])
        good, bad = _shaded(words_good, differ[0]), _shaded(words_bad, differ[1])
    scores = ["" if score is None else bits(score) for score in (pair.score_good, pair.score_bad)]
    yield page.LabelledText("grammatical", good or single_piece(pair.good), "ins", scores[0])
    yield page.LabelledText("ungrammatical", bad or single_piece(pair.bad), "del", scores[1])
    if pair.margin is not None:
        yield page.LabelledText("difference", (), value=bits(pair.margin), side=math.tanh(pair.margin / BAR_BITS))


def _shaded(words: Words, differ: Sequence[bool]) -> Pieces:
    pieces: list[Piece] = []
    for (word, logprob), differs in zip(words[:MAX_SHADED_WORDS], differ, strict=False):
        surprisal = None if logprob is None or not math.isfinite(logprob) else -logprob / LN2
        value = "–" if surprisal is None else f"{surprisal:.1f}".replace("-", "−")
        pieces += [Piece(" "), Piece(shorten_text(word), differs, value, page.shade(surprisal))]
    return (*pieces[1:], *([Piece(" …")] if len(words) > MAX_SHADED_WORDS else []))


def _words(outcome: Outcome, key: str) -> Words:
    kept = outcome.detail.get(key)
    words = kept if isinstance(kept, list | tuple) else ()
    pairs = (word for word in words if isinstance(word, list | tuple) and len(word) == 2)
    return [(str(word), float(logprob) if isinstance(logprob, int | float) else None) for word, logprob in pairs]
