"""An item as a table: a row for each condition, a column for each region, each token shaded by its bits."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from wug.families.syntaxgym.checks import prediction_of
from wug.families.syntaxgym.view.predictions import verdicts
from wug.families.syntaxgym.view.regions import Conditions, Region, Tokens, conditions, metric_of, names_of
from wug.rows import Placed
from wug.types import Result
from wug.views.marked import Piece, Pieces
from wug.views.numbers import bits, finite
from wug.views.parts import Cell, Column, Item, Part, Row, Table, carrier, shade
from wug.views.scripts import characters, joining


def item(row: Placed, judgements: Sequence[Placed], *, result: Result, marks: Sequence[Collection[int]]) -> Item:
    """An item with its sentences; on a prediction's row its comparisons, on that of all those that fail."""
    outcome = row.outcome
    prediction = prediction_of(outcome.check)
    sentences = conditions(carrier(judgements, "conditions"))
    marked = set().union(*(marks if prediction is None else marks[prediction.index : prediction.index + 1]))
    margin = finite(outcome.detail.get("margin"))
    failed = [other.outcome.check for other in judgements if other.outcome.value is False]
    parts: list[Part | None] = [verdicts(outcome), _table(f"Item {outcome.item}", sentences, result, marked)]
    return Item(
        note=str(outcome.detail.get("why") or "") if margin is None else f"margin {bits(margin)} bits",
        fails=outcome.value is False,
        sentence=_text(next(iter(sentences.values()), ())),
        failed=() if prediction else tuple(check for check in failed if prediction_of(check)),
        parts=tuple(part for part in parts if part is not None),
        sentences=tuple(dict.fromkeys(filter(None, map(_text, sentences.values())))),
    )


def _table(name: str, sentences: Conditions, result: Result, marked: Collection[int]) -> Table | None:
    if not sentences:
        return None
    names = names_of(result, [sentences])
    sign = "Σ" if (metric := metric_of(result)) == "sum" else metric
    columns = (Column(str(number), small=name, marked=number in marked) for number, name in names.items())
    rows = tuple(Row((Cell(condition), *_cells(regions, names, sign))) for condition, regions in sentences.items())
    return Table(name, "", (Column(""), *columns), (("", rows),), style="tokens")


def _cells(regions: Sequence[Region], names: Mapping[int, str], sign: str) -> list[Cell]:
    cells = {region.number: _cell(region, sign) for region in regions}
    return [cells.get(number, Cell()) for number in names]


def _cell(region: Region, sign: str) -> Cell:
    tokens = region.tokens or (((region.content, region.value),) if region.content else ())
    several = len(tokens) > 1 and region.value is not None
    return Cell(
        pieces=_pieces(tokens, region.content),
        under=f"{sign} {tenths(region.value)}" if several else "",
        small=f"unknown: {', '.join(region.unknown)}" if region.unknown else "",
    )


def _pieces(tokens: Tokens, content: str) -> Pieces:
    """The tokens of a region; those that are parts of one character as one, with the bits of all of them."""
    together = characters([text for text, _ in tokens])
    texts = ["".join(text for text, _ in tokens[some.start : some.stop] if text).strip() for some in together]
    shown = joining(texts, _joined(texts, content))
    pieces = []
    for some, text in zip(together, shown, strict=True):
        known = [value for _, value in tokens[some.start : some.stop] if value is not None]
        bits = sum(known) if known else None
        of = f", {len(some)} parts" if len(some) > 1 else ""
        pieces.append(Piece(text or "␣", value=f"{tenths(bits)}{of}", shade=shade(bits)))
    return tuple(pieces)


def _joined(texts: Sequence[str], content: str) -> list[bool]:
    """Whether each text goes on with the word of the one before it."""
    found, end = [], 0
    for text in texts:
        start = content.find(text, end)
        found.append(0 < start == end)
        end = max(end, start + len(text))
    return found


def tenths(value: float | None) -> str:
    """Bits with one decimal."""
    return "–" if value is None else f"{value:.1f}".replace("-", "−")


def _text(regions: Sequence[Region]) -> str:
    return " ".join(region.content for region in regions if region.content)
