"""The published values of PCFG SET by the names that wug gives them."""

from __future__ import annotations

import re


def our_name(test: str, metric: str) -> tuple[str, str]:
    """Check and group for a metric of the published values."""
    match = re.fullmatch(r"(\w+)(?:\[(.+)\])?", metric)
    assert match
    check, name = match[1], match[2]
    if test.startswith("substitutivity"):
        if check.endswith("_incl_empty"):
            check = check.removesuffix("_incl_empty")
        elif check in ("consistency", "consistent_incorrect", "consistency_among_incorrect"):
            check += "_nonempty"
    if test == "localism":
        check = {"accuracy_unrolled": "unrolled_accuracy", "accuracy_original": "original_accuracy"}.get(check, check)
    field = "pair" if test == "systematicity" else "function"
    return check, f"{field}={name}" if name else "all"
