"""What items are sorted by: how surely they pass, how surprising they are, how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wug.families.syntaxgym.checks import SUMMARY, prediction_of
from wug.families.syntaxgym.view.regions import Conditions, conditions
from wug.rows import Filter, Rows
from wug.views.numbers import finite
from wug.views.parts import Key, Sort


def _margins(rows: Rows, wanted: Filter) -> Iterator[tuple[int, Key]]:
    """The margin of a prediction; of all of them, the least, by the suite's primary metric."""
    if wanted.check != SUMMARY:
        for row in rows.each(wanted, keys=("margin",)):
            yield row.place, finite(row.outcome.detail.get("margin"))
        return
    least: dict[str, float] = {}
    for check in rows.checks():
        if (prediction := prediction_of(check)) is None or prediction.metric:
            continue
        for row in rows.each(Filter(check), keys=("margin",)):
            if (margin := finite(row.outcome.detail.get("margin"))) is not None:
                least[row.outcome.item] = min(margin, least.get(row.outcome.item, margin))
    for row in rows.each(wanted, keys=()):
        yield row.place, least.get(row.outcome.item)


def _of_sentences(measure: Callable[[Conditions], Key]) -> Callable[[Rows, Filter], Iterator[tuple[int, Key]]]:
    """The rows of any check, by the sentences that the summary carries."""

    def values(rows: Rows, wanted: Filter) -> Iterator[tuple[int, Key]]:
        found = {
            row.outcome.item: measure(conditions(row.outcome))
            for row in rows.each(Filter(SUMMARY), keys=("conditions",))
        }
        for row in rows.each(wanted, keys=()):
            yield row.place, found.get(row.outcome.item)

    return values


def _surprisal(sentences: Conditions) -> Key:
    """The mean over conditions of the surprisal of the whole sentence."""
    sums = [sum(region.value or 0.0 for region in regions) for regions in sentences.values()]
    return sum(sums) / len(sums) if sums else None


def _length(sentences: Conditions) -> Key:
    """The words of the longest condition."""
    return max(
        (float(sum(len(region.content.split()) for region in regions)) for regions in sentences.values()), default=None
    )


SORTS = (
    Sort("margin", "margin (bits)", _margins),
    Sort("surprisal", "surprisal (bits)", _of_sentences(_surprisal)),
    Sort("length", "length (words)", _of_sentences(_length)),
)
