"""A model's go at some suites, kept in the store as it goes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from wug.errors import StoreError
from wug.runs.cache import Cache
from wug.runs.evaluate import ask_through, evaluate, require
from wug.runs.opening import OpenedGenerator, OpenedScorer
from wug.runs.remembered import Progress
from wug.runs.signature import signature
from wug.runs.store import Store, run_key
from wug.stats import Method
from wug.types import Result, Suite

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run found out, and its number in the store; None where it was not to be kept."""

    number: int | None
    results: tuple[Result, ...]


def run_kept(
    suites: Sequence[Suite],
    model: Any,
    *,
    command: str,
    store: Store | None = None,
    cache: Cache | None = None,
    interval: Method = "wilson",
    tell: Progress | None = None,
) -> Kept:
    """Ask `model` what `suites` want to know; each result is in the store before the next one is made.

    A run that breaks off stays in the store as far as it came, and the same run takes it up again.
    """
    require(suites, ask_through(model))
    number = None
    if store is not None:
        given = dict(model.given) if isinstance(model, OpenedScorer | OpenedGenerator) else {}
        key = run_key([str(signature(suite, model)) for suite in suites], {"interval": interval, "given": given})
        number = store.begin(key, model.id, command)
    results: list[Result] = []
    try:
        for result in evaluate(suites, ask_through(model, cache, tell), interval):
            results.append(result)
            if store is not None and number is not None:
                store.add(number, result)
    except BaseException as error:
        if store is not None and number is not None:
            with suppress(StoreError):  # what went wrong first is what the user should hear of
                store.finish(number, "interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
        raise
    finally:
        if cache is not None and cache.damaged:
            log.warning("%s answers in the cache were damaged, and asked anew", f"{cache.damaged:,}")
    if store is not None and number is not None:
        store.finish(number, "failed" if any(result.status == "failed" for result in results) else "complete")
    return Kept(number, tuple(results))
