"""Minimal pairs: accuracy by whatever pairs are grouped by, margins, both sentences with the difference marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wug.show.families import Figure, bits
from wug.show.families._marked import Piece, Pieces, differing, marked, shortened
from wug.show.families.pairs import section
from wug.show.families.pairs._figures import columns_figure, group_figures
from wug.show.families.pairs._judged import CHECK, Judged, judgements
from wug.show.families.pairs._margins import margins_figure
from wug.types import LN2, Result
from wug.web.families import Item, Look, Query

SIZE = 50
LATER = {"margins": "Margins"}
SHADES, BITS = 10, 2
"""As on an item of a SyntaxGym suite: bits to a shade."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its surprisal."""

    text: str
    shade: str
    bits: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A pair."""

    good: Pieces
    bad: Pieces
    score_good: str
    score_bad: str
    margin: str
    side: float
    """The margin from −1 to 1, as a bar shows it."""
    note: str
    words_good: tuple[Word, ...]
    words_bad: tuple[Word, ...]
    sentences: tuple[str, str]


def check(look: Look) -> str:
    """Accuracy; of several columns, the first."""
    checks = [e.check for e in look.result.estimates if e.group == "all"]
    return CHECK if CHECK in checks else next(iter(checks), CHECK)


def figures(look: Look, query: Query) -> list[Figure]:
    """Accuracy by pattern, term, paradigm, and whatever else there is."""
    columns = columns_figure(look.result, look.place)
    return [*([columns] if columns else []), *group_figures(look.result, _paradigms(look), look.place)]


def later(look: Look, name: str, query: Query) -> Figure | None:
    """The histogram of margins."""
    if name != "margins":
        return None
    keys = ("score_good", "score_bad", "logprob_good", "logprob_bad", "good", "bad")
    margins = []
    for value, *scores in look.shelf.numbers(look.id, check(look), *keys):
        good, bad = (_first(scores[side::2]) for side in (0, 1))
        if value is not None and good is not None and bad is not None:
            margins.append(good - bad)
    return margins_figure("f-margins", margins, values(look)["scale"])


def values(look: Look) -> dict[str, Any]:
    """What the scores are."""
    scale: str = section(_bare(look.result), look.place).values["scale"]
    return {"scale": scale}


def rows(look: Look, items: Sequence[Item]) -> list[Row]:
    """Every pair with what differs."""
    made: list[Row] = []
    for item in items:
        found = judgements(_holding(look.result, item))
        if found:
            made.append(_row(found[0]))
        else:
            made.append(Row((), (), "", "", "", 0.0, "", (), (), ("", "")))
    return made


def _row(one: Judged) -> Row:
    good, bad = marked(one.good, one.bad)
    words = (tuple(one.words[0]), tuple(one.words[1]))
    margin = one.margin
    return Row(
        good=good or _plain(one.good),
        bad=bad or _plain(one.bad),
        score_good="" if one.score_good is None else bits(one.score_good),
        score_bad="" if one.score_bad is None else bits(one.score_bad),
        margin="" if margin is None else bits(margin),
        side=0.0 if margin is None else math.tanh(margin / 6),
        note="identical sentences" if one.identical else "tie" if one.tied else one.why,
        words_good=_words(words[0], words[1]) if all(words) else (),
        words_bad=_words(words[1], words[0]) if all(words) else (),
        sentences=(one.good, one.bad),
    )


def _words(words: Sequence[Any], others: Sequence[Any]) -> tuple[Word, ...]:
    differs, _ = differing([str(word) for word, _ in words], [str(word) for word, _ in others])
    made = []
    for (word, logprob), mark in zip(words, differs, strict=True):
        surprisal = -logprob / LN2 if isinstance(logprob, int | float) else None
        shade = "sx" if surprisal is None else f"s{min(SHADES - 1, max(0, int(surprisal / BITS)))}"
        made.append(Word(shortened(str(word)), shade, "–" if surprisal is None else f"{surprisal:.1f}", mark))
    return tuple(made)


def _plain(text: str) -> Pieces:
    return (Piece(shortened(text)),) if text else ()


def _paradigms(look: Look) -> list[Judged]:
    """A judgement of each paradigm, to know its term by: from a sample, which is quick, or from all where it lacks."""
    wanted = {e.group.partition("=")[2] for e in look.result.estimates if e.group.startswith("paradigm=")}
    if not wanted:
        return []
    groups = look.shelf.sampled_groups(look.id)
    if wanted - {found.get("paradigm", "") for found in groups}:
        groups = look.shelf.groups(look.id, check(look), "paradigm")
    return [Judged("", "", None, found, "", "", None, None, ((), ()), "") for found in groups]


def _first(scores: Sequence[object]) -> float | None:
    """The first that is a number: a score, else a log-probability, else a published value."""
    for score in scores:
        if isinstance(score, int | float) and math.isfinite(score):
            return float(score)
    return None


def _bare(result: Result) -> Result:
    return Result(result.suite, result.kind, result.model, result.status, result.signature, result.n, ())


def _holding(result: Result, item: Item) -> Result:
    """The result with one outcome."""
    from dataclasses import replace

    return replace(
        _bare(result), outcomes=(item.detail("good") if "forms" not in item.outcome.detail else item.outcome,)
    )
