"""Names in published tables of scores: the models of Gulordava et al. (2018), and the columns of numbers for COGS."""

from __future__ import annotations

import re

GULORDAVA = "pairs/gulordava_eval_output_en"
BEST = "hidden650_batch128_dropout0.2_lr20.0"
FIVE_BEST = (
    BEST,
    "hidden650_batch64_dropout0.2_lr10.0",
    "hidden650_batch64_dropout0.2_lr20.0",
    "hidden650_batch64_dropout0.1_lr20.0",
    "hidden650_batch128_dropout0.1_lr20.0",
)
COGS_METRICS = {
    "ref_em": "exact_match",
    "ref_wf": "well_formed",
    "ref_oiem": "order_invariant_match",
    "ref_ted": "edit_distance",
    "prop_em_tok": "exact_match",
    "prop_wf": "well_formed",
    "prop_oiem_multiset": "order_invariant_match",
    "prop_sem": "semantic_match",
}
PARTS = {"term": "terms", "pred": "predicates", "arg": "arguments", "prec": "precision", "rec": "recall", "f1": "f1"}


def cogs_metric(column: str) -> str:
    """Our name for a column of the published numbers: (i) is micro, (a) is macro."""
    if column in COGS_METRICS:
        return COGS_METRICS[column]
    match = re.fullmatch(r"ref_(term|pred|arg)(prec|rec|f1)\((i|a)\)", column)
    assert match
    return f"{PARTS[match[1]]}_{PARTS[match[2]]}{'_macro' if match[3] == 'a' else ''}"
