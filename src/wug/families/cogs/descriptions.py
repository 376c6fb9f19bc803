"""Every check in plain words."""

from __future__ import annotations

from collections.abc import Mapping

from wug.types import Check, Unit

_CHECKS = {
    "exact_match": "the prediction has the tokens of the gold form",
    "exact_match_string": "the prediction is the gold form to the last character, white space included",
    "semantic_match": "some one-to-one renaming of indices makes prediction and gold form equal as sets of terms",
    "recogs_exact_match": "as ReCOGS' own program has it: renaming indices makes the two equal as sets of conjuncts, "
    "and no conjunct is repeated",
    "order_invariant_match": "the prediction has the terms of the gold form, each as often, in any order",
    "well_formed": "the prediction can be derived from the grammar of logical forms",
    "well_formed_strict": "the prediction is well-formed and makes sense: indices bound, no duplicate, no loose part",
    "edit_distance": "tokens to insert, delete or replace (lower is better)",
    "edit_distance_normalised": "edit distance divided by the length of the longer form (lower is better)",
    "smatch_f1": "F1 of terms under the best one-to-one renaming of indices",
    "bleu": "BLEU of all predictions together, from 0 to 100",
}
_FEATURES = {
    "indices": "indices",
    "names": "proper names",
    "predicates": "predicates",
    "terms": "whole terms",
    "arguments": "arguments",
}
_ZONES = {"": "", "_prefix": " before the last `;`", "_body": " in the conjunction"}
_SCORES = {
    "precision": "the share of predicted {} that are right",
    "recall": "the share of gold {} that are predicted",
    "f1": "the F1 of predicted {}",
}
_AVERAGES = {"": "counted over all lines together", "_macro": "mean over lines"}

_MEANINGS: Mapping[str, str] = {
    **_CHECKS,
    **{
        f"{feature}{zone}_{score}{average}": f"{text.format(things + where)}, {how}"
        for feature, things in _FEATURES.items()
        for zone, where in _ZONES.items()
        for score, text in _SCORES.items()
        for average, how in _AVERAGES.items()
    },
}
_FIRST = (
    *("exact_match", "semantic_match", "order_invariant_match", "well_formed", "well_formed_strict"),
    *("edit_distance", "smatch_f1", "bleu", "indices_f1", "names_f1", "predicates_f1", "arguments_f1", "terms_f1"),
)
"""What a person wants to see first."""
_UNITS: Mapping[str, Unit] = {"edit_distance": "tokens", "edit_distance_normalised": "distance"}


def _check(name: str) -> Check:
    share = name.endswith(("match", "match_string")) or name.startswith("well_formed")
    return Check(
        name,
        unit=_UNITS.get(name, "share" if share else "score"),
        better="lower" if name in _UNITS else "higher",
        headline=name in _FIRST,
        meaning=_MEANINGS[name],
    )


CHECKS = tuple(_check(name) for name in dict.fromkeys((*_FIRST, *_MEANINGS)))
