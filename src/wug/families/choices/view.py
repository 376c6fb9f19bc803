"""The view of choices: accuracy and chance level by group; each item's options with their scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from wug.families.links import MARGIN, link_label, shown_scale
from wug.formatting import bits, finite_or_none
from wug.outcomes import Outcome, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import parts as page
from wug.views.effects import effects_figure, group_effects
from wug.views.grouped import group_figures, overall_parts
from wug.views.text_display import Piece, Pieces, shorten_text

METRIC = "accuracy"


class ChoiceOutcome(NamedTuple):
    """The judgement on an item, from the details of its outcome."""

    contexts: tuple[str, ...]
    """One per option."""
    options: tuple[str, ...]
    right: int
    scores: tuple[float, ...]
    """Empty if the item was not judged."""
    shared: bool
    """Whether all options have the same context."""

    @property
    def chosen(self) -> tuple[int, ...]:
        """The indices of the highest score; several if options tie."""
        return tuple(index for index, score in enumerate(self.scores) if score == max(self.scores))

    @property
    def rival(self) -> int | None:
        """The index of the best wrong option; None if the item was not judged."""
        wrong = [index for index in range(len(self.scores)) if index != self.right]
        return max(wrong, key=lambda index: self.scores[index], default=None)

    @property
    def tied(self) -> bool:
        """Whether the right option shares the highest score."""
        return self.right in self.chosen and len(self.chosen) > 1


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Accuracy and chance level, counts of outcomes, accuracy by group."""
    yield from overall_parts(result)
    yield page.DeferredPart("tally", "Outcomes", partial(_tally, rows), figure=False)
    yield from group_figures(result, METRIC)
    if effects := effects_figure(result, rows):
        yield effects
    yield from group_effects(result, MARGIN)


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every item with its options; a sample of failures from each value of the first group."""
    fields = dict(result.signature.fields)
    scale, factor = shown_scale(fields, " given the context" * (link_label(fields) == "log-probability"))
    note = f"The model's choice is marked. Numbers are the {scale} of each option."
    failing = page.ItemSample(
        "Items that fail", METRIC, group=lambda outcome: next(iter(outcome.groups.values()), ""), note=note
    )
    return page.ItemsView(METRIC, partial(_item, factor=factor), (failing,), size=30, texts=("context",))


def choice_outcome(outcome: Outcome, factor: float = 1.0) -> ChoiceOutcome | None:
    """The judgement in an outcome, its scores multiplied by a factor; None if its details have no options."""
    detail: Mapping[str, Any] = outcome.detail
    options, right = detail.get("options"), detail.get("right")
    if not isinstance(options, list | tuple) or not isinstance(right, int) or not 0 < right <= len(options):
        return None
    listed = detail.get("contexts")
    contexts_by_option = listed if isinstance(listed, list | tuple) and len(listed) == len(options) else None
    contexts = contexts_by_option or [detail.get("context", "")] * len(options)
    values = detail.get("scores", detail.get("logprobs"))
    scores = [finite_or_none(score) for score in values] if isinstance(values, list | tuple) else []
    known = tuple(score * factor for score in scores if score is not None)
    return ChoiceOutcome(
        tuple(map(str, contexts)),
        tuple(map(str, options)),
        right - 1,
        known if len(known) == len(options) else (),
        contexts_by_option is None,
    )


def _item(row: OutcomeRow, judgements: Sequence[OutcomeRow], *, factor: float) -> page.ItemView:
    choice = choice_outcome(row.outcome, factor)
    fails, detail = row.outcome.value is False, row.outcome.detail
    if choice is None:
        return page.ItemView(fails=fails, parts=(page.FactsPart(detail),) if detail else ())
    texts = [f"{context}{option}" for context, option in zip(choice.contexts, choice.options, strict=True)]
    sentences = (texts[choice.right], texts[choice.rival]) if choice.rival is not None else ()
    lines = page.LinesPart(tuple(_lines(choice)))
    return page.ItemView(_note(row.outcome, choice), fails, parts=(lines,), sentences=sentences)


def _lines(choice: ChoiceOutcome) -> Iterator[page.LabelledText]:
    if choice.shared and choice.contexts[0]:
        yield page.LabelledText("context", (Piece(shorten_text(choice.contexts[0])),))
    for index, (context, option) in enumerate(zip(choice.contexts, choice.options, strict=True)):
        right, chosen = index == choice.right, index in choice.chosen
        pieces: Pieces = (Piece(shorten_text(option.strip()), differs=chosen),)
        if not choice.shared:
            pieces = (Piece(shorten_text(context), differs=chosen), Piece(shorten_text(option)))
        value = bits(choice.scores[index]) if choice.scores else ""
        yield page.LabelledText("right" if right else "other", pieces, "ins" if right else "del", value)


def _note(outcome: Outcome, choice: ChoiceOutcome) -> str:
    if choice.rival is None:
        return str(outcome.detail.get("why") or "")
    return "tie" if choice.tied else f"by {bits(choice.scores[choice.right] - choice.scores[choice.rival])}"


def _tally(rows: Rows) -> page.CountsPart:
    wrong = rows.each(Filter(METRIC, value="false"), keys=("options", "right", "scores", "logprobs"))
    tied = sum(choice.tied for row in wrong if (choice := choice_outcome(row.outcome)) is not None)
    unjudged = rows.each(Filter(METRIC, value="none"), keys=("why",))
    why = Counter(str(row.outcome.detail.get("why") or "") for row in unjudged)
    reasons = "; ".join(reason for reason, _ in why.most_common(4) if reason)
    found_rows = (
        ("tied", tied, "the right option and another share the highest score; counted as wrong"),
        ("not judged", why.total(), reasons),
    )
    return page.CountsPart(tuple(row for row in found_rows if row[1]))
