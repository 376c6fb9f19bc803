"""Choices: accuracy beside chance, by group; every option with its score, the chosen one marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from wug.rows import Filter, Placed, Rows
from wug.types import Outcome, Result
from wug.views.grouped import best_first, by_field, dots, intervals_are, overall_of, overall_parts, point
from wug.views.marked import Piece, Pieces, shortened
from wug.views.numbers import bits, finite, plain
from wug.views.parts import Facts, Figure, Item, Items, Later, Line, Lines, Part, Sample, Tally

CHECK, CHANCE = "accuracy", "chance"


@dataclass(frozen=True, slots=True)
class Judged:
    """A judgement on an item, as its outcome carries it."""

    contexts: tuple[str, ...]
    """One for each option."""
    options: tuple[str, ...]
    right: int
    """The place of the right option, from 0."""
    scores: tuple[float, ...]
    """Empty where it was not judged."""
    shared: bool
    """Whether all options have the same context."""

    @property
    def chosen(self) -> tuple[int, ...]:
        """The places of the highest score; several where options tie."""
        return tuple(place for place, score in enumerate(self.scores) if score == max(self.scores))

    @property
    def rival(self) -> int | None:
        """The place of the highest score among the wrong options; None where it was not judged."""
        wrong = [place for place in range(len(self.scores)) if place != self.right]
        return max(wrong, key=lambda place: self.scores[place], default=None)

    @property
    def tied(self) -> bool:
        """Whether the right option shares the highest score."""
        return self.right in self.chosen and len(self.chosen) > 1


def parts(result: Result, rows: Rows) -> Iterator[Part]:
    """Accuracy and chance, what became of the items, accuracy by group."""
    yield from overall_parts(result)
    yield Later("tally", "What became of the items", partial(_tally, rows), figure=False)
    yield from _figures(result)


def items(result: Result, rows: Rows) -> Items:
    """Every item with its options; those that fail by the first group that they belong to."""
    per = dict(result.signature.fields).get("normalise", "none")
    scale = "log-probability given the context (nats)" if per == "none" else f"log-probability per {per} (nats)"
    note = f"What the model chooses is marked. Numbers are the {scale} of each option."
    failing = Sample("Items that fail", CHECK, group=lambda outcome: next(iter(outcome.groups.values()), ""), note=note)
    return Items(CHECK, _item, (failing,), size=30)


def judged(outcome: Outcome) -> Judged | None:
    """What an outcome says of its item; None where it says nothing of options."""
    detail: Mapping[str, Any] = outcome.detail
    options, right = detail.get("options"), detail.get("right")
    if not isinstance(options, list | tuple) or not isinstance(right, int) or not 0 < right <= len(options):
        return None
    given = detail.get("contexts")
    several = given if isinstance(given, list | tuple) and len(given) == len(options) else None
    contexts = several or [detail.get("context", "")] * len(options)
    found = detail.get("scores", detail.get("logprobs"))
    scores = [finite(score) for score in found] if isinstance(found, list | tuple) else []
    known = tuple(score for score in scores if score is not None)
    return Judged(
        tuple(map(str, contexts)),
        tuple(map(str, options)),
        right - 1,
        known if len(known) == len(options) else (),
        several is None,
    )


def _item(row: Placed, judgements: Sequence[Placed]) -> Item:
    found = judged(row.outcome)
    if found is None:
        return Item(fails=row.outcome.value is False, parts=(Facts(row.outcome.detail),) if row.outcome.detail else ())
    texts = [f"{context}{option}" for context, option in zip(found.contexts, found.options, strict=True)]
    looked_at = (texts[found.right], texts[found.rival]) if found.rival is not None else ()
    return Item(
        note=_note(row.outcome, found),
        fails=row.outcome.value is False,
        parts=(Lines(tuple(_lines(found))),),
        sentences=looked_at,
    )


def _lines(found: Judged) -> Iterator[Line]:
    if found.shared and found.contexts[0]:
        yield Line("context", (Piece(shortened(found.contexts[0])),))
    for place, (context, option) in enumerate(zip(found.contexts, found.options, strict=True)):
        right, chosen = place == found.right, place in found.chosen
        pieces: Pieces = (Piece(shortened(option.strip()), differs=chosen),)
        if not found.shared:
            pieces = (Piece(shortened(context), differs=chosen), Piece(shortened(option)))
        value = bits(found.scores[place]) if found.scores else ""
        yield Line("right" if right else "other", pieces, "ins" if right else "del", value)


def _note(outcome: Outcome, found: Judged) -> str:
    if found.rival is None:
        return str(outcome.detail.get("why") or "")
    return "tie" if found.tied else f"by {bits(found.scores[found.right] - found.scores[found.rival])}"


def _tally(rows: Rows) -> Tally:
    """What became of the items, without what did not happen to any."""
    counts = rows.tally(CHECK)
    wrong = rows.each(Filter(CHECK, value="false"), keys=("options", "right", "scores", "logprobs"))
    tied = sum(found.tied for row in wrong if (found := judged(row.outcome)) is not None)
    unjudged = rows.each(Filter(CHECK, value="none"), keys=("why",))
    why = Counter(str(row.outcome.detail.get("why") or "") for row in unjudged)
    reasons = "; ".join(reason for reason, _ in why.most_common(4) if reason)
    found_rows = (
        ("right", counts["true"], ""),
        ("wrong", counts["false"], ""),
        ("tied", tied, "the right option and another have the highest score, among the wrong ones"),
        ("not judged", counts["none"], reasons),
    )
    return Tally(tuple(row for row in found_rows if row[1]))


def _figures(result: Result) -> Iterator[Figure]:
    """A chart for each field that items are grouped by; a field with one value says nothing."""
    chance = next((f" Chance is {one.text}." for one in overall_of(result, CHANCE)), "")
    fields = {name: rows for name, rows in by_field(result, CHECK).items() if len(rows) > 1}
    for number, (name, rows) in enumerate(fields.items()):
        guessed = {row.group: row.text for row in by_field(result, CHANCE).get(name, ())}
        note = f"{intervals_are(result, CHECK)}{'' if guessed else chance}".strip()
        points = [point(row, name=_named(row.group, guessed)) for row in best_first(rows)]
        yield dots(
            f"groups-{number}", f"Accuracy by {plain(name)}", points, note=note, what="accuracy", first=plain(name)
        )


def _named(group: str, guessed: Mapping[str, str]) -> str:
    """A group, with its chance where that is not the same for all."""
    return f"{group} (chance {guessed[group]})" if group in guessed else group
