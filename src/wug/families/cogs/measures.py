"""Judging every line of a corpus, into columns."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wug.families.cogs.logical_form import COUNTS, FEATURES, parse, recogs_exact_match, smatch, tokens
from wug.families.cogs.logical_form.measures import Judgement, judge_tokens
from wug.families.cogs.logical_form.reference import REFERENCE_FEATURES, judge_as_reference
from wug.families.cogs.read import Gold
from wug.families.cogs.settings import Settings
from wug.families.cogs.table import Counts, Table
from wug.families.cogs.types import GENERALISATIONS

FLAGS = (
    *("exact_match", "semantic_match", "order_invariant_match", "well_formed", "well_formed_strict"),
    "exact_match_string",
)

RECOGS = "recogs_exact_match"
"""Given of ReCOGS forms alone, whose authors report it."""


def groups_of(gold: Gold) -> dict[str, NDArray[np.intp]]:
    """The lines of each group: all, lexical and structural, each type in the order of the paper."""
    places: dict[str, list[int]] = {}
    for line, name in enumerate(gold.types):
        places.setdefault(name, []).append(line)
    known = [name for name in GENERALISATIONS if name in places]
    found = {"all": np.arange(len(gold))}
    for kind in ("lexical", "structural"):
        members = [line for name in known if GENERALISATIONS[name].kind == kind for line in places[name]]
        if members:
            found[f"kind={kind}"] = np.array(members)
    for name in (*known, *(name for name in places if name not in GENERALISATIONS)):
        found[f"type={name}"] = np.array(places[name])
    return found


def measured(gold: Gold, predictions: Sequence[str], settings: Settings) -> tuple[Table, list[str]]:
    """The measures of every prediction, and what the reader should know about them."""
    if settings.reference_compat:
        return _as_reference(gold, predictions), []
    found = array("q")  # numbers alone: keeping the judgements would keep the garbage collector busy
    for form, prediction in zip(gold.forms, predictions, strict=True):
        gold_tokens, predicted_tokens = tokens(form), tokens(prediction)
        *first, counts = judge_tokens(gold_tokens, predicted_tokens, gold.dialect, same=form == prediction)
        found.extend(first)
        found.extend(counts)
    rows = np.frombuffer(found, np.int64).reshape(len(gold), -1).T
    columns = dict(zip(Judgement._fields[:-1], rows, strict=False))
    flags = {name: columns[name].astype(bool) for name in FLAGS}
    if gold.dialect == "recogs":
        flags[RECOGS] = _as_recogs(gold, predictions)
    distance, longest = columns["edit_distance"].astype(float), columns["longest"].astype(float)
    normalised = np.divide(distance, longest, out=np.zeros_like(distance), where=longest > 0)
    numbers = {"edit_distance": distance, "edit_distance_normalised": normalised}
    notices: list[str] = []
    if settings.smatch:
        numbers["smatch_f1"], inexact = _smatch(gold, predictions, flags, settings.seed)
        if inexact:
            notices.append(
                f"smatch_f1 of {inexact} predictions is the best of a search from random starts (seed "
                f"{settings.seed}), and may be too low"
            )
    table = Table(
        flags=flags,
        numbers=numbers,
        counts=_counts(rows[len(columns) :].astype(float)),
        main=FEATURES,
        corpus={"bleu": _bleu(gold.forms, predictions)} if settings.bleu else {},
    )
    return table, notices


def _bleu(gold: Sequence[str], predictions: Sequence[str]) -> float:
    """BLEU of the whole corpus, from 0 to 100."""
    from sacrebleu.metrics.bleu import BLEU

    # Forced: otherwise it warns that the data look tokenized, which they are.
    score: float = BLEU(tokenize="none", force=True).corpus_score(predictions, [gold]).score
    return score


def _counts(columns: NDArray[np.float64]) -> dict[str, Counts]:
    """The counts of each feature, then of each in the prefix and in the body alone."""
    whole: dict[str, Counts] = {}
    zones: dict[str, Counts] = {}
    for feature, rows in zip(FEATURES, np.split(columns, len(FEATURES)), strict=True):
        count = dict(zip(COUNTS, rows, strict=True))
        predicted = count["predicted_prefix"] + count["predicted_body"]
        whole[feature] = Counts(count["common"], predicted, count["gold_prefix"] + count["gold_body"])
        for zone in ("prefix", "body"):
            zones[f"{feature}_{zone}"] = Counts(*(count[f"{what}_{zone}"] for what in ("common", "predicted", "gold")))
    return whole | zones


def _as_recogs(gold: Gold, predictions: Sequence[str]) -> NDArray[np.bool_]:
    """What the program of the ReCOGS authors calls right."""
    pairs = zip(gold.forms, predictions, strict=True)
    return np.array([form == answer or recogs_exact_match(form, answer) for form, answer in pairs], bool)


def _smatch(
    gold: Gold, predictions: Sequence[str], flags: Mapping[str, NDArray[np.bool_]], seed: int
) -> tuple[NDArray[np.float64], int]:
    """The agreement of every line, and of how many it is not certain to be the best."""
    values = flags["semantic_match"].astype(float)
    inexact = 0
    for line in np.flatnonzero(flags["well_formed"] & ~flags["semantic_match"]).tolist():
        found = smatch(parse(gold.forms[line], gold.dialect), parse(predictions[line], gold.dialect), seed)
        values[line] = found.f1
        inexact += not found.exact
    return values, inexact


def _as_reference(gold: Gold, predictions: Sequence[str]) -> Table:
    """The measures as the first public evaluator computes them."""
    judgements = [judge_as_reference(form, answer) for form, answer in zip(gold.forms, predictions, strict=True)]
    exact, formed, order_invariant, distance, counts = zip(*judgements, strict=True)
    columns = np.array(counts, float).T
    return Table(
        flags={
            "exact_match": np.array(exact, bool),
            "order_invariant_match": np.array(order_invariant, bool),
            "well_formed": np.array(formed, bool),
        },
        numbers={"edit_distance": np.array(distance, float)},
        counts={
            feature: Counts(*columns[3 * place : 3 * place + 3]) for place, feature in enumerate(REFERENCE_FEATURES)
        },
        main=REFERENCE_FEATURES,
        nothing=0.0,
        harmonic=True,
    )
