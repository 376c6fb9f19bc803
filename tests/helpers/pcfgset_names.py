"""The published values of PCFG SET by the names that wug gives them."""

from __future__ import annotations

import re


def our_name(test: str, metric: str) -> tuple[str, str]:
    """Check and group for a metric of the published values."""
    match = re.fullmatch(r"(\w+)(?:\[(.+)\])?", metric)
    assert match
    metric, name = match[1], match[2]
    if test.startswith("substitutivity"):
        if metric.endswith("_incl_empty"):
            metric = metric.removesuffix("_incl_empty")
        elif metric in ("consistency", "consistent_incorrect", "consistency_among_incorrect"):
            metric += "_nonempty"
    if test == "localism":
        metric = {"accuracy_unrolled": "unrolled_accuracy", "accuracy_original": "original_accuracy"}.get(
            metric, metric
        )
    field = "pair" if test == "systematicity" else "function"
    return metric, f"{field}={name}" if name else "all"
